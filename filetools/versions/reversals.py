"""Which moves of the past still count for names: an undo may have taken one back with a move, or by writing two files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Literal

from filetools.models.records import ChangeRecord

Passing = Literal["stands", "reversed", "none"]
"""Of a move: it counts; it does not, nor does a later move that reversed it; or it does not, and none has reversed it."""


class Reversals:
    """Chains of undos and redos above moves. Lives for one plan; is asked about the newest move first.

    Args:
        undoers: For each record, those that take it back; of these, too.
        taken: Records that are about to be taken back, as if they had never been.
    """

    def __init__(self, undoers: Mapping[int, Sequence[int]], taken: Set[int]) -> None:
        self._undoers = {each: [one for one in several if one not in taken] for each, several in undoers.items()}
        self._passed: dict[int, ChangeRecord] = {}

    def passing(self, move: ChangeRecord) -> tuple[Passing, ChangeRecord | None]:
        """Return how to pass a move by, and the later move that has reversed it."""
        chain = list(self._chain(move.number))
        back = [self._passed[number] for number, depth in chain if depth % 2 and self._leads(number, move.old_path)]
        forth = [number for number, depth in chain if depth % 2 == 0 and self._leads(number, move.path)]
        if not self._is_effective(move.number):
            return ("reversed", self._passed.pop(back[0].number)) if len(back) > len(forth) else ("none", None)
        if len(forth) > len(back):
            return "none", None  # it was made again, by a move that counts already
        self._passed[move.number] = move
        return "stands", None

    def _leads(self, number: int, path: str | None) -> bool:
        return number in self._passed and self._passed[number].path == path

    def _is_effective(self, number: int) -> bool:
        return not any(map(self._is_effective, self._undoers.get(number, ())))

    def _chain(self, number: int, depth: int = 1) -> Iterator[tuple[int, int]]:
        for one in self._undoers.get(number, ()):
            yield one, depth
            yield from self._chain(one, depth + 1)


def all_undoers(
    undoers: Callable[[Iterable[int]], dict[int, list[int]]], numbers: Iterable[int]
) -> dict[int, list[int]]:
    """Return for records, and for those that take them back, and so on, which records take each back."""
    found: dict[int, list[int]] = {}
    wanted = set(numbers)
    while wanted:
        newer = undoers(wanted)
        found |= newer
        wanted = {number for several in newer.values() for number in several} - found.keys()
    return found
