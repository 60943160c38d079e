"""The order in which changes of a tree are told: by number within a process, with those of other processes in between."""

from __future__ import annotations

from collections import deque
from typing import Final, Literal

from filetools.editors.tree_nodes import is_within

KEPT_ARRIVALS: Final = 1000

Verdict = Literal["next", "known", "crossed"]


class Arrivals:
    """Judges whether a change that is told may still be applied. Lives as long as the tree that it is asked for.

    A process hears of its own changes at once and of those of others a moment later, so numbers do not only grow. A
    late change does no harm unless a newer one at the same place, above or below was applied before it.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[int, tuple[str, ...]]] = deque(maxlen=KEPT_ARRIVALS)
        self._newest = 0

    def judge(self, number: int | None, paths: tuple[str, ...]) -> Verdict:
        """Return what a change is: the next one, one that was told before, or one that came too late.

        Args:
            number: Its number in the journal; None for what the journal does not keep.
            paths: Where it happened.
        """
        if number is None:
            return "next"
        verdict: Verdict = "next" if number > self._newest else self._judge_late(number, paths)
        if verdict != "known":
            self._kept.append((number, paths))
        self._newest = max(self._newest, number)
        return verdict

    def places(self, number: int, paths: tuple[str, ...]) -> set[str]:
        """Return the paths of a change that came too late, and where newer ones may have moved what it is about."""
        found = set(paths)
        for one, others in sorted(self._kept):
            if one > number and _touch(tuple(found), others):
                found.update(others)
        return found

    def _judge_late(self, number: int, paths: tuple[str, ...]) -> Verdict:
        if any(number == one for one, _ in self._kept):
            return "known"
        if len(self._kept) == KEPT_ARRIVALS and number < min(one for one, _ in self._kept):
            return "crossed"
        newer = (others for one, others in self._kept if one > number)
        return "crossed" if any(_touch(paths, others) for others in newer) else "next"


def _touch(paths: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(is_within(one, other) or is_within(other, one) for one in paths for other in others)
