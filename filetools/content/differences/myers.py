"""Common elements of two sequences: Myers' greedy search between trimmed ends, at a bounded cost.

Source: E. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986). Where the search is too
expensive, the anchors of B. Cohen's patience diff are used.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isqrt
from typing import Final

Ids = Sequence[int]

# A slice of this many elements is compared in the time of a few single ones.
_STRIDE: Final = 128
_MAX_DEPTH: Final = 6
_COST_PER_ELEMENT: Final = 8


def kept_elements(old: Ids, new: Ids, max_cost: int) -> tuple[bytearray, bytearray]:
    """Return for each element of both sequences 1 if it is kept, else 0; the n-th kept elements correspond.

    The number of kept elements is maximal unless that would cost more than `max_cost`. Then elements that are unique on both
    sides divide the sequences, and a part that is still too expensive counts as changed as a whole.

    Args:
        old: Elements as small integers, equal for equal elements.
        new: The same for the other sequence.
        max_cost: Maximum number of comparisons and steps; memory is at most four bytes for each.
    """
    head = common_prefix(old, new)
    tail = common_suffix(old, new, head)
    kept_old, kept_new = (
        bytearray(b"\1" * head + bytes(len(side) - head - tail) + b"\1" * tail) for side in (old, new)
    )
    at_old, at_new = (range(head, len(side) - tail) for side in (old, new))
    for i, j in _pairs(old, new, at_old, at_new, max_cost, 0):
        kept_old[i] = kept_new[j] = 1
    return kept_old, kept_new


def common_prefix(old: Sequence[object], new: Sequence[object]) -> int:
    """Return the length of the common prefix of two sequences of one type."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[low:middle] == new[low:middle] else (low, middle - 1)
    return low


def common_suffix(old: Sequence[object], new: Sequence[object], head: int) -> int:
    """Return the length of the common suffix of two sequences of one type, not counting the first `head` elements."""
    low, high = 0, min(len(old), len(new)) - head
    while low < high:
        middle = (low + high + 1) // 2
        is_same = old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]
        low, high = (middle, high) if is_same else (low, middle - 1)
    return low


def _pairs(
    old: Ids, new: Ids, at_old: Sequence[int], at_new: Sequence[int], max_cost: int, depth: int
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of corresponding positions among the given positions of both sides."""
    first, second = [old[i] for i in at_old], [new[j] for j in at_new]
    head = common_prefix(first, second)
    tail = common_suffix(first, second, head)
    end_old, end_new = len(at_old) - tail, len(at_new) - tail
    yield from zip((*at_old[:head], *at_old[end_old:]), (*at_new[:head], *at_new[end_new:]), strict=True)
    # Elements missing from the other side are changed in any case; removing them saves most steps of the search.
    shared = {*first[head:end_old]} & {*second[head:end_new]}
    at_old = [i for i in at_old[head:end_old] if old[i] in shared]
    at_new = [j for j in at_new[head:end_new] if new[j] in shared]
    if not at_old or not at_new:
        return
    first, second = [old[i] for i in at_old], [new[j] for j in at_new]
    pairs = cheapest_pairs(first, second, max_cost)
    if pairs is not None:
        yield from ((at_old[x], at_new[y]) for x, y in pairs)
    elif depth < _MAX_DEPTH and (anchors := _anchors(first, second)):
        whole = len(at_old) + len(at_new)
        x = y = 0
        for next_x, next_y in [*anchors, (len(at_old), len(at_new))]:
            size = next_x - x + next_y - y
            # Halved at each depth, so that all parts together cost at most twice as much as the whole.
            share = max(max_cost * size // whole // 2, _COST_PER_ELEMENT * size)
            yield from _pairs(old, new, at_old[x:next_x], at_new[y:next_y], share, depth + 1)
            if next_x < len(at_old):
                yield at_old[next_x], at_new[next_y]
            x, y = next_x + 1, next_y + 1


def cheapest_pairs(old: list[int], new: list[int], max_cost: int) -> list[tuple[int, int]] | None:
    """Return the pairs of corresponding positions, last pair first; None if the search costs too much."""
    trail = search_trail(old, new, max_cost)
    if trail is None:
        return None
    pairs: list[tuple[int, int]] = []
    x, y = len(old), len(new)
    for d in range(len(trail), 0, -1):
        reached, k = trail[d - 1], x - y
        # `reached` contains the diagonals 1 - d, 3 - d … d - 1.
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
    """Return the furthest point on each diagonal for 0, 1, 2 … changes, up to the last step before the end is reached.

    The diagonals of `d` changes are -d, 2 - d … d. Minus one means that a diagonal was not reached, a position past the end
    that it was abandoned there. None if the search costs too much.
    """
    n, m = len(old), len(new)
    most = min(n + m, isqrt(2 * max_cost) + 1)
    middle = most + 1
    # Minus one: not reached, and less than any reached position.
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
    """Return the longest increasing sequence of pairs of elements that are unique on both sides."""
    unique = set.intersection(*({each for each, times in Counter(side).items() if times == 1} for side in (old, new)))
    place_in_new = {element: place for place, element in enumerate(new) if element in unique}
    pairs = [(place, place_in_new[element]) for place, element in enumerate(old) if element in unique]
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
