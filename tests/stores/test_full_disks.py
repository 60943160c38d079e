"""Disks that are full, read-only or broken: a typed error while preparing, and the old bytes intact."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import AccessDeniedError, DiskFullError
from filetools.paths.workspace_path import ROOT
from tests.support.store_worlds import FILE, OTHER, LocalWorld, refuse_calls

TOO_MUCH = bytes(1024 * 1024)


def mount(*arguments: str | Path) -> None:
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("mounting is not permitted here")


@pytest.fixture
def mount_point() -> Iterator[Path]:
    if shutil.which("mount") is None:
        pytest.skip("no mount command")
    point = Path(tempfile.mkdtemp(prefix="filetools-mount-"))
    yield point
    subprocess.run(["umount", point], capture_output=True, check=False)
    point.rmdir()


@pytest.fixture
def tiny(mount_point: Path) -> Iterator[LocalWorld]:
    mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", mount_point)
    world = LocalWorld(mount_point)
    world.save(FILE, b"one")
    yield world
    world.close()


@pytest.mark.parametrize("is_new", [True, False])
def test_a_full_disk_is_found_out_while_preparing(tiny: LocalWorld, is_new: bool) -> None:
    with pytest.raises(DiskFullError):
        tiny.store.prepare(OTHER if is_new else FILE, TOO_MUCH, new=is_new)
    assert (tiny.look(FILE), tiny.look(OTHER), tiny.hidden()) == (b"one", None, set())


@pytest.mark.parametrize("hard_links", [True, False])
@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_disk_that_fills_up_in_an_exchange_by_steps_leaves_the_old_or_has_the_new_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hard_links: bool, failing: int
) -> None:
    world = LocalWorld(tmp_path, refused=refuse_calls(links=not hard_links))
    world.save(FILE, b"one")
    prepared = world.store.prepare(FILE, b"two", new=False)
    renames, rename = 0, os.rename

    def failing_once(*arguments: Any, **more: Any) -> None:
        nonlocal renames
        renames += 1
        if renames == failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(*arguments, **more)

    monkeypatch.setattr(os, "rename", failing_once)
    try:
        displaced = prepared.exchange()
        assert displaced is not None
    except DiskFullError:
        assert world.look(FILE) == b"one"
        prepared.discard()
    else:
        assert (world.look(FILE), displaced.read()) == (b"two", b"one")
        monkeypatch.undo()
        displaced.put_back()
        assert (world.look(FILE), displaced.read()) == (b"one", b"two")
        displaced.discard()
    assert world.hidden() == set()
    world.close()


@pytest.mark.parametrize("is_new", [True, False])
def test_a_limit_on_file_sizes_counts_as_a_full_disk(world: LocalWorld, is_new: bool) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, hard))
    try:
        with pytest.raises(DiskFullError):
            world.store.prepare(OTHER if is_new else FILE, TOO_MUCH, new=is_new)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (world.look(FILE), world.look(OTHER), world.hidden()) == (b"one", None, set())


def test_a_read_only_folder_is_refused_while_preparing(native: LocalWorld) -> None:
    folder = native.root / "folder"
    mount("--bind", folder, folder)
    try:
        mount("-o", "remount,ro,bind", folder)
        deep, new = ROOT.child("folder").child("deep.txt"), ROOT.child("folder").child("new.txt")
        store = native.store
        for act in (
            lambda: store.prepare(deep, b"two", new=False),
            lambda: store.prepare(new, b"two", new=True),
            lambda: store.remove(deep),
            lambda: store.make_directory(new),
            lambda: store.move(deep, OTHER),
            lambda: store.set_mode(deep, 0o600),
        ):
            with pytest.raises(AccessDeniedError):
                act()
        assert store.read(deep)[0] == b"deep"
        assert native.hidden() == set()
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_folder_on_another_mount_gets_its_temporary_files_beside_the_target(native: LocalWorld) -> None:
    """A bind mount has the same device number, and no rename leaves it all the same."""
    folder = native.root / "folder"
    mount("--bind", folder, folder)
    try:
        deep = ROOT.child("folder").child("deep.txt")
        prepared = native.store.prepare(deep, b"two", new=False)
        assert prepared.temporary.startswith("folder/.ft-")
        displaced = prepared.exchange()
        assert displaced is not None
        assert (native.look(deep), displaced.read()) == (b"two", b"deep")
        displaced.discard()
        native.store.remove(deep, "9")
        native.store.trashed(deep, "9").restore()
        with pytest.raises(AccessDeniedError, match="different file systems"):
            native.store.move(deep, OTHER)
        assert (native.look(deep), native.hidden()) == (b"two", set())
    finally:
        subprocess.run(["umount", folder], check=True)


SYNC = """
import os
import sys
import time
from pathlib import Path
from filetools.errors import FileToolsError
from filetools.paths.workspace import Workspace
from filetools.stores.local import LocalStore
root = Path(sys.argv[1])
workspace = Workspace.open(root)
store = LocalStore(workspace, private_directory=root / ".filetools")
store.prepare(workspace.resolve("file.txt"), b"two", new=False).exchange().discard()
print("replaced", flush=True)
try:
    for path in sys.argv[2].split(","):
        if path.endswith("new.txt") and not (root / path).exists():
            (root / path).touch()
        while any(time.time_ns() - os.stat(each).st_ctime_ns < 50_000_000 for each in (root, root / "folder")):
            time.sleep(0.001)
        store.sync(workspace.resolve(path))
except FileToolsError as exc:
    print(type(exc).__name__, exc.path)
"""


def traced_sync(root: Path, path: str, *injected: str) -> tuple[str, list[str]]:
    if shutil.which("strace") is None:
        pytest.skip("no strace")
    log = root.parent / "trace"
    command = ["strace", "-f", "-y", "-o", str(log), "-e", "trace=fsync,fdatasync,sync", *injected]
    command += [sys.executable, "-c", SYNC, str(root), path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "replaced" not in done.stdout:
        pytest.skip(f"strace does not work here: {done.stderr[-200:]}")
    calls = [line for line in log.read_text().splitlines() if "sync(" in line]
    return done.stdout.removeprefix("replaced\n"), [line.partition("<")[2].partition(">")[0] for line in calls]


def test_sync_reaches_the_file_and_its_folder_and_replacing_syncs_nothing(native: LocalWorld) -> None:
    said, synced = traced_sync(native.root, "file.txt")
    assert (said, synced) == ("", [str(native.root / FILE), str(native.root)])


def test_sync_of_what_is_gone_reaches_every_folder_above(native: LocalWorld) -> None:
    said, synced = traced_sync(native.root, "folder/gone/deeper.txt")
    assert (said, synced) == ("", [str(native.root), str(native.root / "folder")])


def test_a_folder_in_which_no_name_changed_is_not_synced_again(native: LocalWorld) -> None:
    said, synced = traced_sync(native.root, "folder/deep.txt,folder/deep.txt,folder/new.txt,folder/new.txt")
    deep, new, folder = (str(native.root / name) for name in ("folder/deep.txt", "folder/new.txt", "folder"))
    assert (said, synced) == ("", [deep, str(native.root), folder, deep, new, folder, new])


def test_a_failed_sync_is_reported_and_not_tried_again(native: LocalWorld) -> None:
    said, synced = traced_sync(native.root, "file.txt", "-e", "inject=fsync:error=EIO")
    assert said.split() == ["StorageFailedError", "file.txt"]
    assert len(synced) == 1
