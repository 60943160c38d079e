"""Hints from the kernel: what is refused, what a watch stands for, and that nothing is left open."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.tree.hints import Agenda
from filetools.tree.inotify import InotifyThread
from tests.support.hinted import Sink, descriptors_left, folder_id, said_by, wait_until
from tests.support.inside import known_watches
from tests.support.mounts import mounted

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


def at(text: str) -> WorkspacePath:
    return WorkspacePath(text)


@contextmanager
def watched(root: Path, sink: Sink, *, start: bool = True) -> Iterator[InotifyThread]:
    workspace = Workspace.open(root)
    thread = InotifyThread(workspace, sink.agenda, on_unable=sink.unable.append)
    if start:
        thread.start()
    try:
        yield thread
    finally:
        thread.close()
        workspace.close()


IN_NAMESPACE = """
import sys
from pathlib import Path
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT
from filetools.tree.inotify import InotifyThread
from tests.support.hinted import Sink
root, limit, most = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
Path("/proc/sys/user", limit).write_text(most)
sink = Sink()
try:
    thread = InotifyThread(Workspace.open(root), sink.agenda, on_unable=sink.unable.append)
except OSError as exc:
    print("refused", exc.errno)
else:
    print([thread.add(ROOT.child(str(number))) for number in range(4)], sink.unable)
