"""One lock: its turns inside the process, its file between processes, and who has both."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from filetools.errors import InternalError
from filetools.locks.file_half import FileHalf
from filetools.locks.lock_files import LockFiles
from filetools.locks.waiting_room import Seat

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


class Turns:
    """A queue of tasks of one event loop, one of which has the turn. Lives as long as its stripe."""

    __slots__ = ("_is_taken", "_waiters")

    def __init__(self) -> None:
        self._is_taken = False
        self._waiters: deque[asyncio.Future[bool]] = deque()

    def take_now(self) -> bool:
        """Take the turn if nobody has it; whoever has the turn hands it on, so a free turn has no waiters."""
        if self._is_taken:
            return False
        self._is_taken = True
        return True

    async def wait(self, deadline: float, leave: Callable[[], None]) -> bool:
        """Wait for the turn.

        Args:
            deadline: Until when, on the loop's clock.
            leave: Called if the turn was given to a task that was cancelled before it could run: gives it back.

        Returns:
            True with the turn; False if the time was over or `refuse` was called.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters.append(waiter)
        timer = loop.call_at(deadline, _refuse, waiter)
        try:
            is_granted = await waiter
        except BaseException:
            # Also GeneratorExit: whichever way the task ends, a turn it was given must not end with it.
            if waiter.done() and not waiter.cancelled() and waiter.result():
                leave()
            else:
                self._forget(waiter)
            raise
        finally:
            timer.cancel()
        if not is_granted:
            self._forget(waiter)
        return is_granted

    def pass_on(self) -> bool:
        """Give the turn to exactly one task, the first that still waits; False if nobody does and it is free now."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(True)
                return True
        self._is_taken = False
        return False

    def refuse(self) -> None:
        """End the waiting of all tasks without giving them the turn."""
        while self._waiters:
            _refuse(self._waiters.popleft())

    def _forget(self, waiter: asyncio.Future[bool]) -> None:
        # Gone already if the queue was passed on or refused in the same step of the loop.
        if waiter in self._waiters:
            self._waiters.remove(waiter)


def _refuse(waiter: asyncio.Future[bool]) -> None:
    if not waiter.done():
        waiter.set_result(False)


class HeldLocks:
    """The locks of one `hold`. Valid inside its `async with` block only."""

    __slots__ = ("_is_begun", "_is_released", "acquired_at", "keys", "owner", "path", "stripes")

    def __init__(self, keys: Sequence[str], stripes: Sequence[Stripe], *, path: str, owner: str) -> None:
        self.keys = tuple(keys)
        """What was asked for."""
        self.path = path
        self.owner = owner
        self.stripes = stripes
        """What the keys stand for, ascending."""
        self.acquired_at = 0.0
        """Seconds since the epoch when the last of them was taken."""
        self._is_begun = False
        self._is_released = False

    def begin(self) -> None:
        """Note that the locks are about to be taken.

        Raises:
            InternalError: They were taken before.
        """
        if self._is_begun:
            raise InternalError(f"The same hold of {self.path} was entered twice")
        self._is_begun = True

    def release(self) -> None:
        """Give back what was taken, the last first; does nothing a second time, nor in a forked child."""
        if self._is_released:
            return
        self._is_released = True
        for stripe in reversed(self.stripes):
            if stripe.holder is self:
                stripe.leave()
