"""An event loop for tests whose time costs nothing."""

from __future__ import annotations

import asyncio
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