"""


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        ("max_inotify_instances", "0", "refused 24"),
        # One of the three is the folder that the root is in.
        ("max_inotify_watches", "3", "[True, True, False, False] ['limit', 'limit']"),
    ],
)
def test_the_limits_of_the_user_are_reported(tmp_path: Path, limit: str, most: str, said: str) -> None:
    for number in range(4):
        (tmp_path / str(number)).mkdir()
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Ur", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces here, and the limits of this one are other people's too")
    assert said_by(unshare, "-Ur", program=IN_NAMESPACE, arguments=(tmp_path, limit, most)) == said


@pytest.mark.parametrize("left", [0, 1])
def test_without_a_descriptor_it_is_refused_and_leaves_none(tmp_path: Path, left: int) -> None:
    """The instance and the wake-up of its end each need one."""
    workspace = Workspace.open(tmp_path)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="Too many open files"), descriptors_left(left):
        InotifyThread(workspace, Sink().agenda, on_unable=print)
    assert os.listdir("/proc/self/fd") == before
    workspace.close()


def test_a_folder_that_no_descriptor_is_left_for_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    sink = Sink()
    with watched(tmp_path, sink) as thread, descriptors_left(0):
        assert not thread.add(at("a"))
    assert sink.unable == ["limit"]


def make_link(place: Path) -> None:
    place.symlink_to(place.parent / "real")


@pytest.mark.parametrize("make", [lambda place: None, Path.touch, make_link], ids=["missing", "file", "link"])
def test_what_is_no_folder_is_not_watched(tmp_path: Path, make: Callable[[Path], None]) -> None:
    sink = Sink()
    (tmp_path / "real").mkdir()
    make(tmp_path / "a")
    with watched(tmp_path, sink) as thread:
        assert not thread.add(at("a"))
        assert sink.agenda.due_at() is None
    assert sink.unable == []


def test_an_overflow_hints_at_everything(tmp_path: Path) -> None:
    sink = Sink()
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for name in ("a", "b"):
        (tmp_path / name).touch()
    with watched(tmp_path, sink, start=False) as thread:
        assert thread.add(ROOT)
        for _ in range(most // 2 + 1):  # by turns, because the kernel merges equal notices
            os.utime(tmp_path / "a")
            os.utime(tmp_path / "b")
        thread.start()
        wait_until(lambda: sink.has("overflow"))


def change_content(root: Path) -> None:
    (root / "a").write_bytes(b"new")


def change_mode(root: Path) -> None:
    (root / "a").chmod(0o600)


def move_in(root: Path) -> None:
    (root.parent / "outside").rename(root / "c")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (change_content, {"a"}),
        (change_mode, {"a"}),
        (lambda root: (root / "a").unlink(), {"a"}),
        (lambda root: (root / "a").rename(root / "b"), {"a", "b"}),
        (lambda root: (root / "b").mkdir(), {"b"}),
        (lambda root: os.link(root / "a", root / "b"), {"b"}),
        (lambda root: (root / "a").rename(root.parent / "away"), {"a"}),
        (move_in, {"c"}),
        (lambda root: (root / os.fsdecode(b"\xff")).touch(), {"\udcff"}),
    ],
    ids=["content", "mode", "deleted", "renamed", "folder", "link", "moved out", "moved in", "no UTF-8"],
)
def test_each_change_hints_at_its_names(tmp_path: Path, change: Callable[[Path], None], names: set[str | None]) -> None:
    sink, root = Sink(), tmp_path / "root"
    root.mkdir()
    (root / "a").touch()
    (tmp_path / "outside").touch()
    with watched(root, sink) as thread:
        thread.add(ROOT)
        sink.forget()
        change(root)
        wait_until(lambda: sink.names(root) >= names)
        assert sink.names(root) == names


def test_what_is_written_to_a_file_that_stays_open_is_hinted_at(tmp_path: Path) -> None:
    sink = Sink()
    with (tmp_path / "a").open("wb", buffering=0) as file, watched(tmp_path, sink) as thread:
        thread.add(ROOT)
        sink.forget()
        file.write(b"new")
        wait_until(lambda: sink.names(tmp_path) == {"a"})


def test_a_disk_that_is_taken_away_hints_at_everything(tmp_path: Path) -> None:
    sink = Sink()
    with watched(tmp_path, sink) as thread:
        with mounted(tmp_path / "disk", "-t", "tmpfs", "tmpfs"):
            assert thread.add(at("disk"))
        wait_until(lambda: sink.has("root"))


def test_a_new_folder_that_was_filled_before_its_watch_is_compared_whole(tmp_path: Path) -> None:
    sink = Sink()
    with watched(tmp_path, sink) as thread:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "early").touch()
        assert thread.add(at("new"))
        assert sink.names(tmp_path / "new") == {None}


def test_a_folder_that_is_watched_already_is_not_compared_again(tmp_path: Path) -> None:
    sink = Sink()
    (tmp_path / "old").mkdir()
    with watched(tmp_path, sink) as thread:
        thread.add(at("old"))
        sink.forget()
        (tmp_path / "old").rename(tmp_path / "new")
        assert thread.add(at("new"))
        assert sink.names(tmp_path / "new") == set()


def test_a_folder_that_moves_keeps_its_watch(tmp_path: Path) -> None:
    sink = Sink()
    (tmp_path / "a" / "inner").mkdir(parents=True)
    with watched(tmp_path, sink) as thread:
        thread.add(at("a/inner"))
        sink.forget()
        (tmp_path / "a").rename(tmp_path / "b")
        (tmp_path / "b" / "inner" / "file").touch()
        wait_until(lambda: sink.names(tmp_path / "b" / "inner") == {"file"})


def test_a_folder_in_the_place_of_a_deleted_one_is_compared_whole(tmp_path: Path) -> None:
    """Its inode may be the same; the watch of the first has ended with it."""
    sink = Sink()
    with watched(tmp_path, sink) as thread:
        for _ in range(5):
            (tmp_path / "a").mkdir()
            assert thread.add(at("a"))
            assert sink.names(tmp_path / "a") == {None}
            (tmp_path / "a" / "file").touch()
            wait_until(lambda: "file" in sink.names(tmp_path / "a"))
            (tmp_path / "a" / "file").unlink()
            (tmp_path / "a").rmdir()
            sink.forget()
        wait_until(lambda: known_watches(thread) == 0)


def watches() -> int:
    """Return how many watches all instances of this process have."""
    count = 0
    for descriptor in os.listdir("/proc/self/fd"):
        if os.path.lexists(f"/proc/self/fd/{descriptor}") and "inotify" in os.readlink(f"/proc/self/fd/{descriptor}"):
            count += Path(f"/proc/self/fdinfo/{descriptor}").read_text().count("inotify wd:")
    return count


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
@pytest.mark.parametrize("is_added", [True, False])
def test_a_lost_root_is_hinted_at(tmp_path: Path, how: str, is_added: bool) -> None:
    sink, root = Sink(), tmp_path / "root"
    root.mkdir()
    with watched(root, sink) as thread:
        assert not is_added or thread.add(ROOT)
        root.rmdir() if how == "deleted" else root.rename(tmp_path / "elsewhere")
        if how == "replaced":
            root.mkdir()
        wait_until(lambda: sink.has("root"))


def test_what_stands_beside_the_root_is_not_hinted_at(tmp_path: Path) -> None:
    sink, root = Sink(), tmp_path / "root"
    root.mkdir()
    with watched(root, sink) as thread:
        thread.add(ROOT)
        sink.forget()
        (tmp_path / "root2").mkdir()
        (tmp_path / "root2").rmdir()
        (root / "last").touch()
        wait_until(lambda: "last" in sink.names(root))
        assert (sink.folders, sink.reasons) == ({folder_id(root): {"last"}}, set())


def test_closing_is_prompt_and_leaves_nothing_open(tmp_path: Path) -> None:
    sink, before = Sink(), None
    for _ in range(200):  # more than the instances that one user has
        with watched(tmp_path, sink) as thread:
            thread.add(ROOT)
            before = before or set(os.listdir("/proc/self/fd"))
            thread.close()
            thread.close()
            assert not thread.is_alive()
            assert not thread.add(ROOT)
    assert sink.unable == []
    assert "filetools inotify" not in {each.name for each in threading.enumerate()}
    assert before is not None
    assert len(set(os.listdir("/proc/self/fd")) - before) == 0


def test_closing_without_or_before_starting_leaves_nothing_open(tmp_path: Path) -> None:
    sink, before = Sink(), len(os.listdir("/proc/self/fd"))
    with watched(tmp_path, sink, start=False) as thread:
        thread.close()
        assert len(os.listdir("/proc/self/fd")) == before + 1  # the root
        thread.start()
        thread.join()
    assert sink.unable == []


def test_the_thread_may_close_itself(tmp_path: Path) -> None:
    """As where the callback of its failure closes it."""
    root, before = tmp_path / "root", len(os.listdir("/proc/self/fd"))
    root.mkdir()
    workspace = Workspace.open(root)
    threads: list[InotifyThread] = []
    agenda = Agenda(lambda: threads[0].close())
    threads.append(InotifyThread(workspace, agenda, on_unable=print))
    threads[0].start()
    root.rmdir()
    wait_until(lambda: not threads[0].is_alive())
    workspace.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_forked_child_holds_no_instance(tmp_path: Path) -> None:
    with watched(tmp_path, Sink()) as thread:
        thread.add(ROOT)
        child = os.fork()
        if child == 0:
            os._exit(watches())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert watches() == 2
