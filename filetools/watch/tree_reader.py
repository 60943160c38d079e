"""Watching a tree with inotify; Linux only.

watchdog's `InotifyFD` reads the kernel's queue and tells of its overflow. What watchdog builds on top is not used: its
observer delays every event behind an unpaired rename by half a second (each delete into the trash is one), watches
excluded folders too, recurses over deep trees, and passes over a reached watch limit in silence.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
from typing import Final

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchDescriptor,
)

from filetools.watch.backend import Task
from filetools.watch.exclusion import scan
from filetools.watch.folders import Folder, FolderTree
from filetools.watch.handover import Handover

logger = logging.getLogger(__name__)

CREATE: Final = int(InotifyConstants.IN_CREATE)
DELETE: Final = int(InotifyConstants.IN_DELETE)
MOVED_FROM: Final = int(InotifyConstants.IN_MOVED_FROM)
MOVED_TO: Final = int(InotifyConstants.IN_MOVED_TO)
WRITTEN: Final = int(InotifyConstants.IN_MODIFY | InotifyConstants.IN_CLOSE_WRITE)
IS_DIRECTORY: Final = int(InotifyConstants.IN_ISDIR)
ROOT_ENDED: Final = int(InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF | InotifyConstants.IN_UNMOUNT)

_PLACE: Final = int(InotifyConstants.IN_ONLYDIR | InotifyConstants.IN_DONT_FOLLOW | InotifyConstants.IN_EXCL_UNLINK)
FOLDER_MASK: Final = Mask(CREATE | DELETE | MOVED_FROM | MOVED_TO | WRITTEN | _PLACE)
ROOT_MASK: Final = Mask(FOLDER_MASK | InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF)
# A root that some process holds open sends no IN_DELETE_SELF; its parent tells in any case.
PARENT_MASK: Final = Mask(DELETE | MOVED_FROM | _PLACE)

_LIMIT_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_NO_WATCH: Final = -1
"""What InotifyFD returns, instead of raising, for a folder that may not be read."""


class WatchLimitReachedError(Exception):
    """Raised inside this module when the kernel grants no further watch."""


class RootGoneError(Exception):
    """Raised inside this module when the root is no longer there."""


class TreeReader(InotifyFD):
    """The thread that reads the kernel's events of one tree. Everything below runs in it, except `start` and `leave`.

    Raises:
        OSError: EMFILE if the user has too many inotify instances.
    """

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.name = "filetools watch"
        self._task = task
        self._handover: Handover[Folder] = task.handover
        self._root = ""
        self._root_inode: tuple[int, int] | None = None
        self._tree: FolderTree | None = None
        self._ids: dict[int, CallbackId] = {}
        self._numbers = itertools.count(1)
        self._parent_watch = _NO_WATCH
        self._has_overflowed = False
        self._is_root_gone = False

    def leave(self) -> None:
        """Ask the thread to end soon; may be called twice and from any thread."""
        self.stopped_event.set()
        tree = self._tree
        if tree is not None and (number := self._ids.get(tree.root.watch)) is not None:
            # Ending a watch makes the kernel send IN_IGNORED, which wakes the reader. stop() would close the
            # descriptors under the reader's feet.
            self.remove_callbacks([(WatchDescriptor(tree.root.watch), number)])

    def run(self) -> None:
        """Register the tree, then read events until asked to leave or the root is gone."""
        # close() leaves the descriptors to a reader that is in read(); none is before the first event is read.
        self._is_reading = False
        try:
            self._read_until_stopped()
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

    def _read_until_stopped(self) -> None:
        self._root = os.path.realpath(self._task.root)
        self._register_all()
        self._task.on_ready()
        while self.should_keep_running():
            events = self.read_events()
            for folder in self._handover.take_abandoned():
                self._unwatch(folder)
            for event in events:
                self.handle_event(event)
            if self._is_root_gone:
                raise RootGoneError
            if self._has_overflowed and self.should_keep_running():
                self._start_over()
            self._handover.send()

    def on_queue_overflow(self) -> None:
        """Note that events are missing; called by InotifyFD."""
        self._has_overflowed = True

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """Forget a watch that the kernel has ended; called by InotifyFD."""
        self._ids.pop(wd, None)
        if self._tree is not None and wd != self._tree.root.watch:
            self._tree.forget_watch(wd)

    def on_event(self, event: InotifyEvent) -> None:
        """Take one event of the kernel; called by InotifyFD."""
        mask = int(event.mask)
        if event.wd == self._parent_watch:
            self._is_root_gone = self._is_root_gone or self._inode_of_root() != self._root_inode
            return
        folder = self._tree.find(event.wd) if self._tree is not None else None
        if folder is None or self._has_overflowed:
            return
        if not event.name:
            if mask & ROOT_ENDED and folder.path == "":
                self._is_root_gone = True
            return
        name = os.fsdecode(event.name)
        path = folder.child_path(name)
        is_directory = bool(mask & IS_DIRECTORY)
        if not self._task.excluded(path, is_directory):
            self._tell(event, folder, name, path)

    def _tell(self, event: InotifyEvent, folder: Folder, name: str, path: str) -> None:
        mask = int(event.mask)
        is_directory = bool(mask & IS_DIRECTORY)
        hints, lock = self._handover.hints, self._handover.lock
        if mask & MOVED_FROM:
            with lock:
                moved = folder.children.get(name)
                self._handover.depart(event.cookie, path, moved, is_directory=is_directory)
        elif mask & MOVED_TO:
            self._arrive(event.cookie, folder, name, is_directory=is_directory)
        elif mask & DELETE:
            if is_directory and (gone := folder.children.get(name)) is not None:
                self._unwatch(gone)
            with lock:
                hints.delete(path, is_directory=is_directory)
        else:
            with lock:
                hints.change(path, is_directory=is_directory, is_new=bool(mask & CREATE))
            if is_directory:
                self._register(folder, name, tell=True)

    def _arrive(self, cookie: int, folder: Folder, name: str, *, is_directory: bool) -> None:
        assert self._tree is not None
        path = folder.child_path(name)
        with self._handover.lock:
            claimed = self._handover.claim(cookie)
            if claimed is None:
                self._handover.hints.enter(path, is_directory=is_directory)
            else:
                self._handover.hints.arrive(claimed[0], path)
        if is_directory:
            if claimed is not None and claimed[1] is not None:
                self._tree.move(claimed[1], folder, name)
            # Also what moved within the tree: parts of it may not have been watched when it left its place.
            self._register(folder, name, tell=True)

    def _register_all(self) -> None:
        watch = self._add(self._root, ROOT_MASK)
        if watch is None or (inode := self._inode_of_root()) is None:
            raise RootGoneError
        self._root_inode = inode
        self._tree = FolderTree(watch)
        if self._root != os.path.sep:
            self._parent_watch = self._add(os.path.dirname(self._root), PARENT_MASK) or _NO_WATCH
        self._register(self._tree.root, "", tell=False)

    def _register(self, parent: Folder, name: str, *, tell: bool) -> None:
        """Watch a folder and all below it; with `tell`, hint at everything found in there."""
        assert self._tree is not None
        waiting = [(parent, name)]
        while waiting and self.should_keep_running():
            outer, inner = waiting.pop()
            folder = self._watch(outer, inner) if inner else outer
            if folder is None:
                continue
            for path, entry, is_directory in scan(self._root, folder.path, self._task.excluded):
                if tell:
                    with self._handover.lock:
                        self._handover.hints.change(path, is_directory=is_directory, is_new=True)
                if is_directory:
                    waiting.append((folder, entry.name))

    def _watch(self, parent: Folder, name: str) -> Folder | None:
        assert self._tree is not None
        watch = self._add(f"{self._root}/{parent.child_path(name)}", FOLDER_MASK)
        if watch is None:
            return None
        folder = self._tree.place(parent, name, watch)
        self._handover.keep(folder)
        return folder

    def _add(self, path: str, mask: Mask) -> int | None:
        number = CallbackId(next(self._numbers))
        try:
            watch = self.add_callback(os.fsencode(path), mask, self, number)
        except OSError as exc:
            if exc.errno in _LIMIT_ERRNOS:
                raise WatchLimitReachedError from exc
            return None  # gone, replaced by something else, or too deep for one path
        # InotifyFD warns of a second callback with one id and would call both: each watch has exactly one.
        former = number if watch == _NO_WATCH else self._ids.get(watch)
        if former is not None:
            self.remove_callbacks([(watch, former)])
        if watch == _NO_WATCH:
            return None
        self._ids[watch] = number
        return watch

    def _unwatch(self, folder: Folder) -> None:
        assert self._tree is not None
        self._remove(self._tree.remove(folder))

    def _remove(self, watches: list[int]) -> None:
        pairs = [(WatchDescriptor(watch), self._ids.pop(watch)) for watch in watches if watch in self._ids]
        self.remove_callbacks(pairs)

    def _start_over(self) -> None:
        """Register the tree anew after lost events, then have everything looked at."""
        assert self._tree is not None
        if self._inode_of_root() != self._root_inode:
            raise RootGoneError
        before = self._tree.watches()
        self._tree = FolderTree(self._tree.root.watch)
        self._register(self._tree.root, "", tell=False)
        self._remove(list(before - self._tree.watches()))
        # Only now may events count again, and only now may anybody scan: what changes from here on is seen.
        self._has_overflowed = False
        self._handover.resync("overflow")

    def _inode_of_root(self) -> tuple[int, int] | None:
        try:
            facts = os.stat(self._root, follow_symlinks=False)
        except OSError:
            return None
        return (facts.st_dev, facts.st_ino)
