from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filetools.content.differences.transforming import moved, transform
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from tests.support.dose import dose
from tests.support.step_count import steps_of

TEXT = "0123456789"
Edits = list[TextEdit]
Side = Literal["left", "right"]


@st.composite
def edit_lists(draw: st.DrawFn, letters: str, size: int = len(TEXT)) -> Edits:
    """Ordered edits that may touch, share a place, or do nothing."""
    places = sorted(draw(st.lists(st.integers(0, size), max_size=10)))
    new = st.text(st.sampled_from(letters), max_size=2)
    return [TextEdit(start, end, draw(new)) for start, end in zip(places[::2], places[1::2], strict=False)]


OURS, THEIRS = edit_lists("abc"), edit_lists("xyz")


def both_sides(text: str, first: Sequence[TextEdit], second: Sequence[TextEdit]) -> str:
    """Say character by character what two sides make of a text: each may remove it, each may put text before it."""
    kept = [""] * (len(text) + 1)
    for place, character in enumerate(text):
        if not any(edit.start <= place < edit.end for edit in [*first, *second]):
            kept[place] = character
    return "".join(new_at(place, first) + new_at(place, second) + one for place, one in enumerate(kept))


def new_at(place: int, edits: Sequence[TextEdit]) -> str:
    return "".join(edit.text for edit in edits if edit.start == place)


def carried(first: Sequence[TextEdit], second: Sequence[TextEdit]) -> tuple[str, str]:
    """Return the text by both ways: `first` stands first where both add."""
    one = apply_text_edits(apply_text_edits(TEXT, first), transform(second, first, is_first=False))
    other = apply_text_edits(apply_text_edits(TEXT, second), transform(first, second, is_first=True))
    return one, other


@settings(max_examples=dose(150))
@given(OURS, THEIRS)
def test_both_ways_give_the_text_that_every_character_asks_for(ours: Edits, theirs: Edits) -> None:
    assert carried(ours, theirs) == (both_sides(TEXT, ours, theirs),) * 2
    assert carried(theirs, ours) == (both_sides(TEXT, theirs, ours),) * 2


@settings(max_examples=dose(100))
@given(OURS, THEIRS)
def test_carried_edits_are_in_order_and_none_does_nothing(ours: Edits, theirs: Edits) -> None:
    made = transform(ours, theirs, is_first=True) if theirs else []
    assert all(one.end <= two.start for one, two in pairwise(made))
    assert all(one.text or one.start < one.end for one in made)


@settings(max_examples=dose(100))
@given(OURS, st.lists(edit_lists("xyz"), max_size=4))
def test_edits_pass_a_history_as_they_pass_its_sum(ours: Edits, history: list[Edits]) -> None:
    """Each entry of the history is an edit of what the one before left; the sum may join what it removed."""
    text = TEXT
    late = ours
    for edits in history:
        inside = [edit for edit in edits if edit.end <= len(text)]
        late = transform(late, inside, is_first=True)
        text = apply_text_edits(text, inside)
    after = apply_text_edits(text, late)
    assert "".join(one for one in after if one in "abc") == "".join(edit.text for edit in ours)
    assert not (set(after) & set(TEXT)) & {TEXT[i] for edit in ours for i in range(edit.start, edit.end)}


def test_many_edits_take_time_in_proportion() -> None:
    def steps(size: int) -> int:
        many = [TextEdit(place, place + 1, "a") for place in range(0, size, 2)]
        other = [TextEdit(place + 1, place + 1, "x") for place in range(0, size, 2)]

        def work() -> None:
            assert len(transform(many, other, is_first=True)) == len(many)
            assert transform(many, [TextEdit(0, size, "")], is_first=True) == [TextEdit(0, 0, "a" * len(many))]

        return steps_of(work)

    assert steps(4_000) <= 4.1 * steps(1_000)


@pytest.mark.parametrize(
    ("position", "edit", "left", "right"),
    [
        (3, TextEdit(4, 5, "abc"), 3, 3),
        (3, TextEdit(3, 3, "abc"), 3, 6),
        (3, TextEdit(3, 5, "abc"), 3, 3),
        (4, TextEdit(3, 5, "abc"), 3, 6),
        (5, TextEdit(3, 5, "abc"), 6, 6),
        (9, TextEdit(3, 5, "abc"), 10, 10),
    ],
)
def test_a_caret_stays_with_its_text(position: int, edit: TextEdit, left: int, right: int) -> None:
    assert moved(position, [edit], sticks="left") == left
    assert moved(position, [edit], sticks="right") == right


@given(edit_lists("abc"), st.integers(0, len(TEXT)))
def test_a_caret_keeps_the_characters_on_its_sides(edits: Edits, position: int) -> None:
    after = apply_text_edits(TEXT, edits)
    sides: tuple[Side, ...] = ("left", "right")
    for sticks in sides:
        place = moved(position, edits, sticks=sticks)
        before = [one for one in after[:place] if one in TEXT]
        behind = [one for one in after[place:] if one in TEXT]
        assert all(TEXT.index(one) < position for one in before)
        assert all(TEXT.index(one) >= position for one in behind)
