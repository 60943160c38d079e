"""Merging only near what was changed: the outcome is that of the whole merge, and the cost is not."""

from __future__ import annotations

from random import Random

import pytest

from filetools.content.merging import merge
from filetools.content.narrowing import narrowed
from tests.support.step_count import steps_of
from tests.support.swapper import dose

REPEATED = ["\n", "}\n", "some words here\n"]


def changed(random: Random, lines: list[str], new: list[str], times: int) -> list[str]:
    lines = list(lines)
    for _ in range(times):
        place = random.randrange(len(lines) + 1)
        number = random.randrange(1000)
        added = [random.choice(new) if random.random() < 0.6 else f"new {number} of it\n" for _ in range(number % 3)]
        lines[place : place + random.randrange(4)] = added
    return lines


def sides(random: Random) -> tuple[str, str, str]:
    size, share = random.choice([6, 12, 25, 60]), random.random() * 0.6
    base = [random.choice(REPEATED) if random.random() < share else f"line {each} of it\n" for each in range(size)]
    new = REPEATED if random.random() < 0.5 else [*REPEATED, *base]
    theirs = changed(random, base, new, random.choice([1, 1, 1, 2, 3]))
    ours = changed(random, base, new, random.choice([1, 2, 4, 8]))
    texts = ["".join(side) for side in (base, ours, theirs)]
    if random.random() < 0.2:
        texts = [text[:-1] if random.random() < 0.5 else text for text in texts]
    if random.random() < 0.2:
        texts = [text.replace("\n", "\r\n") if random.random() < 0.5 else text for text in texts]
    return texts[0], texts[1], texts[2]


@pytest.mark.parametrize("by_words", [False, True])
def test_the_outcome_is_that_of_the_whole_merge(by_words: bool) -> None:
    for seed in range(dose(500)):
        texts = sides(Random(seed))
        whole = merge(*texts, by_words=by_words)
        near = merge(*texts, by_words=by_words, with_foreign=False)
        assert (near.text, near.conflicts, near.is_clean) == (whole.text, whole.conflicts, whole.is_clean), seed


def test_a_change_far_from_others_is_looked_at_by_itself() -> None:
    base = [f"{number}\n" for number in range(100)]
    ours = ["new\n", "\n", *base[:20], *base[22:90], "\n", *base[90:]]
    theirs = [*base[:50], "theirs\n", *base[51:]]
    window = narrowed(base, ours, theirs)
    assert window is not None
    assert [lines[part] for part, lines in zip(window, (base, ours, theirs), strict=True)] == [
        ["48\n", "49\n", "50\n", "51\n", "52\n"],
        ["48\n", "49\n", "50\n", "51\n", "52\n"],
        ["48\n", "49\n", "theirs\n", "51\n", "52\n"],
    ]


def test_lines_that_were_moved_leave_it_to_the_whole_merge() -> None:
    base = [f"{number}\n" for number in range(100)]
    ours = [*base[80:], *base[:80]]
    assert narrowed(base, ours, [*base[:50], "theirs\n", *base[51:]]) is None


def test_what_others_changed_far_away_costs_nothing() -> None:
    base = [f"{number}\n" for number in range(2000)]
    theirs = [*base[:1000], "theirs\n", *base[1001:]]

    def steps(others: int) -> int:
        ours = list(base)
        for number in range(others):
            ours[number * 3] = f"other {number}\n"
        texts = "".join(base), "".join(ours), "".join(theirs)
        return steps_of(lambda: merge(*texts, by_words=False, with_foreign=False))

    assert steps(300) <= steps(30) + 10
