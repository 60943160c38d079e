"""Event loops for tests: one whose time costs nothing, one that does something at a chosen step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its clock jumps to the next timer whenever there is nothing else to do."""

    _scheduled: list[asyncio.TimerHandle]
    _ready: Any

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        # A timer that was cancelled may still be the first; asyncio would wait for the one behind it.
        waiting = [timer.when() for timer in self._scheduled if not timer.cancelled()]
        if not self._ready and waiting:
            self._now = max(self._now, min(waiting))
        super()._run_once()  # type: ignore[misc]


class SteppingLoop(VirtualTimeLoop):
    """Calls a function before its step of a given number."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.chosen = -1
        self.at_chosen: Callable[[], object] = lambda: None

    def arm(self, steps_from_now: int, action: Callable[[], object]) -> None:
        """Call `action` before the step that comes `steps_from_now` after this one."""
        self.chosen = self.steps + steps_from_now
        self.at_chosen = action

    def _run_once(self) -> None:
        if self.steps == self.chosen:
            self.at_chosen()
        self.steps += 1
        super()._run_once()
