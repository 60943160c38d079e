"""The open lock files of a table: those in use, and a few idle ones, since opening costs more than locking."""

from __future__ import annotations

import errno
from collections import OrderedDict
from pathlib import Path
from typing import Final

from filetools.errors import FileToolsError, WorkspaceGoneError
from filetools.locks.lock_file import LockFile
from filetools.locks.lock_folder import LockFolder

IDLE_FILES: Final = 64


class LockFiles:
    """Hands out open lock files. Lives as long as its table, and on until the last file in use is given back."""

    def __init__(self, directory: Path) -> None:
        self._folder = LockFolder(directory)
        self._open_files: set[LockFile] = set()
        self._idle: OrderedDict[str, LockFile] = OrderedDict()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether no further file is handed out."""
        return self._is_closed

    def take(self, name: str) -> LockFile:
        """Return the open lock file of that name, created if it is missing; the caller's own until given back.

        Raises:
            StateDamagedError: Something else stands in its place, or the folder is gone.
            WorkspaceGoneError: `close` was called.
            AccessDeniedError, DiskFullError
        """
        return self._idle.pop(name, None) or self._open(name, create=True)

    def find(self, name: str) -> LockFile | None:
        """Return the lock file on a fresh descriptor, or None if it does not exist; to be discarded after use.

        Safe from any thread.

        Raises:
            As `take`.
        """
        try:
            return self._open(name, create=False)
        except FileNotFoundError:
            return None

    def keep(self, file: LockFile) -> None:
        """Give an unlocked file back; the one longest unused beyond `IDLE_FILES` is closed."""
        if self._is_closed:
            self.discard(file)
            return
        self._idle[file.name] = file
        if len(self._idle) > IDLE_FILES:
            self.discard(self._idle.popitem(last=False)[1])

    def discard(self, file: LockFile) -> None:
        """Close a file for good, which drops its lock; may be called twice."""
        self._open_files.discard(file)
        file.close()
        if self._is_closed and not self._open_files:
            self._folder.close()

    def is_named(self, file: LockFile) -> bool:
        """Whether the name still leads to this file: a lock on a deleted file excludes nobody."""
        return self._folder.is_named(file)

    def close(self) -> None:
        """Close the idle files, and the folder as soon as no file is in use any more; may be called twice."""
        self._is_closed = True
        self._close_idle()
        if not self._open_files:
            self._folder.close()

    def abandon(self) -> None:
        """Close everything in a forked child, without unlocking.

        A lock belongs to the open file, which parent and child share: unlocking would take it from the parent, and
        keeping the file open would keep it locked beyond the parent's death.
        """
        self.close()
        for file in tuple(self._open_files):
            self.discard(file)

    def _open(self, name: str, *, create: bool) -> LockFile:
        if self._is_closed:
            raise WorkspaceGoneError("it was closed")
        try:
            file = self._open_with_room(name, create=create)
        except FileToolsError:
            raise
        except OSError as exc:
            if not create and exc.errno == errno.ENOENT:
                raise
            raise self._folder.refusal(name, exc) from exc
        self._open_files.add(file)
        return file

    def _open_with_room(self, name: str, *, create: bool) -> LockFile:
        try:
            return self._folder.open(name, create=create)
        except OSError as exc:
            if exc.errno not in (errno.EMFILE, errno.ENFILE) or not self._idle:
                raise
        # Out of descriptors: the idle ones are only a saving.
        self._close_idle()
        return self._folder.open(name, create=create)

    def _close_idle(self) -> None:
        while self._idle:
            self.discard(self._idle.popitem()[1])
