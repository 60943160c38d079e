"""The half of a lock inside one process: tasks take turns, strictly first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


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
