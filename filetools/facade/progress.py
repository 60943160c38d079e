"""Progress and abort signals of callers, joined into the beat that the way of a write asks between files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from filetools.errors import AbortedError
from filetools.facade.way import Beat, no_beat

Abort = Callable[[], bool]
"""True once the caller wants the call to stop, such as `asyncio.Event().is_set`."""
Progress = Callable[[int], None]
"""Called on the event loop with 0 to 100."""


def beat_of(abort: Abort | None, progress: Progress | None) -> Beat:
    """Return the beat that asks `abort` and tells `progress`; made on the loop, called in any thread."""
    if abort is None and progress is None:
        return no_beat
    loop = asyncio.get_running_loop()
    percent = 0

    def beat(done: int, total: int) -> None:
        nonlocal percent
        percent = max(percent, 100 * done // max(total, 1))  # another try begins anew, for the caller it goes on
        if progress is not None:
            loop.call_soon_threadsafe(progress, percent)
        if abort is not None and abort():
            raise AbortedError("The call", {"done": 0, "total": total})

    return beat
