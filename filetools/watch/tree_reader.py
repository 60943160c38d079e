"""Watching a tree with inotify; Linux only.

watchdog's `InotifyFD` reads the kernel's queue and tells of its overflow. What watchdog builds on top is not used: its
observer delays every event behind an unpaired rename by half a second (each delete into the trash is one), watches
excluded folders too, recurses over deep trees, and passes over a reached watch limit in silence.
"""

from __future__ import annotations

import logging
import os
from typing import Final

from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, InotifyFD, WatchDescriptor

from filetools.watch.backend import Task
from filetools.watch.folders import WatchedFolder
from filetools.watch.handover import SPACING_SECONDS, Handover
from filetools.watch.watched_tree import (
    ATTRIBUTES,
    DELETE,
    MOVED_FROM,
    MOVED_TO,
    RootGoneError,
    WatchedTree,
    WatchLimitReachedError,
)

logger = logging.getLogger(__name__)

IS_DIRECTORY: Final = int(InotifyConstants.IN_ISDIR)
ROOT_ENDED: Final = int(InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF | InotifyConstants.IN_UNMOUNT)


class TreeReader(InotifyFD):
    """The thread that reads the kernel's events of one tree. Everything below runs in it, except `start` and `leave`.

    Raises:
        OSError: EMFILE if the user has too many inotify instances.
    """

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.name = "filetools watch"
        self._task = task
        self._handover: Handover[WatchedFolder] = task.handover
        self._tree: WatchedTree | None = None
        self._has_overflowed = False
        self._is_root_gone = False

    def leave(self) -> None:
        """Ask the thread to end soon; may be called twice and from any thread."""
        self.stopped_event.set()
        if self._tree is not None:
            self._tree.wake()

    def run(self) -> None:
        """Register the tree, then read events until asked to leave or the root is gone."""
        # close() leaves the descriptors to a reader that is in read(); none is before the first event is read.
        self._is_reading = False
        try:
            self._tree = WatchedTree(self._task, self, self, self.should_keep_running)
            self._tree.register_all(self._task.inventory)
            self._task.on_ready()
            self._read_until_stopped(self._tree)
        except RootGoneError:
            self._handover.resync("gone")
            self._task.on_ready()
        except WatchLimitReachedError:
            self._task.on_unable("limit")
        except Exception:
            # The last line of a thread: without it, watching would end and nobody would know.
            logger.exception("Watching failed")
            self._task.on_unable("failed")
        finally:
            self.close()
            self._task.on_ended()

    def _read_until_stopped(self, tree: WatchedTree) -> None:
        while self.should_keep_running():
            events = self.read_events()
            is_rested = self._task.is_busy()
            if is_rested:
                # Each waking takes the interpreter from whoever writes here; most of what there is to read is its echo.
                self.stopped_event.wait(SPACING_SECONDS)
            for folder in self._handover.take_abandoned():
                tree.unwatch(folder)
            for event in events:
                self.handle_event(event)
            if self._is_root_gone:
                raise RootGoneError
            if self._has_overflowed and self.should_keep_running():
                tree.start_over()
                # Only now may events count again, and only now may anybody scan: what changes from here on is seen.
                self._has_overflowed = False
                self._handover.resync("overflow")
            self._handover.send()
            if self._handover.is_idle and not is_rested:
                self.stopped_event.wait(SPACING_SECONDS)

    def on_queue_overflow(self) -> None:
        """Note that events are missing; called by InotifyFD."""
        self._has_overflowed = True

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """Forget a watch that the kernel has ended; called by InotifyFD."""
        if self._tree is not None:
            self._tree.forget(wd)

    def on_event(self, event: InotifyEvent) -> None:
        """Take one event of the kernel; called by InotifyFD."""
        tree, mask = self._tree, int(event.mask)
        if tree is None:
            return
        if event.wd == tree.parent_watch:
            self._is_root_gone = self._is_root_gone or not tree.is_root_there()
            return
        folder = tree.folders.find(event.wd)
        if folder is None or self._has_overflowed:
            return
        # A nameless file (O_TMPFILE) is "/" on some file systems, such as FUSE.
        if event.name in (b"", b"/"):
            if mask & ROOT_ENDED and folder.path == "":
                self._is_root_gone = True
            return
        name = os.fsdecode(event.name)
        if not self._task.excluded(folder.child_path(name), bool(mask & IS_DIRECTORY)):
            self._tell(tree, event, folder, name)

    def _tell(self, tree: WatchedTree, event: InotifyEvent, folder: WatchedFolder, name: str) -> None:
        mask, path = int(event.mask), folder.child_path(name)
        is_directory = bool(mask & IS_DIRECTORY)
        hints, lock = self._handover.hints, self._handover.lock
        if mask & MOVED_FROM:
            with lock:
                moved = folder.children.get(name)
                self._handover.depart(event.cookie, path, moved, is_directory=is_directory)
        elif mask & MOVED_TO:
            self._arrive(tree, event.cookie, folder, name, is_directory=is_directory)
        elif mask & ATTRIBUTES and (is_directory or tree.is_nameless(folder, name)):
            return  # no record tells of a folder's permissions
        elif mask & DELETE:
            if is_directory and (gone := folder.children.get(name)) is not None:
                tree.unwatch(gone)
            with lock:
                hints.delete(path, is_directory=is_directory)
        else:
            with lock:
                hints.change(path, is_directory=is_directory)
            if is_directory:
                tree.register(folder, name)

    def _arrive(self, tree: WatchedTree, cookie: int, folder: WatchedFolder, name: str, *, is_directory: bool) -> None:
        path = folder.child_path(name)
        with self._handover.lock:
            claimed = self._handover.claim(cookie)
            if claimed is None:
                self._handover.hints.change(path, is_directory=is_directory)
            else:
                self._handover.hints.arrive(claimed[0], path)
        if is_directory:
            if claimed is not None and claimed[1] is not None:
                tree.folders.move(claimed[1], folder, name)
            # Also what moved within the tree: parts of it may not have been watched when it left its place.
            tree.register(folder, name)
