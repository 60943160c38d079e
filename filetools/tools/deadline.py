"""How a call ends early: its caller aborts it, or its time limit does, which pauses while the call waits for others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final

from filetools.errors import AbortedError, CallTimeoutError


class AbortSignal:
    """Set once, by the caller of one or more calls; belongs to their loop and lives as long as they run."""

    __slots__ = ("_callbacks", "_is_aborted")

    def __init__(self) -> None:
        self._is_aborted = False
        self._callbacks: list[Callable[[], None]] = []

    def is_aborted(self) -> bool:
        """Whether the calls shall stop; may be asked in any thread."""
        return self._is_aborted

    def abort(self) -> None:
        """Stop the calls that carry this signal, and those that will; may be called twice."""
        if self._is_aborted:
            return
        self._is_aborted = True
        for callback in list(self._callbacks):
            callback()

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Call back when it is set; not at all if it is set already."""
        self._callbacks.append(callback)

    def remove_callback(self, callback: Callable[[], None]) -> None:
        """Take a callback back that was added."""
        self._callbacks.remove(callback)


WARNING_SHARE: Final = 5 / 6


class Deadline:
    """Ends the block `async with deadline` when its time is used up or it is aborted; the `CallWatch` of a call. Used once.

    What the block does is cancelled, and the block waits until it has ended: nothing is left half done behind it.

    Args:
        what: Name of the call, for messages.
        seconds: Time the block may use, pauses not counted.
        on_warning: Called once when five sixths are used.

    Raises:
        CallTimeoutError: Leaving the block: the time is used up.
        AbortedError: Leaving the block: it was aborted.
    """

    def __init__(self, what: str, seconds: float, on_warning: Callable[[], None]) -> None:
        self._what = what
        self._seconds = seconds
        self._left = seconds
        self._on_warning = on_warning
        self._is_warned = False
        self._warning: asyncio.TimerHandle | None = None
        self._timeout = asyncio.timeout(None)
        self._is_running = False
        self._is_aborted = False
        self._pauses = 0
        self._since = 0.0
        self.approval: str | None = None
        """What a person allowed in the block."""

    async def __aenter__(self) -> Deadline:
        self._loop = asyncio.get_running_loop()
        await self._timeout.__aenter__()
        self._is_running = True
        self._count()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_running = False
        self._end_warning()
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError as exc:
            if self._is_aborted:
                raise AbortedError(self._what) from exc
            raise CallTimeoutError(self._what, self._seconds) from exc

    def pause(self) -> None:
        """Stop counting; may be nested. Does nothing outside of the block."""
        self._pauses += 1
        if self._pauses == 1 and self._may_change:
            self._left -= self._loop.time() - self._since
            self._end_warning()
            self._timeout.reschedule(None)

    def resume(self) -> None:
        """Go on counting once every pause has its resume."""
        self._pauses -= 1
        if self._pauses == 0 and self._may_change:
            self._count()

    def note_approval(self, approval: str) -> None:
        """Keep that a person allowed something in the block."""
        self.approval = approval

    def abort(self) -> None:
        """End the block now, paused or not."""
        if self._may_change:
            self._is_aborted = True
            self._timeout.reschedule(self._loop.time())

    def is_over(self) -> bool:
        """Whether the time is used up or the block was aborted."""
        return self._timeout.expired()

    @property
    def _may_change(self) -> bool:
        # Once it has struck, what is cancelled leaves its own pauses behind; they must not set the clock again.
        return self._is_running and not self._is_aborted and not self._timeout.expired()

    def _count(self) -> None:
        self._since = self._loop.time()
        if self._is_warned:
            self._timeout.reschedule(self._since + self._left)
            return
        # The warning sets the alarm of the end: hardly a call comes so far, and each alarm costs.
        before_end = self._seconds * (1 - WARNING_SHARE)
        self._warning = self._loop.call_at(self._since + max(self._left - before_end, 0), self._warn)

    def _warn(self) -> None:
        self._is_warned = True
        self._timeout.reschedule(self._since + self._left)
        self._on_warning()

    def _end_warning(self) -> None:
        if self._warning is not None:
            self._warning.cancel()
