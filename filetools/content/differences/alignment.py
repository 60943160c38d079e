"""Aligns two sequences: the latest alignment, and the parts on which all equally good alignments agree."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Final

from msgspec import Struct

from filetools.content.differences.myers import Ids, common_prefix, common_suffix, kept_elements, search_trail

_STEPS_PER_ELEMENT: Final = 16


def settle(elements: Ids, kept: bytearray, other_kept: bytearray) -> None:
    """Slide every group of changed elements down as far as possible, or to the last change of the other side it meets.

    A group whose first element equals the one after its end can slide down by one. Groups that meet are merged. The number
    of kept elements does not change, so the two sides still correspond.

    Args:
        elements: The elements of one side.
        kept: 1 for each of them that is kept; changed in place.
        other_kept: 1 for each element of the other side that is kept.
    """
    slider = _Slider(elements, kept, _changes_before(other_kept))
    end, at = 0, kept.find(0)
    while at >= 0 and slider.steps_left > 0:
        end = slider.settle_group(at, slider.kept_before + at - end)
        at = kept.find(0, end)


def _changes_before(kept: bytearray) -> bytes:
    """Return 1 for each kept element, and for the end, if changed elements precede it, else 0."""
    first, *runs = kept.split(b"\0")
    is_changed_at_end = bool(runs) and not runs[-1]
    parts = [bytes(len(first)), *(b"\1" + bytes(len(run) - 1) for run in runs if run), bytes([is_changed_at_end])]
    return b"".join(parts)


class _Slider:
    """Slides the groups of one side, from first to last, for one call."""

    def __init__(self, elements: Ids, kept: bytearray, changes_before: bytes) -> None:
        self._elements, self._kept, self._changes_before = elements, kept, changes_before
        self._start = self._end = 0
        self.kept_before = 0
        # Merged groups are slid again; the limit bounds the work on long repetitions.
        self.steps_left = _STEPS_PER_ELEMENT * len(kept) + 1

    def settle_group(self, start: int, kept_before: int) -> int:
        """Settle the group that begins at `start`, and return its end."""
        self._start, self.kept_before = start, kept_before
        self._end = self._end_of_group(start)
        size = 0
        meeting = -1
        while size != self._end - self._start and self.steps_left > 0:
            size = self._end - self._start
            self._slide_up()
            meeting = self._slide_down()
        if meeting >= 0:
            self._move_up(self._end - meeting)
        return self._end

    def _slide_up(self) -> None:
        elements, kept = self._elements, self._kept
        start, end = self._start, self._end
        first = end
        while start > 0 and elements[start - 1] == elements[end - 1] and self.steps_left > 0:
            start, end = start - 1, end - 1
            kept[start], kept[end] = 0, 1
            self.steps_left -= 1
            while start > 0 and not kept[start - 1]:
                start -= 1
        self._start, self._end = start, end
        self.kept_before -= first - end

    def _slide_down(self) -> int:
        """Slide to the lowest position; return the group's end where it last met a change of the other side, or -1."""
        elements, kept, size = self._elements, self._kept, len(self._elements)
        start, end, before = self._start, self._end, self.kept_before
        meeting = end if self._changes_before[before] else -1
        while end < size and elements[start] == elements[end] and self.steps_left > 0:
            kept[start], kept[end] = 1, 0
            start, end, before = start + 1, end + 1, before + 1
            self.steps_left -= 1
            if end < size and not kept[end]:
                end = self._end_of_group(end)
                # The group grew; the larger one may not fit where the smaller one met a change.
                meeting = -1
            if self._changes_before[before]:
                meeting = end
        self._start, self._end, self.kept_before = start, end, before
        return meeting

    def _move_up(self, steps: int) -> None:
        """Undo the last steps down, during which the group did not grow."""
        self._kept[self._start : self._end] = b"\1" * (self._end - self._start)
        self._start, self._end = self._start - steps, self._end - steps
        self._kept[self._start : self._end] = bytes(self._end - self._start)
        self.kept_before -= steps

    def _end_of_group(self, at: int) -> int:
        end = self._kept.find(1, at)
        return len(self._kept) if end < 0 else end


Span = tuple[int, int, int, int]
"""Old start and end, new start and end of one change, from 0, ends excluded."""

MAX_COST: Final = 400_000
"""Maximum number of steps of one search, about a third of a second."""


class Alignment(Struct, frozen=True, kw_only=True):
    """All differences of two sequences."""

    late: list[Span]
    """The changes; an ambiguous change is at its last possible position."""
    certain: list[Span]
    """Spans that cover all possible positions of the changes: every minimal alignment keeps the elements between them. Equal
    to `late` if every change replaces as many elements as it adds."""
    others: tuple[list[Span], ...] = ()
    """The two extreme minimal alignments, if they differ from these."""


def numbered(*sequences: Sequence[str]) -> list[list[int]]:
    """Replace each element by a number; equal elements have the same number."""
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(element, len(numbers)) for element in sequence] for sequence in sequences]


