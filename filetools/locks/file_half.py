"""The half of a lock between processes: one lock file, and when to stand back for others who poll for it."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from filelock import lock_descriptor, unlock_descriptor

from filetools.errors import AccessDeniedError
from filetools.locks.lock_file import LockFile
from filetools.locks.lock_files import LockFiles
from filetools.locks.waiting_room import Seat, is_somebody_waiting

# A poller meets a lock that is free for microseconds between two holds too seldom. So who has had it this long, with
# no pause worth the name, looks whether somebody polls and lets him in.
_TENURE_SECONDS: Final = 0.010
_PAUSE_SECONDS: Final = 0.001
_REOPENINGS: Final = 16


class FileHalf:
    """The lock file of one stripe, used only by the task that has the stripe's turn. Lives as long as its stripe."""

    __slots__ = ("_file", "_files", "_free_since", "_name", "_tenure_since", "is_locked", "is_standing_back")

    def __init__(self, name: str, files: LockFiles) -> None:
        self.is_locked = False
        self.is_standing_back = False
        """Whether other processes are to be asked before the next lock."""
        self._name = name
        self._files = files
        self._file: LockFile | None = None
        self._tenure_since = 0.0
        self._free_since = 0.0

    def lock_now(self) -> bool:
        """Try once to lock the file that the name leads to; microseconds.

        Raises:
            StateDamagedError, AccessDeniedError, DiskFullError, WorkspaceGoneError
        """
        for _ in range(_REOPENINGS):
            file = self._file
            if file is None:
                file = self._file = self._files.take(self._name)
            try:
                if not lock_descriptor(file.descriptor, blocking=False):
                    return False
            except OSError as exc:
                self.drop()
                raise AccessDeniedError(f"locks/{self._name}", exc.strerror or "it cannot be locked") from exc
            # After locking, not before: until then the file can be deleted, and another one made and locked.
            if self._files.is_named(file):
                self._begin()
                return True
            self.drop()
        return False

    def is_valid(self) -> bool:
        """Whether the locked file still is the one its name leads to."""
        return self.is_locked and self._file is not None and self._files.is_named(self._file)

    def write_line(self, line: bytes) -> None:
        """Tell other processes who holds the lock."""
        # It only informs; on a full disk the lock itself works, and deleting files must.
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.write_at(0, line)

    def take_seat(self) -> Seat:
        """Announce that this process polls.

        Raises:
            As `lock_now`.
        """
        return Seat(self._files, f"{self._name}.w")

    def end_long_tenure(self) -> None:
        """Unlock, and stand back for the next lock, if this process has had its share and another one polls."""
        now = time.monotonic()
        if now - self._tenure_since < _TENURE_SECONDS:
            return
        self._tenure_since = now
        # Giving back must succeed whatever has become of the waiting room.
        with contextlib.suppress(OSError):
            if is_somebody_waiting(self._files, f"{self._name}.w"):
                self._unlock()
                self.is_standing_back = True

    def release(self) -> None:
        """Unlock if locked, and give the file back; never fails."""
        if self.is_locked:
            self._unlock()
        if self._file is not None:
            self._files.keep(self._file)
            self._file = None

    def drop(self) -> None:
        """Close the file, which unlocks it."""
        self.is_locked = False
        if self._file is not None:
            self._files.discard(self._file)
            self._file = None

    def abandon(self) -> None:
        """Forget the file in a forked child; it was closed there."""
        self.is_locked = False
        self._file = None

    def _begin(self) -> None:
        self.is_locked = True
        self.is_standing_back = False
        now = time.monotonic()
        if now - self._free_since > _PAUSE_SECONDS:
            self._tenure_since = now

    def _unlock(self) -> None:
        self.is_locked = False
        self._free_since = time.monotonic()
        try:
            if self._file is not None:
                unlock_descriptor(self._file.descriptor)
        except OSError:
            self.drop()
