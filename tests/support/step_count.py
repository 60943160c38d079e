"""How many steps something takes, for tests of what must be cheap."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps_of(work: Callable[[], object]) -> int:
    """Return how many functions a piece of work calls, those of C included, when it is done for the second time."""
    work()  # what is imported, compiled or cached at first is none of its steps
    count = 0

    def note(_frame: FrameType, event: str, _what: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    # What collects garbage, and whoever is told of that, would be counted wherever it happens to be due.
    was_collecting = gc.isenabled()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        if was_collecting:
            gc.enable()
    return count
