from __future__ import annotations

import gc
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from filetools.errors import AbortedError
from filetools.search.contents.child import LOOK_SECONDS, MatchingProcess


def children() -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found.update(map(int, task.read_text(encoding="ascii").split()))
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
def test_a_search_that_is_stopped_while_its_process_starts_leaves_none_behind() -> None:
    before, threads = children(), set(threading.enumerate())
    with pytest.raises(AbortedError):
        MatchingProcess("(a+)+$" + "|b" * 200_000, 0, limit_seconds=5, abort=lambda: True)
    gc.collect()
    assert children() <= before
    assert set(threading.enumerate()) <= threads


class TakenAway(MatchingProcess):
    """Its deadline is taken away right after it was looked at, as by the thread that has its answer."""

    _given = 0.0

    @property
    def _deadline(self) -> float:
        given, self._given = self._given, 0.0
        return given

    @_deadline.setter
    def _deadline(self, value: float) -> None:
        self._given = value


def test_an_answer_that_comes_while_the_time_is_looked_at_is_not_late() -> None:
    process = TakenAway("a", 0, limit_seconds=60)
    try:
        process._deadline = time.monotonic() + 60
        while process._given:
            process._closed.wait(0.001)
        process._watch.join(2 * LOOK_SECONDS)
        assert process.find("a", "the text", multiline=False, most=1) == [0, 1]
    finally:
        process.close()
