"""One lock file and the tasks that want it: both halves of a lock, and when to stand back for other processes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Final

from filelock import lock_descriptor, unlock_descriptor

from filetools.errors import AccessDeniedError
from filetools.locks.turns import Turns
from filetools.locks.waiting_room import Seat, is_somebody_waiting

if TYPE_CHECKING:
    from filetools.locks.held import HeldLocks
    from filetools.locks.lock_file import LockFile
    from filetools.locks.lock_files import LockFiles

_FIRST_POLL_SECONDS: Final = 0.001
_POLL_SECONDS: Final = 0.002
_FAST_POLLING_SECONDS: Final = 0.1
_TENURE_SECONDS: Final = 0.010
_INTERRUPTION_SECONDS: Final = 0.001
_REOPENINGS: Final = 16


class Stripe:
    """The lock of all keys with one number. Lives as long as its table; belongs to the table's event loop."""

    __slots__ = (
        "_file",
        "_files",
        "_free_since",
        "_is_locked",
        "_is_standing_back",
        "_tenure_since",
        "holder",
        "name",
        "since_ns",
        "turns",
    )

    def __init__(self, name: str, files: LockFiles) -> None:
        self.name = name
        self.turns = Turns()
        self.holder: HeldLocks | None = None
        self.since_ns = 0
        self._files = files
        self._file: LockFile | None = None
        self._is_locked = False
        self._is_standing_back = False
        self._tenure_since = 0.0
        self._free_since = 0.0

    def enter_now(self) -> bool:
        """Take both halves if that needs no waiting and no other process is to go first.

        Raises:
            StateDamagedError, AccessDeniedError, DiskFullError: The lock file cannot be used.
        """
        if not self.turns.take_now():
            return False
        try:
            if not self._is_standing_back and self._lock_now():
                return True
        except BaseException:
            self.leave()
            raise
        self.leave()
        return False

    async def enter(self, deadline: float) -> bool:
        """Take both halves, waiting for them if need be.

        Args:
            deadline: Until when, on the loop's clock; if it is over already, both are tried once.

        Returns:
            False if the time was over or the table was closed.

        Raises:
            As `enter_now`.
        """
        is_patient = deadline > asyncio.get_running_loop().time()
        if not self.turns.take_now() and not (is_patient and await self.turns.wait(deadline, self.leave)):
            return False
        try:
            if await self._lock(deadline):
                return True
        except BaseException:
            self.leave()
            raise
        self.leave()
        return False

    def sign(self, holder: HeldLocks, since_ns: int, line: bytes) -> None:
        """Note who holds both halves, here and in the lock file."""
        self.holder = holder
        self.since_ns = since_ns
        # The line only informs; on a full disk the lock itself still works, and deleting files must.
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.write_at(0, line)

    def leave(self) -> None:
        """Give back the turn, to the next task with the file still locked, or else the lock file too. Never fails."""
        self.holder = None
        if self._is_locked:
            self._end_long_tenure()
        if self.turns.pass_on():
            return
        if self._is_locked:
            self._unlock()
        if self._file is not None:
            self._files.keep(self._file)
            self._file = None

    def is_valid(self) -> bool:
        """Whether the locked file still is the one its name leads to."""
        return self._is_locked and self._file is not None and self._files.is_named(self._file)

    def abandon(self) -> None:
        """Forget everything in a forked child; the files are closed by their owner."""
        self.holder = None
        self._file = None
        self._is_locked = False

    async def _lock(self, deadline: float) -> bool:
        if self._is_locked:
            if self.is_valid():
                return True
            self._drop()
        now = asyncio.get_running_loop().time()
        if (not self._is_standing_back or now >= deadline) and self._lock_now():
            return True
        if now >= deadline:
            return False
        seat = Seat(self._files, f"{self.name}.w")
        try:
            return await self._poll(seat, deadline)
        finally:
            seat.leave()

    async def _poll(self, seat: Seat, deadline: float) -> bool:
        loop = asyncio.get_running_loop()
        now = loop.time()
        fast_until = now + _FAST_POLLING_SECONDS
        while not self._files.is_closed:
            is_first = seat.is_first()
            if (is_first or now >= deadline) and self._lock_now():
                return True
            if now >= deadline:
                return False
            pause = _FIRST_POLL_SECONDS if is_first and now < fast_until else _POLL_SECONDS
            await asyncio.sleep(min(pause, deadline - now))
            now = loop.time()
        return False

    def _lock_now(self) -> bool:
        for _ in range(_REOPENINGS):
            if self._file is None:
                self._file = self._files.take(self.name)
            try:
                if not lock_descriptor(self._file.descriptor, blocking=False):
                    return False
            except OSError as exc:
                self._drop()
                raise AccessDeniedError(f"locks/{self.name}", exc.strerror or "it cannot be locked") from exc
            # Only now, not before: the file may be deleted, and another made and locked, until the lock is ours.
            if self._files.is_named(self._file):
                self._begin()
                return True
            self._drop()
        return False

    def _begin(self) -> None:
        self._is_locked = True
        self._is_standing_back = False
        now = time.monotonic()
        if now - self._free_since > _INTERRUPTION_SECONDS:
            self._tenure_since = now

    def _end_long_tenure(self) -> None:
        now = time.monotonic()
        if now - self._tenure_since < _TENURE_SECONDS:
            return
        self._tenure_since = now
        # Fairness is worth no failure: leaving must succeed whatever has become of the waiting room.
        with contextlib.suppress(OSError):
            if is_somebody_waiting(self._files, f"{self.name}.w"):
                self._unlock()
                self._is_standing_back = True

    def _unlock(self) -> None:
        self._is_locked = False
        self._free_since = time.monotonic()
        try:
            if self._file is not None:
                unlock_descriptor(self._file.descriptor)
        except OSError:
            self._drop()

    def _drop(self) -> None:
        self._is_locked = False
        if self._file is not None:
            self._files.discard(self._file)
            self._file = None


def lock_file_name(number: int) -> str:
    """Return the name of the lock file of a stripe."""
    return f"{number:04d}"
