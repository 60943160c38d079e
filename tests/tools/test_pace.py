"""How often progress is told: ten times a second and a hundred and one times a call, whatever the work reports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from filetools.tools.call_log import MOST_A_CALL, MOST_A_SECOND, Pace
from tests.support.clocks import Clock


def told(seconds: float, step: float) -> list[float]:
    """Return the moments at which a report is told, of work that reports every `step` seconds."""
    clock = Clock()
    pace = Pace(clock)

    def moments() -> Iterator[float]:
        for count in range(round(seconds / step)):
            clock.now = 100 + count * step
            if pace.allows((count, None, None), is_last=False):
                yield clock.now

    found = list(moments())
    if pace.allows((-1, None, None), is_last=True):
        found.append(clock.now)
    return found


@pytest.mark.parametrize(("seconds", "step"), [(0.5, 0.0005), (5, 0.001), (30, 0.002), (600, 0.05), (30, 0.09)])
def test_never_more_than_ten_a_second_and_a_hundred_and_one_a_call(seconds: float, step: float) -> None:
    moments = told(seconds, step)
    assert len(moments) <= MOST_A_CALL
    for first in moments:
        assert sum(first <= moment < first + 1 for moment in moments) <= MOST_A_SECOND
    assert moments[-1] == pytest.approx(100 + seconds, abs=step * 2)  # the last one has its place


def test_a_long_call_is_told_of_to_its_end() -> None:
    moments = told(30, 0.01)
    assert max(later - sooner for sooner, later in pairwise(moments)) < 3
