from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    InvalidPathError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    PathTooLongError,
    SymlinkNotAllowedError,
    WorkspaceGoneError,
)
from filetools.paths.root import ResolverChoice
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath

NOT_UTF8 = os.fsdecode(b"caf\xe9")


def read(workspace: Workspace, raw_path: str) -> bytes:
    descriptor = workspace.open_file(workspace.resolve(raw_path))
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


def write(place: Path, content: bytes = b"text") -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def refusal(workspace: Workspace, path: WorkspacePath) -> FileToolsError:
    with pytest.raises(FileToolsError) as caught:
        os.close(workspace.open_file(path))
    return caught.value


# Links. Each is planted at each position; the outside holds the same names, so that following would succeed.


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize(
    "target", ["outside", "relative", "inside", "chain", "dangling", "loop", "proc_root", "dot", "root"]
)
def test_links_are_refused_at_each_position(
    root: Path, tmp_path: Path, workspace: Workspace, position: int, target: str
) -> None:
    names = ["one", "two", "three", "file.txt"]
    for base in (tmp_path / "outside", root / "copy", root):
        write(base.joinpath(*names))
    link = root.joinpath(*names[: position + 1])
    goal = (tmp_path / "outside").joinpath(*names[: position + 1])
    if position == 3:
        link.unlink()
    else:
        shutil.rmtree(link)
    texts = {
        "outside": str(goal),
        "relative": os.path.relpath(goal, link.parent),
        "inside": str((root / "copy").joinpath(*names[: position + 1])),
        "chain": str(tmp_path / "chain"),
        "dangling": str(tmp_path / "nothing"),
        "loop": link.name,
        "proc_root": f"/proc/self/root{goal}",
        "dot": ".",
        "root": "/",
    }
    (tmp_path / "chain").symlink_to(goal)
    link.symlink_to(texts[target])
    at = "/".join(names[: position + 1])

    error = refusal(workspace, workspace.resolve("/".join(names)))

    assert isinstance(error, SymlinkNotAllowedError)
    assert error.details["link"] == at
    assert str(tmp_path) not in error.message
    assert ("target" in error.details) == (target in {"inside", "loop", "dot"})


def test_a_file_that_goes_stale_while_it_is_opened_is_closed_and_explained(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root / "file")
    before = os.listdir("/proc/self/fd")

    def fail(_descriptor: int) -> None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", fail)
        with pytest.raises(ChangedMeanwhileError):
            workspace.open_file(workspace.resolve("file"))
    assert os.listdir("/proc/self/fd") == before


