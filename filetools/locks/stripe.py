"""One lock: its turns inside the process, its file between processes, and who has both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from filetools.locks.file_half import FileHalf
from filetools.locks.lock_files import LockFiles
from filetools.locks.turns import Turns
from filetools.locks.waiting_room import Seat

if TYPE_CHECKING:
    from filetools.locks.held import HeldLocks

_FIRST_POLL_SECONDS: Final = 0.001
_POLL_SECONDS: Final = 0.002
_FAST_POLLING_SECONDS: Final = 0.1


class Stripe:
    """The lock of all keys with one number. Lives as long as its table; belongs to the table's event loop."""

    __slots__ = ("_file", "_files", "holder", "name", "since_ns", "turns")

    def __init__(self, name: str, files: LockFiles) -> None:
        self.name = name
        self.turns = Turns()
        self.holder: HeldLocks | None = None
        """Who of this process has both halves."""
        self.since_ns = 0
        """Nanoseconds since the epoch when the holder took them."""
        self._files = files
        self._file = FileHalf(name, files)

    def enter_now(self) -> bool:
        """Take both halves if that needs no waiting and no other process is to go first.

        Raises:
            StateDamagedError, AccessDeniedError, DiskFullError, WorkspaceGoneError: The lock file cannot be used.
        """
        if not self.turns.take_now():
            return False
        try:
            if not self._file.is_standing_back and self._file.lock_now():
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
            False if the time was over or the files were closed.

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
        """Note who has both halves, here and in the lock file."""
        self.holder = holder
        self.since_ns = since_ns
        self._file.write_line(line)

    def leave(self) -> None:
        """Give back the turn: to the next task, mostly with the file still locked, or the file too. Never fails."""
        self.holder = None
        if self._file.is_locked:
            self._file.end_long_tenure()
        if not self.turns.pass_on():
            self._file.release()

    def is_valid(self) -> bool:
        """Whether the lock file is locked and was not deleted."""
        return self._file.is_valid()

    def abandon(self) -> None:
        """Forget who has it, in a forked child."""
        self.holder = None
        self._file.abandon()

    async def _lock(self, deadline: float) -> bool:
        # The turn may have been given just before the table was closed.
        if self._files.is_closed:
            return False
        if self._file.is_valid():
            return True
        # Handed on inside the process, and deleted since.
        if self._file.is_locked:
            self._file.drop()
        now = asyncio.get_running_loop().time()
        if (not self._file.is_standing_back or now >= deadline) and self._file.lock_now():
            return True
        if now >= deadline:
            return False
        seat = self._file.take_seat()
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
            if (is_first or now >= deadline) and self._file.lock_now():
                return True
            if now >= deadline:
                return False
            pause = _FIRST_POLL_SECONDS if is_first and now < fast_until else _POLL_SECONDS
            await asyncio.sleep(min(pause, deadline - now))
            now = loop.time()
        return False


def lock_file_name(number: int) -> str:
    """Return the name of the lock file of a stripe."""
    return f"{number:04d}"
