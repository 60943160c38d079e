"""Progress and abort signals of callers, joined into the beat that the way of a write asks between files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from filetools.errors import AbortedError
from filetools.facade.way import Beat, no_beat

Abort = Callable[[], bool]
"""True once the caller wants the call to stop, such as `asyncio.Event().is_set`."""
Progress = Callable[[int], None]
"""Called on the event loop with 0 to 100."""


Looked = Callable[[int], None]
"""Called on the event loop with how many files or names have been looked at."""
PAUSE_SECONDS: Final = 0.1


def paced(looked: Looked | None) -> Looked:
    """Return what work in another thread tells each of its steps; `looked` hears of it ten times a second.

    Made on the loop.
    """
    if looked is None:
        return no_look
    loop, tell = asyncio.get_running_loop(), looked
    told = time.monotonic()

    def step(count: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= PAUSE_SECONDS:
            told = now
            loop.call_soon_threadsafe(tell, count)

    return step


def no_look(_count: int) -> None:
    """Nobody wants to know."""


def beat_of(abort: Abort | None, progress: Progress | None) -> Beat:
    """Return the beat that asks `abort` and tells `progress`; made on the loop, called in any thread."""
    if abort is None and progress is None:
        return no_beat
    loop = asyncio.get_running_loop()
    percent, told = 0, -1

    def beat(done: int, total: int) -> None:
        nonlocal percent, told
        percent = max(percent, 100 * done // max(total, 1))  # another try begins anew, for the caller it goes on
        if progress is not None and percent != told:
            told = percent
            loop.call_soon_threadsafe(progress, percent)
        if abort is not None and abort():
            raise AbortedError("The call", {"done": 0, "total": total})

    return beat
