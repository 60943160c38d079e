"""How many steps something takes, for tests of what must be cheap."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class _Count:
    def __init__(self) -> None:
        self.steps = 0

    def note(self, _frame: FrameType, event: str, _what: Any) -> None:
        self.steps += event in ("call", "c_call")


def steps_of(work: Callable[[], object]) -> int:
    """Return how many functions a piece of work calls, those of C included, when it is done for the second time."""
    work()  # what is imported, compiled or cached at first is none of its steps
    with _counted() as count:
        work()
    return count.steps


def steps_in_all_threads(work: Callable[[], Awaitable[object]]) -> int:
    """Return how many functions work calls on a loop of its own, with those of the threads that it starts."""
    with _counted() as count:
        threading.setprofile(count.note)
        try:
            asyncio.run(_awaited(work))
        finally:
            threading.setprofile(None)
    return count.steps


@contextmanager
def _counted() -> Iterator[_Count]:
    count = _Count()
    # What collects garbage, and whoever is told of that, would be counted wherever it happens to be due.
    was_collecting = gc.isenabled()
    gc.disable()
    sys.setprofile(count.note)
    try:
        yield count
    finally:
        sys.setprofile(None)
        if was_collecting:
            gc.enable()


async def _awaited(work: Callable[[], Awaitable[object]]) -> None:
    await work()
