from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from filetools.content.differences.alignment import Span, align, differences, late_spans, numbered
from tests.support.step_count import steps_of

ELEMENTS = st.lists(st.integers(0, 2), max_size=9)


def certain_pairs(old: list[int], new: list[int]) -> frozenset[tuple[int, int]]:
    """Return the pairs that every longest common subsequence has, by trying all of them."""

    @cache
    def longest(i: int, j: int) -> int:
        if i == len(old) or j == len(new):
            return 0
        return max(longest(i + 1, j), longest(i, j + 1), 1 + longest(i + 1, j + 1) if old[i] == new[j] else 0)

    @cache
    def in_all(i: int, j: int) -> frozenset[tuple[int, int]]:
        size = longest(i, j)
        if not size:
            return frozenset()
        ways = [in_all(*place) for place in ((i + 1, j), (i, j + 1)) if longest(*place) == size]
        if old[i] == new[j] and longest(i + 1, j + 1) == size - 1:
            ways.append(in_all(i + 1, j + 1) | {(i, j)})
        return frozenset.intersection(*ways)

    return in_all(0, 0)


def kept_pairs(old: list[int], new: list[int], spans: list[Span]) -> set[tuple[int, int]]:
    pairs: set[tuple[int, int]] = set()
    i = j = 0
    for old_start, old_end, new_start, new_end in [*spans, (len(old), len(old), len(new), len(new))]:
        pairs |= set(zip(range(i, old_start), range(j, new_start), strict=True))
        i, j = old_end, new_end
    return pairs


@given(ELEMENTS, ELEMENTS, st.sampled_from([0, 3, 10_000]))
def test_texts_differ_where_their_numbers_do(old: list[int], new: list[int], max_cost: int) -> None:
    texts = [str(element) for element in old], [str(element) for element in new]
    assert differences(*texts, max_cost=max_cost) == late_spans(*numbered(*texts), max_cost=max_cost)


def test_lines_are_not_numbered_where_one_place_differs() -> None:
    def steps(lines: int) -> int:
        old = [f"line {number}" for number in range(lines)]
        new = [*old[: lines // 2], "other", *old[lines // 2 + 1 :]]
        assert differences(old, new, max_cost=10_000) == [(lines // 2, lines // 2 + 1, lines // 2, lines // 2 + 1)]
        return steps_of(lambda: differences(old, new, max_cost=10_000))

    assert steps(2560) <= 2 * steps(256)


@given(ELEMENTS, ELEMENTS)
def test_certain_is_what_every_cheapest_way_keeps(old: list[int], new: list[int]) -> None:
    found = align(old, new, max_cost=10_000)
    if all(span[1] - span[0] == span[3] - span[2] for span in found.late):
        assert kept_pairs(old, new, found.certain) >= certain_pairs(old, new)
    else:
        assert kept_pairs(old, new, found.certain) == certain_pairs(old, new)


@given(ELEMENTS, ELEMENTS, st.integers(0, 10))
def test_every_way_keeps_equal_elements_whatever_it_may_cost(old: list[int], new: list[int], max_cost: int) -> None:
    found = align(old, new, max_cost=max_cost)
    for spans in (found.late, found.certain, *found.others):
        assert all(old[i] == new[j] for i, j in kept_pairs(old, new, spans))


def test_a_removal_and_an_addition_that_can_meet_are_one_change() -> None:
    # The removed 1 could be either of two; beside the added 9 it is a replacement.
    assert late_spans([0, 1, 1, 2], [0, 9, 1, 2], max_cost=100) == [(1, 2, 1, 2)]
