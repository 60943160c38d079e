"""The folders that the kernel watches for one tree: registering them, giving them back, starting over; Linux only."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable
from typing import Final

from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyFD, Mask, WatchCallback, WatchDescriptor

from filetools.watch.backend import Task
from filetools.watch.exclusion import scan
from filetools.watch.folders import FolderTree, WatchedFolder
from filetools.watch.handover import Handover
from filetools.watch.inventory import Inventory

CREATE: Final = int(InotifyConstants.IN_CREATE)
DELETE: Final = int(InotifyConstants.IN_DELETE)
MOVED_FROM: Final = int(InotifyConstants.IN_MOVED_FROM)
MOVED_TO: Final = int(InotifyConstants.IN_MOVED_TO)
ATTRIBUTES: Final = int(InotifyConstants.IN_ATTRIB)
WRITTEN: Final = int(InotifyConstants.IN_MODIFY | InotifyConstants.IN_CLOSE_WRITE)

_PLACE: Final = int(InotifyConstants.IN_ONLYDIR | InotifyConstants.IN_DONT_FOLLOW | InotifyConstants.IN_EXCL_UNLINK)
FOLDER_MASK: Final = Mask(CREATE | DELETE | MOVED_FROM | MOVED_TO | WRITTEN | ATTRIBUTES | _PLACE)
ROOT_MASK: Final = Mask(FOLDER_MASK | InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF)
# A root that some process holds open sends no IN_DELETE_SELF; its parent tells in any case.
PARENT_MASK: Final = Mask(DELETE | MOVED_FROM | _PLACE)

_LIMIT_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_NO_WATCH: Final = -1
"""What InotifyFD returns, instead of raising, for a folder that may not be read."""


class WatchLimitReachedError(Exception):
    """Raised, and caught by the reader, when the kernel grants no further watch."""


class RootGoneError(Exception):
    """Raised, and caught by the reader, when the root is no longer there."""


class WatchedTree:
    """The watches of one tree and the folders they stand for. Used by the reading thread, except for `wake`.

    Raises:
        RootGoneError: The root is not there.
        WatchLimitReachedError: There are more folders than the kernel watches.
    """

    def __init__(self, task: Task, inotify: InotifyFD, callback: WatchCallback, goes_on: Callable[[], bool]) -> None:
        self._task = task
        self._handover: Handover[WatchedFolder] = task.handover
        self._inotify = inotify
        self._callback = callback
        self._goes_on = goes_on
        self._ids: dict[int, CallbackId] = {}
        self._numbers = itertools.count(1)
        self._root = os.path.realpath(task.root)
        watch = self._add(self._root, ROOT_MASK)
        self._root_inode = self._inode_of_root()
        if watch is None or self._root_inode is None:
            raise RootGoneError
        self.folders = FolderTree(watch)
        self.parent_watch = self._add(os.path.dirname(self._root), PARENT_MASK) if self._root != os.path.sep else None
        """Of the folder that the root is in; None if that cannot be watched."""

    def register(self, parent: WatchedFolder, name: str) -> None:
        """Watch a folder that has come to its place, and all below it; hint at everything in there."""
        waiting = [(parent, name)]
        while waiting and self._goes_on():
            outer, inner = waiting.pop()
            # One that has a watch came along with its names, and what happened to them was told.
            folder, was_watched = self._watch(outer, inner)
            for path, entry, is_directory in self._scan(folder) or ():
                with self._handover.lock:
                    self._handover.hints.change(path, is_directory=is_directory, is_listed=was_watched)
                if is_directory:
                    assert folder is not None
                    waiting.append((folder, entry.name))

    def register_all(self, inventory: Inventory | None = None) -> None:
        """Watch the whole tree, and take its inventory."""
        waiting: list[WatchedFolder | None] = [self.folders.root]
        while waiting and self._goes_on():
            folder = waiting.pop()
            found = self._scan(folder)
            if folder is None or found is None:
                continue
            if inventory is not None:
                inventory.list_folder(folder.path, ((entry.name, is_directory) for _, entry, is_directory in found))
            waiting += [self._watch(folder, entry.name)[0] for _, entry, is_directory in found if is_directory]

    def _scan(self, folder: WatchedFolder | None) -> list[tuple[str, os.DirEntry[str], bool]] | None:
        return None if folder is None else scan(self._root, folder.path, self._task.excluded)

    def start_over(self) -> None:
        """Watch the whole tree, whatever happened to it since it was registered."""
        if not self.is_root_there():
            raise RootGoneError
        before = self.folders.watches()
        self.folders = FolderTree(self.folders.root.watch)
        self.register_all()
        self._give_back(list(before - self.folders.watches()))

    def unwatch(self, folder: WatchedFolder) -> None:
        """Give back the watches of a folder and all below it."""
        self._give_back(self.folders.remove(folder))

    def forget(self, watch: int) -> None:
        """Note that the kernel has ended a watch."""
        self._ids.pop(watch, None)
        if watch != self.folders.root.watch:
            self.folders.forget_watch(watch)

    def is_nameless(self, folder: WatchedFolder, name: str) -> bool:
        """Whether a name is the one that the kernel gives a file without any (`O_TMPFILE`) on ext4 and others."""
        return (
            name[0] == "#" and name[1:].isdecimal() and not os.path.lexists(f"{self._root}/{folder.child_path(name)}")
        )

    def is_root_there(self) -> bool:
        """Whether the root's path still names the folder that is watched."""
        return self._inode_of_root() == self._root_inode

    def wake(self) -> None:
        """Make the thread that reads notice something; from any thread, once. Ends the watch of the root."""
        # Ending a watch makes the kernel send IN_IGNORED. InotifyFD.stop() would wake the reader too, but close the
        # descriptors under its feet.
        self._give_back([self.folders.root.watch])

    def _watch(self, parent: WatchedFolder, name: str) -> tuple[WatchedFolder | None, bool]:
        """Watch a folder; return it and whether it had a watch before, or None if it cannot be watched."""
        watch = self._add(f"{self._root}/{parent.child_path(name)}", FOLDER_MASK)
        if watch is None:
            return None, False
        was_watched = self.folders.find(watch) is not None
        folder = self.folders.place(parent, name, watch)
        self._handover.keep(folder)
        return folder, was_watched

    def _add(self, path: str, mask: Mask) -> int | None:
        number = CallbackId(next(self._numbers))
        try:
            watch = self._inotify.add_callback(os.fsencode(path), mask, self._callback, number)
        except OSError as exc:
            if exc.errno in _LIMIT_ERRNOS:
                raise WatchLimitReachedError from exc
            return None  # gone, replaced by something else, or too deep for one path
        # InotifyFD warns of a second callback with one id and would call both: each watch has exactly one.
        former = number if watch == _NO_WATCH else self._ids.get(watch)
        if former is not None:
            self._inotify.remove_callbacks([(watch, former)])
        if watch == _NO_WATCH:
            return None
        self._ids[watch] = number
        return watch

    def _give_back(self, watches: list[int]) -> None:
        pairs = [(WatchDescriptor(watch), self._ids.pop(watch)) for watch in watches if watch in self._ids]
        self._inotify.remove_callbacks(pairs)

    def _inode_of_root(self) -> tuple[int, int] | None:
        try:
            facts = os.stat(self._root, follow_symlinks=False)
        except OSError:
            return None
        return (facts.st_dev, facts.st_ino)
