"""The watcher of a tree takes the best method, falls back to polling, and leaves nothing behind."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from filetools.models.words import STATE_PATH
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.tree import watching
from filetools.tree.watching import TreeWatcher, WatchMethod, reason_of, reason_to_poll
from tests.support.hinted import Sink, descriptors_left, folder_id, said_by, wait_until

NOTICES: list[WatchMethod] = ["inotify", "observer"] if sys.platform == "linux" else ["observer"]

IN_NAMESPACE = """
import ctypes, os, sys
from filetools.tree.watching import reason_to_poll
place, libc = sys.argv[1], ctypes.CDLL(None)
if libc.unshare(0x20000) or libc.mount(b"", b"/", None, 1 << 18 | 1 << 14, None):
    sys.exit("no mounts")
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0"
if libc.mount(b"x", place.encode(), b"fuse.x", 0, options.encode()):
    sys.exit("no mounts")
print(reason_to_poll(os.open(place, os.O_PATH)))
"""


@pytest.fixture(autouse=True)
def polls_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "POLL_SECONDS", 0.01)


@contextmanager
def watcher_of(root: Path, sink: Sink, method: WatchMethod | None = None) -> Iterator[TreeWatcher]:
    (root / STATE_PATH).mkdir(parents=True, exist_ok=True)
    workspace = Workspace.open(root)
    watcher = TreeWatcher(workspace, sink.agenda, method=method)
    try:
        yield watcher
    finally:
        watcher.close()
        watcher.close()
        workspace.close()


@pytest.mark.parametrize("later", [False, True])
def test_at_a_limit_it_polls_says_so_and_gives_the_instance_back(
    tmp_path: Path, later: bool, caplog: pytest.LogCaptureFixture
) -> None:
    sink, before = Sink(), len(os.listdir("/proc/self/fd"))
    (tmp_path / "a").mkdir()
    with watcher_of(tmp_path, sink, "inotify") as watcher:
        if later:
            watcher.start()
        with descriptors_left(0):
            if not later:
                watcher.start()
            watcher.watch([WorkspacePath("a"), WorkspacePath("b")])
        assert watcher.method == "polling"
        assert caplog.messages == [
            "Looking at the whole tree every 0.01 s: the system grants no more inotify instances or watches"
        ]
        assert len(os.listdir("/proc/self/fd")) == before + 1  # the root
        wait_until(lambda: sink.has("limit", "start", "poll"))


@pytest.mark.parametrize("method", NOTICES)
def test_changes_are_hinted_at_by_folder_and_name(tmp_path: Path, method: WatchMethod) -> None:
    sink, root = Sink(), tmp_path / "root"
    (root / "a").mkdir(parents=True)
    with watcher_of(root, sink, method) as watcher:
        watcher.start()
        watcher.watch([WorkspacePath("a")])
        assert watcher.method == method
        sink.forget()
        (root / "a" / ".ft-0123456789abcdef").touch()
        (root / STATE_PATH / "journal").touch()
        (root / "a" / "file").touch()
        (root / "a" / "file").rename(root / "moved")
        wait_until(lambda: "file" in sink.names(root / "a") and "moved" in sink.names(root))
        assert sink.folders == {folder_id(root / "a"): {"file"}, folder_id(root): {"moved"}}


@pytest.mark.parametrize("method", NOTICES)
def test_a_lost_root_is_hinted_at(tmp_path: Path, method: WatchMethod) -> None:
    sink, root = Sink(), tmp_path / "root"
    with watcher_of(root, sink, method) as watcher:
        watcher.start()
        sink.forget()
        root.rename(tmp_path / "elsewhere")
        (tmp_path / "elsewhere" / "a").touch()
        wait_until(lambda: sink.has("root"))


def test_the_folder_of_a_change_that_is_gone_is_sought_above(tmp_path: Path) -> None:
    sink = Sink()
    (tmp_path / "a" / "b").mkdir(parents=True)
    with watcher_of(tmp_path, sink, "observer") as watcher:
        watcher.start()
        sink.forget()
        (tmp_path / "a" / "b" / "file").touch()
        (tmp_path / "a").rename(tmp_path / "c")
        wait_until(lambda: sink.names(tmp_path) >= {"a", "c"})


def test_polling_as_chosen_hints_again_and_again(tmp_path: Path) -> None:
    sink = Sink()
    with watcher_of(tmp_path, sink, "polling") as watcher:
        watcher.start()
        assert watcher.method == "polling"
        for _ in range(3):
            sink.forget()
            wait_until(lambda: sink.has("poll"))


@pytest.mark.parametrize("method", [*NOTICES, "polling"])
def test_closing_leaves_no_thread_and_no_descriptor(tmp_path: Path, method: WatchMethod) -> None:
    threads, before = threading.active_count(), os.listdir("/proc/self/fd")
    with watcher_of(tmp_path, Sink(), method) as watcher:
        watcher.start()
    assert (threading.active_count(), os.listdir("/proc/self/fd")) == (threads, before)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "fuse", "vboxsf", "ceph"])
def test_shared_file_systems_are_polled(kind: str) -> None:
    assert kind in (reason_of(kind) or "")


@pytest.mark.parametrize("kind", ["", "ext4", "btrfs", "tmpfs", "fuseblk", "fuse.fuse-overlayfs", "unheard-of"])
def test_local_and_unknown_ones_are_not(kind: str) -> None:
    assert reason_of(kind) is None


def test_a_local_folder_needs_no_polling(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    assert reason_to_poll(descriptor) is None
    os.close(descriptor)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts as Linux does")
def test_a_mount_of_another_machine_is_polled(tmp_path: Path) -> None:
    said = said_by(program=IN_NAMESPACE, arguments=(tmp_path,))
    if "no mounts" in said or "/dev/fuse" in said:
        pytest.skip("mounting is not permitted here")
    assert "fuse.x" in said
