"""Progress and abort signals of callers, joined into the callback that the pipeline calls between files."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Final

from filetools.errors import AbortedError
from filetools.facade.steps.pipeline import ReportProgress, ignore_progress

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


def progress_reporter(abort: Abort | None, progress: Progress | None) -> ReportProgress:
    """Return a function that reports to `progress` and checks `abort`. Call this on the loop, the result in any thread."""
    if abort is None and progress is None:
        return ignore_progress
    loop, made_in = asyncio.get_running_loop(), threading.get_ident()
    percent, told = 0, -1

    def tell(percent: int) -> None:
        assert progress is not None
        if threading.get_ident() != made_in:
            loop.call_soon_threadsafe(progress, percent)
            return
        try:
            # At once: a call that is done must not wait, for it could be cancelled there, and its last step be told late.
            progress(percent)
        except Exception as exc:  # noqa: BLE001 - the caller's code; the loop treats its other callbacks alike
            loop.call_exception_handler({"message": "A listener of progress failed", "exception": exc})

    def report_progress(done: int, total: int) -> None:
        nonlocal percent, told
        percent = max(percent, 100 * done // max(total, 1))  # another try begins anew, for the caller it goes on
        if progress is not None and percent != told:
            told = percent
            tell(percent)
        if abort is not None and abort():
            raise AbortedError("The call", {"done": 0, "total": total})

    return report_progress
