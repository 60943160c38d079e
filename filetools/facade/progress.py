"""Combines a caller's progress callback and abort signal into one callback for the pipeline."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Final

from filetools.changes.steps.pipeline import ReportProgress, ignore_progress
from filetools.errors import AbortedError

Abort = Callable[[], bool]
"""Returns True once the caller wants the call to stop, such as `asyncio.Event().is_set`."""
Progress = Callable[[int], None]
"""Called on the event loop with a percentage from 0 to 100."""


Looked = Callable[[int], None]
"""Called on the event loop with the number of files or names examined."""
PAUSE_SECONDS: Final = 0.1


def paced(looked: Looked | None) -> Looked:
    """Return a callback for another thread that passes counts on to `looked`, at most ten times a second.

    Call this on the loop.
    """
    if looked is None:
        return no_look
    loop, report = asyncio.get_running_loop(), looked
    reported = time.monotonic()

    def step(count: int) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= PAUSE_SECONDS:
            reported = now
            loop.call_soon_threadsafe(report, count)

    return step


def no_look(_count: int) -> None:
    """Report nothing."""


def progress_reporter(abort: Abort | None, progress: Progress | None) -> ReportProgress:
    """Return a function that reports to `progress` and checks `abort`. Call this on the loop, the result in any thread."""
    if abort is None and progress is None:
        return ignore_progress
    loop, made_in = asyncio.get_running_loop(), threading.get_ident()
    percent, reported = 0, -1

    def call_progress(percent: int) -> None:
        assert progress is not None
        if threading.get_ident() != made_in:
            loop.call_soon_threadsafe(progress, percent)
            return
        try:
            # Not via the loop: a finished call must not wait for it, because it could be cancelled there.
            progress(percent)
        except Exception as exc:  # noqa: BLE001 - the caller's code; the loop treats its other callbacks alike
            loop.call_exception_handler({"message": "A listener of progress failed", "exception": exc})

    def report_progress(done: int, total: int) -> None:
        nonlocal percent, reported
        percent = max(percent, 100 * done // max(total, 1))  # another try starts again at 0, but must not be shown so
        if progress is not None and percent != reported:
            reported = percent
            call_progress(percent)
        if abort is not None and abort():
            raise AbortedError("The call", {"done": 0, "total": total})

    return report_progress
