"""How often the progress of one call is told."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

MOST_A_SECOND: Final = 10
MOST_A_CALL: Final = 101
UNHURRIED: Final = 30
"""So many are told as quickly as that; then ever more slowly, so that those of a call last for its time limit."""
SLOWER: Final = 1.05


class Pace:
    """Decides of each report of one call whether it is told; lives as long as the call.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: deque[float] = deque(maxlen=MOST_A_SECOND)
        self._count = 0
        self._newest: object = None

    def allows(self, report: object, *, is_last: bool) -> bool:
        """Whether to tell a report; the last one, which says that all is done, has a place kept for it."""
        now = self._clock()
        if report == self._newest or not self._has_place(now, kept=0 if is_last else 1):
            return False
        self._told.append(now)
        self._count += 1
        self._newest = report
        return True

    def _has_place(self, now: float, *, kept: int) -> bool:
        if self._count >= MOST_A_CALL - kept:
            return False
        if (
            kept
            and self._count > UNHURRIED
            and now - self._told[-1] < SLOWER ** (self._count - UNHURRIED) / MOST_A_SECOND
        ):
            return False
        return sum(now - moment < 1 for moment in self._told) < MOST_A_SECOND - kept
