"""The one lock of a root, which a process holds during each turn of its writer."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from filelock import lock_descriptor, unlock_descriptor

from filetools.errors import StateDamagedError
from filetools.locks.lock_folder import LockFolder

try:
    import fcntl
except ImportError:  # Windows

    def _lock(descriptor: int) -> None:
        lock_descriptor(descriptor, poll_interval=_POLL_SECONDS)
else:

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # the same lock as filelock takes, which would poll for it


LOCK_NAME: Final = "turn.lock"
_POLL_SECONDS: Final = 0.002


class RootLock:
    """A lock between processes, for one thread of this one. Lives as long as its writer; useless after a fork.

    It blocks without polling: the kernel serves waiters in their order, and four processes on one file are ten times
    quicker than with a poll of 2 ms. A caller with a deadline waits for its result, not for this thread.
    """

    def __init__(self, directory: Path) -> None:
        """Open the lock file in a state directory.

        Raises:
            StateDamagedError: Something else has its name.
            AccessDeniedError, DiskFullError: It cannot be opened.
        """
        self._folder = LockFolder(directory)
        try:
            self._file = self._folder.open(LOCK_NAME, create=True)
        except OSError as exc:
            self._folder.close()
            raise self._folder.refusal(LOCK_NAME, exc) from exc
        self._line = b"%-10d" % os.getpid()

    def acquire(self) -> None:
        """Wait for the lock, however long that takes.

        Raises:
            StateDamagedError: The lock file was removed, so that it excludes nobody any more.
            AccessDeniedError: The system refuses the lock.
        """
        try:
            _lock(self._file.descriptor)
            self._file.write_at(0, self._line)  # for `holder`
            has_name = os.fstat(self._file.descriptor).st_nlink > 0
        except OSError as exc:
            raise self._folder.refusal(LOCK_NAME, exc) from exc
        if not has_name:
            self.release()
            raise StateDamagedError("it was removed while the workspace was open")

    def release(self) -> None:
        """Let the next process go on."""
        unlock_descriptor(self._file.descriptor)

    def holder(self) -> str:
        """Return who took the lock last, for messages. In any thread."""
        with suppress(OSError, ValueError):
            return f"process {int(self._file.read_at(0, 10))}"
        return "another process"

    def close(self) -> None:
        """Close the lock file; may be called twice."""
        self._file.close()
        self._folder.close()
