"""The counter of an agent's loop: how many steps it has taken, and when it must stop."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from filetools.errors import AbortedError

MAX_STEPS: Final = 10
MAX_FAILURES_IN_A_ROW: Final = 3

StopReason = Literal["limit", "failures", "ended"]


class StepCounter:
    """Counts the steps of one loop, which asks it before each; belongs to the loop's event loop.

    Args:
        limit: Most steps.
        max_failures: So many failures in a row stop the loop.
    """

    def __init__(self, limit: int = MAX_STEPS, max_failures: int = MAX_FAILURES_IN_A_ROW) -> None:
        self._limit = limit
        self._max_failures = max_failures
        self._steps = 0
        self._failures = 0
        self._is_ended = False
        self._going = asyncio.Event()
        self._going.set()

    @property
    def label(self) -> str:
        """The step under way, such as "Step 3/10"."""
        return f"Step {self._steps}/{self._limit}"

    @property
    def is_paused(self) -> bool:
        """Whether the next step waits for `resume`."""
        return not self._going.is_set()

    @property
    def stop_reason(self) -> StopReason | None:
        """Why no further step may begin; None if one may."""
        if self._is_ended:
            return "ended"
        if self._failures >= self._max_failures:
            return "failures"
        return "limit" if self._steps >= self._limit else None

    async def begin_step(self) -> str:
        """Begin the next step, waiting while the loop is paused, and return its label.

        Raises:
            AbortedError: The loop has ended, reached its limit, or failed too often in a row; `details` says which.
        """
        if self.stop_reason is None:
            await self._going.wait()
        if reason := self.stop_reason:
            raise AbortedError("The loop", {"reason": reason, "steps": self._steps, "limit": self._limit})
        self._steps += 1
        return self.label

    def note(self, success: bool) -> None:
        """Keep how a step ended; a success takes the failures before it back."""
        self._failures = 0 if success else self._failures + 1

    def pause(self) -> None:
        """Let the next step wait; the one under way goes on."""
        if not self._is_ended:
            self._going.clear()

    def resume(self) -> None:
        """Let a paused loop go on."""
        self._going.set()

    def end(self) -> None:
        """Let no further step begin, paused or not."""
        self._is_ended = True
        self._going.set()