def test_a_link_is_refused_with_a_trailing_slash(root: Path, tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    for raw_path in ("link", "link/", "link//", "./link/."):
        with pytest.raises(SymlinkNotAllowedError):
            workspace.open_directory(workspace.resolve(raw_path))


def test_a_linked_parent_is_refused_for_every_opening(root: Path, tmp_path: Path, workspace: Workspace) -> None:
    write(tmp_path / "outside" / "sub" / "file")
    (root / "link").symlink_to(tmp_path / "outside")
    file, folder = workspace.resolve("link/sub/file"), workspace.resolve("link/sub")
    for refused in (
        lambda: workspace.open_file(file),
        lambda: workspace.open_descriptor(file, os.O_RDONLY),
        lambda: workspace.open_directory(folder),
        lambda: workspace.open_parent(file),
        lambda: workspace.open_parent(folder),
        lambda: workspace.stat(file),
    ):
        with pytest.raises(SymlinkNotAllowedError) as caught:
            refused()
        assert caught.value.details == {"link": "link"}
    assert workspace.open_file_now(file) is None


def test_stat_describes_a_link_itself(root: Path, workspace: Workspace) -> None:
    (root / "link").symlink_to("nowhere")
    found = workspace.stat(workspace.resolve("link"))
    assert found is not None
    assert stat.S_ISLNK(found.st_mode)


def test_a_root_named_by_a_link_is_followed_once(root: Path, tmp_path: Path, resolver: ResolverChoice) -> None:
    write(root / "file", b"mine")
    (tmp_path / "alias").symlink_to(root)
    workspace = Workspace.open(tmp_path / "alias", resolver=resolver)
    assert read(workspace, "file") == b"mine"
    assert workspace.resolve(str(root / "file")) == workspace.resolve(str(tmp_path / "alias" / "file")) == "file"
    workspace.close()


# Kinds of files.


def test_pipes_sockets_and_devices_are_refused_at_once(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)  # a socket's name has a short limit
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        kinds = {"pipe": "pipe", "socket": "socket"}
        if os.geteuid() == 0:
            os.mknod("zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
            kinds["zero"] = "character device"
        for name, kind in kinds.items():
            error = within(20, functools.partial(refusal, workspace, workspace.resolve(name)))
            assert isinstance(error, NotRegularFileError)
            assert kind in error.message


def within(seconds: float, call: Callable[[], FileToolsError]) -> FileToolsError:
    """Return the result of `call`, failing if it is not there in time."""
    results: list[FileToolsError] = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, f"no answer within {seconds} s"
    return results[0]


def test_a_directory_is_no_file(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir()
    assert isinstance(refusal(workspace, workspace.resolve("folder")), PathIsDirectoryError)
    assert isinstance(refusal(workspace, ROOT), PathIsDirectoryError)


def test_a_file_is_no_directory(root: Path, workspace: Workspace) -> None:
    write(root / "file")
    for path in ("file", "file/below", "file/below/that"):
        with pytest.raises(PathNotDirectoryError) as caught:
            workspace.open_directory(workspace.resolve(path))
        assert caught.value.path == "file"
    assert refusal(workspace, workspace.resolve("file/below")).path == "file"
    assert workspace.stat(workspace.resolve("file/below")) is None


def test_what_is_missing_is_named(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir()
    for path in ("missing", "folder/missing", "missing/below"):
        error = refusal(workspace, workspace.resolve(path))
        assert (type(error), error.message) == (PathNotFoundError, f"File not found: {path}")
        assert workspace.stat(workspace.resolve(path)) is None
        with pytest.raises(DirectoryNotFoundError):
            workspace.open_directory(workspace.resolve(path))
    with pytest.raises(DirectoryNotFoundError) as caught:
        workspace.open_parent(workspace.resolve("missing/below"))
    assert caught.value.path == "missing"


def test_the_root_has_no_parent_inside(workspace: Workspace) -> None:
    with pytest.raises(InvalidPathError):
        workspace.open_parent(ROOT)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a user to become")
def test_denied_access_is_typed(root: Path, resolver: ResolverChoice) -> None:
    write(root / "closed" / "file")
    (root / "closed").chmod(0o700)
    script = (
        "import os, sys\nfrom filetools.paths.workspace import Workspace\nfrom filetools.errors import AccessDeniedError\n"
        "workspace = Workspace.open(sys.argv[1], resolver=sys.argv[2])\nos.setuid(65534)\n"
        "try:\n    workspace.open_file(workspace.resolve('closed/file'))\n"
        "except AccessDeniedError as error:\n    sys.exit(0 if error.path == 'closed/file' else 4)\nsys.exit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(root), resolver], check=False).returncode == 0


# What is opened.


def test_an_open_file_is_closed_on_exec(root: Path, workspace: Workspace) -> None:
    write(root / "a" / "b" / "file", b"mine")
    descriptor = workspace.open_file(workspace.resolve("a/b/file"))
    assert not os.get_inheritable(descriptor)
    assert os.read(descriptor, 100) == b"mine"
    os.close(descriptor)


@pytest.mark.parametrize("name", ["a" * 255, "\u00e9" * 127, NOT_UTF8, "a\\b", " ", "new\nline", "...", "C:x"])
def test_any_name_the_disk_can_hold_is_opened(root: Path, workspace: Workspace, name: str) -> None:
    write(root / "folder" / name, b"mine")
    path = WorkspacePath("folder").child(name)
    descriptor = workspace.open_file(path)
    assert os.read(descriptor, 10) == b"mine"
    os.close(descriptor)
    assert workspace.stat(path) is not None


def test_names_that_are_not_utf8_are_escaped_in_errors(root: Path, workspace: Workspace) -> None:
    (root / NOT_UTF8).symlink_to(NOT_UTF8 + "x")
    for path in (ROOT.child(NOT_UTF8), ROOT.child(NOT_UTF8 + "missing"), ROOT.child(NOT_UTF8).child(NOT_UTF8)):
        error = refusal(workspace, path)
        assert (error.message + str(error.path) + str(error.details)).encode()


@contextlib.contextmanager
def deep(root: Path, name: str, depth: int) -> Iterator[None]:
    """Nest folders with a file "f" at the bottom, and take them away whatever happens.

    What is left so deep makes the recursive clean-up of pytest itself fail, in later runs too.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir(name, dir_fd=descriptor)
            below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=descriptor))
        os.close(descriptor)
        yield
    finally:
        subprocess.run(["rm", "-rf", str(root / name)], check=True)


def test_deep_paths_are_opened(root: Path, workspace: Workspace, resolver: ResolverChoice) -> None:
    if resolver == "checked":
        pytest.skip("goes by whole names, which the system limits")
    path = workspace.resolve("d/" * 2047 + "f")
    with deep(root, "d", 2047):
        os.close(workspace.open_file(path))
        assert isinstance(refusal(workspace, path.parent.child("missing")), PathNotFoundError)
        os.close(workspace.open_parent(path))


def test_paths_of_4096_bytes_and_more_are_opened(root: Path, workspace: Workspace, resolver: ResolverChoice) -> None:
    if resolver == "checked":
        pytest.skip("goes by whole names, which the system limits")
    longest = workspace.resolve("/".join(["n" * 240] * 16)).child("n" * 240).child("f")
    assert len(longest) > 4096
    with deep(root, "n" * 240, 17):
        os.close(workspace.open_file(longest))
        assert workspace.open_file_now(longest) is None
        assert workspace.stat(longest) is not None
    with pytest.raises(PathTooLongError):
        workspace.resolve(longest)


# The hot path of the event loop.


def test_now_opens_what_is_in_memory(root: Path) -> None:
    write(root / "a" / "file", b"mine")
    workspace = Workspace.open(root, resolver="openat2")
    path = workspace.resolve("a/file")
    os.close(workspace.open_file(path))
    opened = workspace.open_file_now(path)
    assert opened is not None
    descriptor, found = opened
    assert (found.st_size, found) == (4, os.fstat(descriptor))
    assert os.read(descriptor, 10) == b"mine"
    os.close(descriptor)
    workspace.close()


def test_now_refuses_what_is_in_memory_and_no_file(root: Path) -> None:
    (root / "folder").mkdir()
    workspace = Workspace.open(root, resolver="openat2")
    for raw_path, kind in (("folder", PathIsDirectoryError), ("missing", PathNotFoundError)):
        path = workspace.resolve(raw_path)
        workspace.stat(path)
        with pytest.raises(kind):
            workspace.open_file_now(path)
    workspace.close()


# The root itself.


def test_opening_refuses_what_is_no_directory(tmp_path: Path, resolver: ResolverChoice) -> None:
    write(tmp_path / "file")
    for place in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(WorkspaceGoneError) as caught:
            Workspace.open(place, resolver=resolver)
        assert str(tmp_path) not in caught.value.message
    with pytest.raises(InvalidArgumentError):
        Workspace.open("", resolver=resolver)


def test_a_deleted_root_is_gone(root: Path, workspace: Workspace) -> None:
    workspace.check_alive()
    root.rmdir()
    with pytest.raises(WorkspaceGoneError):
        workspace.check_alive()
    assert isinstance(refusal(workspace, workspace.resolve("file")), WorkspaceGoneError)
    with pytest.raises(WorkspaceGoneError):
        workspace.stat(workspace.resolve("file"))


def test_a_replaced_root_is_never_served(root: Path, resolver: ResolverChoice) -> None:
    if resolver == "checked":
        pytest.skip("goes by name: a documented limit")
    write(root / "file", b"old")
    workspace = Workspace.open(root, resolver=resolver)
    root.rename(root.with_name("moved"))
    write(root / "file", b"new")
    with pytest.raises(WorkspaceGoneError):
        workspace.check_alive()
    assert read(workspace, "file") == b"old"
    workspace.close()


def test_a_repointed_root_is_noticed(root: Path, tmp_path: Path, resolver: ResolverChoice) -> None:
    (tmp_path / "alias").symlink_to(root)
    (tmp_path / "other").mkdir()
    workspace = Workspace.open(tmp_path / "alias", resolver=resolver)
    workspace.check_alive()
    (tmp_path / "alias").unlink()
    (tmp_path / "alias").symlink_to(tmp_path / "other")
    with pytest.raises(WorkspaceGoneError):
        workspace.check_alive()
    workspace.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root")
def test_an_unmounted_root_is_gone(root: Path, resolver: ResolverChoice) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(root)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting is not possible here")
    workspace = Workspace.open(root, resolver=resolver)
    subprocess.run(["umount", "-l", str(root)], check=True)
    with pytest.raises(WorkspaceGoneError):
        workspace.check_alive()
    workspace.close()


def test_a_closed_workspace_opens_nothing(root: Path, resolver: ResolverChoice) -> None:
    if resolver == "checked":
        pytest.skip("holds nothing that could be closed")
    write(root / "file")
    workspace = Workspace.open(root, resolver=resolver)
    workspace.close()
    workspace.close()
    with pytest.raises(WorkspaceGoneError):
        workspace.check_alive()
    assert isinstance(refusal(workspace, workspace.resolve("file")), WorkspaceGoneError)


def test_no_descriptor_is_leaked(root: Path, workspace: Workspace) -> None:
    write(root / "a" / "b" / "file")
    os.mkfifo(root / "a" / "pipe")
    (root / "a" / "link").symlink_to("b")
    before = len(os.listdir("/proc/self/fd"))
    for raw_path in ("a/b/file", "a/b", "a/pipe", "a/link/file", "a/missing/file", "a/b/file/x", "a/link"):
        path = workspace.resolve(raw_path)
        for call in (workspace.open_file, workspace.open_directory, workspace.open_parent, workspace.open_file_now):
            try:
                opened = call(path)
            except FileToolsError:
                continue
            if opened is not None:
                os.close(opened if isinstance(opened, int) else opened[0])
        try:
            workspace.stat(path)
        except SymlinkNotAllowedError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before


def test_too_many_open_files_is_retryable(root: Path, resolver: ResolverChoice) -> None:
    write(root / "file")
    script = (
        "import os, resource, sys\n"
        "from filetools.paths.workspace import Workspace\nfrom filetools.errors import RateLimitedError\n"
        "workspace = Workspace.open(sys.argv[1], resolver=sys.argv[2])\npath = workspace.resolve('file')\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))\n"
        "try:\n    while True:\n        workspace.open_file(path)\n"
        "except RateLimitedError as error:\n    sys.exit(0 if error.retryable else 4)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(root), resolver], check=False).returncode == 0


def test_the_state_directory_given_is_out_of_reach(root: Path, resolver: ResolverChoice) -> None:
    state = root / "var" / "state"
    state.mkdir(parents=True)
    workspace = Workspace.open(root, resolver=resolver, state_directory=state)
    for raw_path in ("var/state", "VAR/state/journal.db", ".filetools"):
        with pytest.raises(AccessDeniedError):
            workspace.resolve(raw_path)
    assert workspace.resolve("var") == "var"
    workspace.close()
