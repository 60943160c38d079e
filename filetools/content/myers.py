"""What two sequences have in common: Myers' greedy search between trimmed ends, at a bounded cost.

Source: E. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986); the anchors that take over
where the search grows too dear are those of B. Cohen's patience diff.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from math import isqrt
from typing import Final

Ids = Sequence[int]

# A slice of this many elements is compared in the time of a few single ones.
_STRIDE: Final = 128
_MAX_ROUNDS: Final = 4
_MAX_DEPTH: Final = 6
_COST_PER_ELEMENT: Final = 8


def kept_elements(old: Ids, new: Ids, max_cost: int) -> tuple[bytearray, bytearray]:
    """Return for each element of both sequences 1 if it is kept, else 0; the n-th kept ones belong together.

    As many elements are kept as there can be, unless that would cost more than `max_cost`: then elements that are
    unique on both sides hold the parts in place, and a part that is still too dear counts as changed as a whole.

    Args:
        old: Elements as small integers, equal for equal elements.
        new: The same for the other sequence.
        max_cost: Comparisons and steps of the search; memory is bounded by four bytes for each.
    """
    search = _EditSearch(old, new)
    search.align(range(len(old)), range(len(new)), max_cost, 0)
    return search.kept_old, search.kept_new


def common_prefix(old: Sequence[object], new: Sequence[object]) -> int:
    """Return how many elements two sequences of one type have in common from their start."""
    size = min(len(old), len(new))
    place = 0
    while place < size and old[place : place + _STRIDE] == new[place : place + _STRIDE]:
        place += _STRIDE
    place = min(place, size)
    while place < size and old[place] == new[place]:
        place += 1
    return place


def common_suffix(old: Sequence[object], new: Sequence[object], head: int) -> int:
    """Return how many elements two sequences of one type have in common at their end, behind the first `head` elements."""
    most = min(len(old), len(new)) - head
    end_old, end_new = len(old), len(new)
    size = 0
    while size + _STRIDE <= most and (
        old[end_old - size - _STRIDE : end_old - size] == new[end_new - size - _STRIDE : end_new - size]
    ):
        size += _STRIDE
    while size < most and old[end_old - size - 1] == new[end_new - size - 1]:
        size += 1
    return size


class _EditSearch:
    """One search; lives for one call."""

    def __init__(self, old: Ids, new: Ids) -> None:
        self._old, self._new = old, new
        self.kept_old, self.kept_new = bytearray(len(old)), bytearray(len(new))

    def align(self, at_old: Sequence[int], at_new: Sequence[int], max_cost: int, depth: int) -> None:
        """Find what the elements at some positions have in common."""
        for _ in range(_MAX_ROUNDS):
            at_old, at_new = self._trim(at_old, at_new)
            sizes = len(at_old), len(at_new)
            at_old, at_new = self._shared(at_old, at_new)
            if (len(at_old), len(at_new)) == sizes:
                break
        if not at_old or not at_new:
            return
        old, new = [self._old[i] for i in at_old], [self._new[j] for j in at_new]
        pairs = cheapest_pairs(old, new, max_cost)
        if pairs is not None:
            for x, y in pairs:
                self._keep(at_old[x], at_new[y])
        elif depth < _MAX_DEPTH:
            self._align_between_anchors(at_old, at_new, max_cost, depth)

    def _align_between_anchors(self, at_old: Sequence[int], at_new: Sequence[int], max_cost: int, depth: int) -> None:
        anchors = _anchors([self._old[i] for i in at_old], [self._new[j] for j in at_new])
        if not anchors:
            return
        whole = len(at_old) + len(at_new)
        x = y = 0
        for next_x, next_y in [*anchors, (len(at_old), len(at_new))]:
            size = next_x - x + next_y - y
            # Halved at each depth, so that all parts together cost at most twice the whole.
            share = max(max_cost * size // whole // 2, _COST_PER_ELEMENT * size)
            self.align(at_old[x:next_x], at_new[y:next_y], share, depth + 1)
            if next_x < len(at_old):
                self._keep(at_old[next_x], at_new[next_y])
            x, y = next_x + 1, next_y + 1

    def _keep(self, i: int, j: int) -> None:
        self.kept_old[i] = self.kept_new[j] = 1

    def _trim(self, at_old: Sequence[int], at_new: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        old, new = _taken(self._old, at_old), _taken(self._new, at_new)
        head = common_prefix(old, new)
        tail = common_suffix(old, new, head)
        _mark(self.kept_old, at_old, head, tail)
        _mark(self.kept_new, at_new, head, tail)
        return at_old[head : len(at_old) - tail], at_new[head : len(at_new) - tail]

    def _shared(self, at_old: Sequence[int], at_new: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        # What the other side lacks is changed in every case; without it the search has far fewer steps to take.
        shared = {self._old[i] for i in at_old} & {self._new[j] for j in at_new}
        return [i for i in at_old if self._old[i] in shared], [j for j in at_new if self._new[j] in shared]


def _taken(elements: Ids, at: Sequence[int]) -> Ids:
    return elements[at.start : at.stop] if isinstance(at, range) else [elements[i] for i in at]


def _mark(kept: bytearray, at: Sequence[int], head: int, tail: int) -> None:
    if isinstance(at, range):
        kept[at.start : at.start + head] = b"\1" * head
        kept[at.stop - tail : at.stop] = b"\1" * tail
        return
    for i in (*at[:head], *at[len(at) - tail :]):
        kept[i] = 1


def cheapest_pairs(old: list[int], new: list[int], max_cost: int) -> list[tuple[int, int]] | None:
    """Return the positions that belong together, from the last pair to the first; None if that costs too much."""
    trail = search_trail(old, new, max_cost)
    if trail is None:
        return None
    pairs: list[tuple[int, int]] = []
    x, y = len(old), len(new)
    for d in range(len(trail), 0, -1):
        reached, k = trail[d - 1], x - y
        # `reached` holds the diagonals 1 - d, 3 - d … d - 1.
        below, above = (k + d) // 2, (k + d - 2) // 2
        is_insertion = k == -d or (k != d and reached[above] < reached[below])
        from_x = reached[below] if is_insertion else reached[above] + 1
        while x > from_x:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = (x, y - 1) if is_insertion else (x - 1, y)
    while x > 0:
        x, y = x - 1, y - 1
        pairs.append((x, y))
    return pairs


def search_trail(old: list[int], new: list[int], max_cost: int) -> list[array[int]] | None:
    """Return how far each diagonal was reached with 0, 1, 2 … changes, as long as the end was not reached.

    The diagonals of `d` changes are -d, 2 - d … d. Minus one stands for one that was not reached; a place beyond the
    end for one that was left behind it. None if it costs too much.
    """
    n, m = len(old), len(new)
    most = min(n + m, isqrt(2 * max_cost) + 1)
    middle = most + 1
    # Minus one: not reached, and worse than any place that was.
    best = [-1] * (2 * most + 3)
    best[middle + 1] = 0
    trail: list[array[int]] = []
    low = high = cost = 0
    for d in range(most + 1):
        for k in range(2 * low - d, d + 1 - 2 * high, 2):
            at = middle + k
            is_insertion = k == -d or (k != d and best[at - 1] < best[at + 1])
            x = best[at + 1] if is_insertion else best[at - 1] + 1
            start, y = x, x - k
            while x < n and y < m and old[x] == new[y]:
                x, y = x + 1, y + 1
                while x - start > _STRIDE and old[x : x + _STRIDE] == new[y : y + _STRIDE] and x < n and y < m:
                    step = min(_STRIDE, n - x, m - y)
                    x, y = x + step, y + step
            best[at] = x
            cost += 1 + ((x - start) >> 3)
            if cost > max_cost:
                return None
            if x > n:
                high += 1
            elif y > m:
                low += 1
            elif x == n and y == m:
                return trail
        trail.append(array("i", best[middle - d : middle + d + 1 : 2]))
    return None


def _anchors(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """Return the longest rising sequence of pairs of elements that are unique on both sides."""
    place_in_new = _unique_places(new)
    pairs = [
        (place, place_in_new[element]) for element, place in _unique_places(old).items() if element in place_in_new
    ]
    ends: list[int] = []
    holders: list[int] = []
    before: list[int] = []
    for number, (_, y) in enumerate(pairs):
        slot = bisect_left(ends, y)
        before.append(holders[slot - 1] if slot else -1)
        ends[slot : slot + 1] = [y]
        holders[slot : slot + 1] = [number]
    found: list[tuple[int, int]] = []
    number = holders[-1] if holders else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _unique_places(elements: list[int]) -> dict[int, int]:
    places: dict[int, int] = {}
    repeated: set[int] = set()
    for place, element in enumerate(elements):
        if element in places:
            repeated.add(element)
        places[element] = place
    # In rising order, because a unique element is entered once.
    return {element: place for element, place in places.items() if element not in repeated}
