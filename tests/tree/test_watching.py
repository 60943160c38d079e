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
from filetools.tree.polling import PollingTimer
from filetools.tree.watching import TreeWatcher, WatchMethod, WatchStatus
from tests.support.hinted import Sink, descriptors_left, folder_id, wait_until

NOTICES: list[WatchMethod] = ["inotify", "observer"] if sys.platform == "linux" else ["observer"]


@contextmanager
def watcher_of(root: Path, sink: Sink, method: WatchMethod | None = None) -> Iterator[TreeWatcher]:
    (root / STATE_PATH).mkdir(parents=True, exist_ok=True)
    workspace = Workspace.open(root)
    watcher = TreeWatcher(workspace, sink.hints, method=method, poll_seconds=0.01)
    try:
        yield watcher
    finally:
        watcher.close()
        watcher.close()
        workspace.close()


@pytest.mark.parametrize("later", [False, True])
def test_at_a_limit_it_polls_says_so_and_gives_the_instance_back(tmp_path: Path, later: bool) -> None:
    sink, before = Sink(), len(os.listdir("/proc/self/fd"))
    (tmp_path / "a").mkdir()
    with watcher_of(tmp_path, sink, "inotify") as watcher:
        if later:
            watcher.start()
        with descriptors_left(0):
            if not later:
                watcher.start()
            watcher.watch([WorkspacePath("a"), WorkspacePath("b")])
        assert watcher.status() == WatchStatus(
            method="polling", reason="the system grants no more inotify instances or watches"
        )
        assert len(os.listdir("/proc/self/fd")) == before + 1  # the root
        wait_until(lambda: sink.has("limit", "start", "poll"))


@pytest.mark.parametrize("method", NOTICES)
def test_changes_are_hinted_at_by_folder_and_name(tmp_path: Path, method: WatchMethod) -> None:
    sink, root = Sink(), tmp_path / "root"
    (root / "a").mkdir(parents=True)
    with watcher_of(root, sink, method) as watcher:
        watcher.start()
        watcher.watch([WorkspacePath("a")])
        assert watcher.status() == WatchStatus(method=method)
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


def test_polling_as_chosen_looks_less_often_after_slow_looks(tmp_path: Path) -> None:
    sink, clock = Sink(), Sink()
    timer = PollingTimer(clock.hints, seconds=0.001)
    with watcher_of(tmp_path, sink, "polling") as watcher:
        watcher.start()
        assert watcher.status() == WatchStatus(method="polling", reason="polling is chosen")
        sink.forget()
        wait_until(lambda: sink.has("poll"))
        watcher.note_look(1000)
        timer.start()
        quiet = 0

        def is_quiet() -> bool:
            nonlocal quiet
            quiet = 0 if sink.has("poll") else quiet + clock.has("poll")
            sink.forget()
            clock.forget()
            return quiet == 100

        wait_until(is_quiet, 30)
        timer.close()


@pytest.mark.parametrize("method", [*NOTICES, "polling"])
def test_closing_leaves_no_thread_and_no_descriptor(tmp_path: Path, method: WatchMethod) -> None:
    threads, before = threading.active_count(), os.listdir("/proc/self/fd")
    with watcher_of(tmp_path, Sink(), method) as watcher:
        watcher.start()
    assert (threading.active_count(), os.listdir("/proc/self/fd")) == (threads, before)