def differences(old: Sequence[str], new: Sequence[str], *, max_cost: int) -> list[Span]:
    """Return the differences of two sequences, as `late_spans` does for their numbers."""
    head = common_prefix(old, new)
    tail = common_suffix(old, new, head)
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    if removed and added and not set(removed).isdisjoint(added):
        return late_spans(*numbered(old, new), max_cost=max_cost)
    # Nothing between the equal ends is in both. The common prefix is maximal, so this is also the last position.
    return [(head, len(old) - tail, head, len(new) - tail)] if removed or added else []


def late_spans(old: Ids, new: Ids, *, max_cost: int) -> list[Span]:
    """Return the differences of two sequences; an ambiguous change is placed at its last possible position."""
    if old == new:
        return []
    kept_old, kept_new = kept_elements(old, new, max_cost)
    settle(old, kept_old, kept_new)
    settle(new, kept_new, kept_old)
    pairs = zip(compress(range(len(old)), kept_old), compress(range(len(new)), kept_new), strict=True)
    return _between(pairs, len(old), len(new))


def align(old: Ids, new: Ids, *, max_cost: int) -> Alignment:
    """Return the differences of two sequences, including the ambiguity caused by repetitions."""
    late = late_spans(old, new, max_cost=max_cost)
    removed = {element for start, end, *_ in late for element in old[start:end]}
    added = {element for *_, start, end in late for element in new[start:end]}
    # Replaced line by line: ignore that repetitions would also allow a removal here and an addition there.
    is_replaced = all(span[1] - span[0] == span[3] - span[2] for span in late)
    # If neither side contains what the other changed, the alignment is unique.
    is_sole = is_replaced or (removed.isdisjoint(new) and added.isdisjoint(old))
    extremes = None if is_sole else _extreme_alignments(old, new, max_cost)
    if extremes is None:
        return Alignment(late=late, certain=late)
    others = tuple(_between(pairs, len(old), len(new)) for pairs in extremes)
    other = {*extremes[1]}
    certain = _between([pair for pair in extremes[0] if pair in other], len(old), len(new))
    return Alignment(late=late, certain=late if certain == late else certain, others=others)


Pairs = list[tuple[int, int]]
"""Positions of corresponding elements in the old and the new sequence, ascending."""


def _extreme_alignments(old: Ids, new: Ids, max_cost: int) -> tuple[Pairs, Pairs] | None:
    """Return the kept pairs if insertions come first, and if deletions come first; None if the search costs too much."""
    shared = set(old) & set(new)
    # Elements missing from one side cannot be matched, so they do not affect the result.
    at_old = [i for i, element in enumerate(old) if element in shared]
    at_new = [j for j, element in enumerate(new) if element in shared]
    first, second = [old[i] for i in at_old], [new[j] for j in at_new]
    trail = search_trail(first[::-1], second[::-1], max_cost)
    if trail is None:
        return None
    extremes = (_extreme_pairs(first, second, trail, inserts_first=inserts_first) for inserts_first in (True, False))
    one, other = ([(at_old[x], at_new[y]) for x, y in pairs] for pairs in extremes)
    return one, other


def _extreme_pairs(old: list[int], new: list[int], trail: list[array[int]], *, inserts_first: bool) -> Pairs:
    least = _least_place(len(old), len(new), trail)
    pairs: Pairs = []
    x = y = 0
    for left in range(len(trail) - 1, -1, -1):
        # The points from which an insertion or a deletion reaches the end with the remaining changes.
        insert_at, delete_at = least(left, x - y - 1), least(left, x - y + 1) - 1
        turn = insert_at if inserts_first else delete_at
        while x < turn and x < len(old) and y < len(new) and old[x] == new[y]:
            pairs.append((x, y))
            x, y = x + 1, y + 1
        is_possible = x >= turn and (y < len(new) if inserts_first else x < len(old))
        if inserts_first == is_possible:
            y += 1
        else:
            x += 1
    pairs += zip(range(x, len(old)), range(y, len(new)), strict=True)
    return pairs


def _least_place(n: int, m: int, trail: list[array[int]]) -> Callable[[int, int], int]:
    """Return a function of remaining changes and diagonal that gives the least `x` from which they reach the end."""
    unreachable = n + 2

    def least(left: int, k: int) -> int:
        mirrored = n - m - k
        if abs(mirrored) > left:
            return unreachable
        reached = trail[left][(mirrored + left) // 2]
        return n - reached if reached >= 0 else unreachable

    return least


def _between(pairs: Iterable[tuple[int, int]], old_size: int, new_size: int) -> list[Span]:
    """Return the spans between pairs."""
    spans: list[Span] = []
    i = j = 0
    for x, y in [*pairs, (old_size, new_size)]:
        if x > i or y > j:
            spans.append((i, x, j, y))
        i, j = x + 1, y + 1
    return spans
