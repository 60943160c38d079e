from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from filetools.content.differences.myers import common_prefix, kept_elements

MAX_COST_STEPS: Final = 10_000


class Counted(int):
    """An element that counts how often elements are compared."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return int.__eq__(self, other)

    __hash__ = int.__hash__


def random_elements(random: Random, size: int) -> list[int]:
    return [Counted(random.randrange(30)) for _ in range(size)]


def repeated_elements(random: Random, size: int) -> list[int]:
    return [Counted(random.random() < 0.1) for _ in range(size)]


def sparse_elements(random: Random, size: int) -> list[int]:
    return [Counted(number if random.random() < 0.9 else random.randrange(size)) for number in range(size)]


@pytest.mark.parametrize(
    ("elements", "size"), [(random_elements, 20_000), (repeated_elements, 10_000), (sparse_elements, 10_000)]
)
def test_comparisons_are_bounded_however_many_changes_there_are(
    elements: Callable[[Random, int], list[int]], size: int
) -> None:
    random = Random(1)
    old, new = elements(random, size), elements(random, size)
    Counted.comparisons = 0
    kept_old, kept_new = kept_elements(old, new, MAX_COST_STEPS)
    # Each unit of cost is at most eight comparisons of a run; trimming and filtering are a few for each element.
    assert Counted.comparisons <= 3 * 8 * MAX_COST_STEPS + 40 * size
    assert [x for x, kept in zip(old, kept_old, strict=True) if kept] == [
        x for x, kept in zip(new, kept_new, strict=True) if kept
    ]


def test_memory_does_not_grow_with_the_square_of_the_changes() -> None:
    random = Random(2)
    old, new = ([random.randrange(50) for _ in range(3_000)] for _ in range(2))
    tracemalloc.start()
    try:
        kept_elements(old, new, MAX_COST_STEPS)
        assert tracemalloc.get_traced_memory()[1] < 2 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_unique_elements_hold_the_parts_in_place_when_the_search_is_too_dear() -> None:
    # Every third element is unique; the rest is noise that no cheap search aligns.
    random = Random(3)
    old, new = ([100 + n if n % 3 == 0 else random.randrange(9) for n in range(3000)] for _ in range(2))
    kept_old, kept_new = kept_elements(old, new, 50)
    assert all(kept_old[n] and kept_new[n] for n in range(0, 3000, 3))


@pytest.mark.parametrize(("same", "size"), [(0, 5), (5, 5), (127, 200), (128, 200), (129, 200), (400, 400)])
def test_common_prefix_is_found_across_strides(same: int, size: int) -> None:
    old = list(range(size))
    new = old[:same] + [-1] * (size - same)
    assert common_prefix(old, new) == same
    assert common_prefix(old, old[:same]) == same
