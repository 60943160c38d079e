"""The two outermost of all ways to keep as many elements of two sequences as possible.

Drawn as paths through the grid of both sequences, every cheapest way runs between the one that inserts as early as it
can and the one that deletes as early as it can; so a pair that both of them keep is kept by all.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from filetools.content.myers import Ids, search_trail

Flags = tuple[bytearray, bytearray]
"""For each element of the old and of the new sequence 1 if it is kept."""


def outermost_ways(old: Ids, new: Ids, max_cost: int) -> tuple[Flags, Flags] | None:
    """Return which elements are kept if insertions come first, and if deletions do; None if that costs too much.

    Args:
        old: Elements as small integers, equal for equal elements.
        new: The same for the other sequence.
        max_cost: Comparisons and steps of the search.
    """
    shared = set(old) & set(new)
    # What one side lacks is in no pair, so it bends no way.
    at_old = [i for i, element in enumerate(old) if element in shared]
    at_new = [j for j, element in enumerate(new) if element in shared]
    first, second = [old[i] for i in at_old], [new[j] for j in at_new]
    trail = search_trail(first[::-1], second[::-1], max_cost)
    if trail is None:
        return None

    def flags(*, inserts_first: bool) -> Flags:
        kept_old, kept_new = bytearray(len(old)), bytearray(len(new))
        for x, y in _way(first, second, trail, inserts_first=inserts_first):
            kept_old[at_old[x]] = kept_new[at_new[y]] = 1
        return kept_old, kept_new

    return flags(inserts_first=True), flags(inserts_first=False)


def _way(old: list[int], new: list[int], trail: list[array[int]], *, inserts_first: bool) -> list[tuple[int, int]]:
    least = _least_place(len(old), len(new), trail)
    pairs: list[tuple[int, int]] = []
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
