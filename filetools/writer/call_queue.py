"""The calls of one process that wait for a turn, in order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition
from typing import Final

from filetools.errors import LockTimeoutError, WorkspaceGoneError
from filetools.writer.turn_calls import TurnCall
from filetools.writer.worker_pool import CLOSED

MOST_CALLS: Final = 64
"""Most calls in one turn."""


class CallQueue:
    """Waiting calls. They are added on the workspace's event loop and claimed in the thread that takes turns.

    Args:
        serve: Starts a thread that takes turns until `is_due` returns False.
        describe_holder: Describes the holder of the turn, for error messages.
    """

    def __init__(self, serve: Callable[[], None], describe_holder: Callable[[], str]) -> None:
        self._serve = serve
        self._describe_holder = describe_holder
        self._changed = Condition()
        # Guarded by the condition:
        self._waiting: deque[TurnCall] = deque()
        self._is_served = False
        self._gone: str | None = None

    def __bool__(self) -> bool:
        """True if a call waits."""
        return bool(self._waiting)

    def check_open(self) -> None:
        """Raise WorkspaceGoneError if the workspace was closed."""
        if self._gone is not None:
            raise WorkspaceGoneError(self._gone)

    def close(self) -> None:
        """Refuse waiting calls and new ones."""
        for call in self._refused(CLOSED):
            call.fail(WorkspaceGoneError(CLOSED))
            call.settle()

    def abandon(self, reason: str) -> Sequence[TurnCall]:
        """Refuse new calls in a forked child, and return the waiting ones."""
        self._changed = Condition()  # a thread that does not exist in the child may have held the old one
        return self._refused(reason)

    def _refused(self, reason: str) -> Sequence[TurnCall]:
        with self._changed:
            self._gone = self._gone or reason
            waiting, self._waiting = [*self._waiting], deque()
        return waiting

    # -- on the loop -------------------------------------------------------------------------------------------------

    def add(self, call: TurnCall) -> None:
        """Add a call.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        with self._changed:
            self.check_open()
            self._waiting.append(call)
            self._changed.notify()
            is_served, self._is_served = self._is_served, True
        if not is_served:
            try:
                self._serve()
            except BaseException:
                self._is_served = False
                self.withdraw(call)  # its caller is given the error
                raise

    def withdraw(self, call: TurnCall) -> bool:
        """Remove a waiting call; False if it no longer waits. Callable from any thread."""
        with self._changed:
            if call not in self._waiting:
                return False
            self._waiting.remove(call)
        return True

    def give_up(self, call: TurnCall) -> None:
        """Fail a call with LockTimeoutError, because its time is up; if it is in a turn, it gets no other one."""
        call.expire()
        if self.withdraw(call):
            call.fail(self._timed_out(call))
            call.settle()

    def _timed_out(self, call: TurnCall) -> LockTimeoutError:
        return LockTimeoutError(call.path, call.timeout_seconds, holder=self._describe_holder())

    # -- in the thread that takes turns ------------------------------------------------------------------------------

    def is_due(self) -> bool:
        """Wait until a call is due; False if none waits. Then the thread ends, and the next call starts another."""
        with self._changed:
            while self._waiting:
                pause = min(call.not_before for call in self._waiting) - time.monotonic()
                if pause <= 0:
                    return True
                self._changed.wait(pause)
            self._is_served = False
            return False

    def due(self) -> Sequence[TurnCall]:
        """Return the calls that are due now, at most `MOST_CALLS`."""
        now = time.monotonic()
        with self._changed:
            return [call for call in self._waiting if call.not_before <= now][:MOST_CALLS]

    def claim(self, call: TurnCall) -> bool:
        """Take a call out of the queue to run it; False if it no longer waits."""
        if not self.withdraw(call):
            return False
        call.claimed()
        return True

    def put_back(self, calls: list[TurnCall]) -> None:
        """Put calls back at the front. Late ones, and all once the workspace is closed, fail and leave the list."""
        with self._changed:
            for call in tuple(calls):
                if self._gone is not None or call.is_late:
                    call.fail(self._timed_out(call) if self._gone is None else WorkspaceGoneError(self._gone))
                    calls.remove(call)
            self._waiting.extendleft(reversed(calls))
