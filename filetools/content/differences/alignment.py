"""How two sequences are aligned: as late as possible, and what is certain because every way to keep as much agrees."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from filetools.content.differences.myers import Ids, common_prefix, common_suffix, kept_elements, search_trail

_STEPS_PER_ELEMENT: Final = 16


def settle(elements: Ids, kept: bytearray, other_kept: bytearray) -> None:
    """Slide every group of changed elements down as far as it goes, or to a change of the other side that it meets.

    A group whose first element equals the one below its end may as well lie one further down. Groups that meet become
    one. The number of kept elements stays, so the two sides still belong together.

    Args:
        elements: The elements of one side.
        kept: Which of them are kept; changed in place.
        other_kept: Which elements of the other side are kept.
    """
    slider = _Slider(elements, kept, _changes_before(other_kept))
    end, at = 0, kept.find(0)
    while at >= 0 and slider.steps_left > 0:
        end = slider.settle_group(at, slider.kept_before + at - end)
        at = kept.find(0, end)


def _changes_before(kept: bytearray) -> bytes:
    """Return for each kept element, and the end, 1 if changed elements lie between it and the kept one before."""
    first, *runs = kept.split(b"\0")
    is_changed_at_end = bool(runs) and not runs[-1]
    parts = [bytes(len(first)), *(b"\1" + bytes(len(run) - 1) for run in runs if run), bytes([is_changed_at_end])]
    return b"".join(parts)


class _Slider:
    """Slides the groups of one side, from the first to the last; lives for one call."""

    def __init__(self, elements: Ids, kept: bytearray, changes_before: bytes) -> None:
        self._elements, self._kept, self._changes_before = elements, kept, changes_before
        self._start = self._end = 0
        self.kept_before = 0
        # Merging groups are slid again; a limit keeps a long repetition from being walked without end.
        self.steps_left = _STEPS_PER_ELEMENT * len(kept) + 1

    def settle_group(self, start: int, kept_before: int) -> int:
        """Settle the group that begins at `start` and return where it ends."""
        self._start, self.kept_before = start, kept_before
        self._end = self._end_of_group(start)
        size = 0
        met = -1
        while size != self._end - self._start and self.steps_left > 0:
            size = self._end - self._start
            self._slide_up()
            met = self._slide_down()
        if met >= 0:
            self._move_up(self._end - met)
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
        """Slide to the lowest place; return the end of the group where it last met a change of the other side."""
        elements, kept, size = self._elements, self._kept, len(self._elements)
        start, end, before = self._start, self._end, self.kept_before
        met = end if self._changes_before[before] else -1
        while end < size and elements[start] == elements[end] and self.steps_left > 0:
            kept[start], kept[end] = 1, 0
            start, end, before = start + 1, end + 1, before + 1
            self.steps_left -= 1
            if end < size and not kept[end]:
                end = self._end_of_group(end)
                # The group grew, and a larger one need not fit where the smaller met a change.
                met = -1
            if self._changes_before[before]:
                met = end
        self._start, self._end, self.kept_before = start, end, before
        return met

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
"""Old start and end, new start and end of one changed place, from 0, ends excluded."""

MAX_COST: Final = 400_000
"""Steps of one search, about a third of a second."""


class Alignment(Struct, frozen=True, kw_only=True):
    """Every place where two sequences differ. Lives for one merge."""

    late: list[Span]
    """Changes that may lie in several places lie in the last one."""
    certain: list[Span]
    """They cover all places, so that only elements which every cheapest way keeps alike lie between them; where every
    change replaces as many elements as it brings, they are these changes."""
    others: tuple[list[Span], ...] = ()
    """The outermost ways to keep as much, where they differ from these."""


def numbered(*sequences: Sequence[str]) -> list[list[int]]:
    """Return the sequences with each element replaced by a number, the same for the same element."""
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(element, len(numbers)) for element in sequence] for sequence in sequences]


def differences(old: Sequence[str], new: Sequence[str], *, max_cost: int) -> list[Span]:
    """Return where two sequences differ, as `late_spans` does of their numbers."""
    head = common_prefix(old, new)
    tail = common_suffix(old, new, head)
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    if removed and added and not set(removed).isdisjoint(added):
        return late_spans(*numbered(old, new), max_cost=max_cost)
    # Nothing between the equal ends is in both. As the equal start is as long as can be, the place is the last one, too.
    return [(head, len(old) - tail, head, len(new) - tail)] if removed or added else []


def late_spans(old: Ids, new: Ids, *, max_cost: int) -> list[Span]:
    """Return where two sequences differ; a change that may lie in several places lies in the last one."""
    if old == new:
        return []
    kept_old, kept_new = kept_elements(old, new, max_cost)
    settle(old, kept_old, kept_new)
    settle(new, kept_new, kept_old)
    return list(_spans(kept_old, kept_new))


def align(old: Ids, new: Ids, *, max_cost: int) -> Alignment:
    """Return where two sequences differ, with the doubt that repetitions leave."""
    late = late_spans(old, new, max_cost=max_cost)
    removed = {element for start, end, *_ in late for element in old[start:end]}
    added = {element for *_, start, end in late for element in new[start:end]}
    # Line for line replaced: that repetitions would allow a removal here and an addition there means nothing.
    is_replaced = all(span[1] - span[0] == span[3] - span[2] for span in late)
    # Where neither side has what the other changed, there is one way only to keep the rest.
    is_sole = is_replaced or (removed.isdisjoint(new) and added.isdisjoint(old))
    ways = None if is_sole else _outermost_ways(old, new, max_cost)
    if ways is None:
        return Alignment(late=late, certain=late)
    others = tuple(_between(way, len(old), len(new)) for way in ways)
    other_way = {*ways[1]}
    certain = _between([pair for pair in ways[0] if pair in other_way], len(old), len(new))
    return Alignment(late=late, certain=late if certain == late else certain, others=others)


def _spans(kept_old: bytearray, kept_new: bytearray) -> Iterator[Span]:
    i = j = 0
    change_old = change_new = -1
    while True:
        if change_old < i:
            change_old = _find(kept_old, 0, i)
        if change_new < j:
            change_new = _find(kept_new, 0, j)
        run = min(change_old - i, change_new - j)
        i, j = i + run, j + run
        if i == len(kept_old) and j == len(kept_new):
            return
        end_old, end_new = _find(kept_old, 1, i), _find(kept_new, 1, j)
        yield i, end_old, j, end_new
        i, j = end_old, end_new


def _find(kept: bytearray, value: int, at: int) -> int:
    place = kept.find(value, at)
    return len(kept) if place < 0 else place


Pairs = list[tuple[int, int]]
"""Elements of the old and of the new sequence that belong together, rising."""


def _outermost_ways(old: Ids, new: Ids, max_cost: int) -> tuple[Pairs, Pairs] | None:
    """Return what is kept if insertions come first, and if deletions do; None if that costs too much."""
    shared = set(old) & set(new)
    # What one side lacks is in no pair, so it bends no way.
    at_old = [i for i, element in enumerate(old) if element in shared]
    at_new = [j for j, element in enumerate(new) if element in shared]
    first, second = [old[i] for i in at_old], [new[j] for j in at_new]
    trail = search_trail(first[::-1], second[::-1], max_cost)
    if trail is None:
        return None
    ways = (_way(first, second, trail, inserts_first=inserts_first) for inserts_first in (True, False))
    one, other = ([(at_old[x], at_new[y]) for x, y in way] for way in ways)
    return one, other


def _way(old: list[int], new: list[int], trail: list[array[int]], *, inserts_first: bool) -> Pairs:
    least = _least_place(len(old), len(new), trail)
    pairs: Pairs = []
    x = y = 0
    for left in range(len(trail) - 1, -1, -1):
        # From where on an insertion or a deletion leads to the end with the changes that are left.
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
    """Return the function from changes left and diagonal to the least `x` from which they lead to the end."""
    unreachable = n + 2

    def least(left: int, k: int) -> int:
        mirrored = n - m - k
        if abs(mirrored) > left:
            return unreachable
        reached = trail[left][(mirrored + left) // 2]
        return n - reached if reached >= 0 else unreachable

    return least


def _between(pairs: Pairs, old_size: int, new_size: int) -> list[Span]:
    """Return what lies between pairs."""
    spans: list[Span] = []
    i = j = 0
    for x, y in [*pairs, (old_size, new_size)]:
        if x > i or y > j:
            spans.append((i, x, j, y))
        i, j = x + 1, y + 1
    return spans
