"""Ends a call early: when its caller aborts it, or at its time limit, which pauses while the call waits for others.

Code that waits for people or locks, in any layer, pauses the deadline of the running call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import TracebackType
from typing import Final

from filetools.errors import AbortedError, CallTimeoutError


class Deadline:
    """Ends the block `async with deadline` when its time is up or it is aborted. Use once.

    The work in the block is cancelled, and the block is left only after it has ended, so that nothing is half done. In the
    block, and in tasks that it starts, it is the `current_deadline`.

    Args:
        what: Name of the call, for messages.
        seconds: Time limit of the block, not counting pauses.

    Raises:
        CallTimeoutError: On leaving the block: the time is up.
        AbortedError: On leaving the block: it was aborted.
    """

    def __init__(self, what: str, seconds: float) -> None:
        self._what = what
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + seconds
        self._timeout = asyncio.timeout_at(self._end)
        self._is_aborted = False
        self._pauses = 0
        self._paused_at = 0.0
        self.approval: str | None = None
        """A person's approval given in the block."""

    async def __aenter__(self) -> Deadline:
        await self._timeout.__aenter__()
        self._token = _current.set(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError as exc:
            if self._is_aborted:
                raise AbortedError(self._what) from exc
            raise CallTimeoutError(self._what, self._seconds) from exc

    def pause(self) -> None:
        """Pause the time limit. May be nested. Has no effect outside the block."""
        self._pauses += 1
        if self._pauses == 1:
            self._paused_at = self._loop.time()
            self._reschedule(None)

    def resume(self) -> None:
        """Resume the time limit once every pause is matched."""
        self._pauses -= 1
        if self._pauses == 0:
            self._end += self._loop.time() - self._paused_at
            self._reschedule(self._end)

    def note_approval(self, approval: str) -> None:
        """Record a person's approval."""
        self.approval = approval

    def abort(self) -> None:
        """End the block now, paused or not."""
        self._reschedule(self._loop.time())
        self._is_aborted |= not self.is_over()

    def is_over(self) -> bool:
        """True if the time is up or the block was aborted: its task is cancelled for that."""
        return self._timeout.expired()

    def _reschedule(self, end: float | None) -> None:
        if not self._is_aborted:
            with suppress(
                RuntimeError
            ):  # the block has ended, or its time is up and the cancelled work leaves its pauses
                self._timeout.reschedule(end)


_current: Final[ContextVar[Deadline | None]] = ContextVar("filetools_deadline", default=None)


def current_deadline() -> Deadline | None:
    """Return the deadline of the call that the running task belongs to, or None outside of calls."""
    return _current.get()


@contextmanager
def uncounted() -> Iterator[None]:
    """Do not count time inside the block against the call's limit: put it around waiting for a lock or a person."""
    deadline = _current.get()
    if deadline is None:
        yield
        return
    deadline.pause()
    try:
        yield
    finally:
        deadline.resume()
