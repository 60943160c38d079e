"""Old texts and old lines that differ from the file by blanks at line ends: one meaning, or refused.

The refusals are the point: whatever could be meant in two ways changes nothing.
"""

from __future__ import annotations

import random

import pytest

from filetools.content.editing.closest import MOST_PLACES, lines_around
from filetools.content.editing.edits import Edit, EditOutcome, apply_edits
from filetools.content.formats import TextFormat
from filetools.content.patching.patches import apply_file_patch, parse_patch
from filetools.errors import EditAmbiguousError, EditNotFoundError

UTF8 = TextFormat(encoding="utf-8", bom=b"")


def edited(text: str, old: str, new: str, *, replace_all: bool = False) -> str:
    outcome = apply_edits(text, [Edit(old=old, new=new, replace_all=replace_all)])
    assert outcome.repairs, "nothing was repaired"
    return outcome.text


def patched(content: str, hunks: str) -> EditOutcome:
    (patch,) = parse_patch(f"*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n")
    return apply_file_patch(content.encode(), UTF8, patch, path="f").outcome


# What could be meant in two ways: text, old, new.
TWO_MEANINGS = {
    "lines that overlap themselves": ("a \na \na \n", "a\na\n", "b\n"),
    "two places but for blanks": ("a \nb\na  \nb\n", "a\nb\n", "c\n"),
    "tabs for blanks": ("if a:\n\tb\n", "if a:\n    b\n", "c\n"),
}

ONE_MEANING = {
    "blanks before the first line": ("a \n  \n  b\n", "\n\n  b", "\n\n  c", "a \n  \n  c\n"),
    "CRLF and blanks": ("a\r\nb \r\nc\r\n", "a\nb\nc\n", "a\nx\ny\nc\n", "a\r\nx\r\ny\r\nc\r\n"),
}


@pytest.mark.parametrize(("text", "old", "new"), TWO_MEANINGS.values(), ids=TWO_MEANINGS)
def test_what_has_two_meanings_is_refused(text: str, old: str, new: str) -> None:
    for replace_all in (False, True):
        with pytest.raises((EditNotFoundError, EditAmbiguousError)):
            edited(text, old, new, replace_all=replace_all)


@pytest.mark.parametrize(("text", "old", "new", "made"), ONE_MEANING.values(), ids=ONE_MEANING)
def test_what_has_one_meaning_is_done(text: str, old: str, new: str, made: str) -> None:
    assert edited(text, old, new) == made


@pytest.mark.parametrize(
    ("text", "old", "new", "made"),
    [
        ("12\tfoo\n13\tbar\n", "12\tfoo", "12\tbaz", "12\tbaz\n13\tbar\n"),
        ("a \na\nb\n", "a\nb", "c", "a \nc\n"),
    ],
)
def test_what_stands_exactly_is_never_taken_for_something_else(text: str, old: str, new: str, made: str) -> None:
    outcome = apply_edits(text, [Edit(old=old, new=new)])
    assert (outcome.text, outcome.repairs) == (made, ())


HUNKS = {
    "blanks at line ends": ("a\nb \nc\n", "@@\n b\n-c\n+d\n", "a\nb \nd\n", "blanks at line ends"),
    "behind an anchor": ("b \na\nb  \n", "@@ a\n-b \n+B\n", "b \na\nB\n", "blanks at line ends"),
}


@pytest.mark.parametrize(("content", "hunks", "made", "told"), HUNKS.values(), ids=HUNKS)
def test_old_lines_of_a_hunk_are_taken_as_old_texts_are(content: str, hunks: str, made: str, told: str | None) -> None:
    outcome = patched(content, hunks)
    assert outcome.text == made
    assert [told in repair for repair in outcome.repairs] == [True] if told else outcome.repairs == ()


@pytest.mark.parametrize(
    ("content", "hunks"),
    [
        # The lines stand before the hunk before, and like ones behind it.
        ("x\nq\nz\nq \ny \nq  \ny\n", "@@\n-z\n+Z\n@@\n-q\n-y\n+B\n"),
        ("q \nq  \n", "@@\n-q\n+B\n"),
        ("q \nx\n", "@@\n-q\n+B\n*** End of File\n"),
    ],
)
def test_old_lines_with_two_meanings_are_refused(content: str, hunks: str) -> None:
    with pytest.raises((EditNotFoundError, EditAmbiguousError)):
        patched(content, hunks)


def test_a_repaired_change_is_the_one_that_was_meant() -> None:
    """A text sent without the blanks at line ends is changed as if it had them, or refused."""
    done = 0
    for seed in range(400):
        chance = random.Random(seed)
        lines = ["".join(chance.choice("ab  x1") for _ in range(8)) + "k" for _ in range(6)]
        kept = [line + chance.choice(("", " ", "  ")) for line in lines]
        first, count = chance.randrange(4), chance.randrange(1, 3)
        old = lines[first : first + count]
        new = [*old[:-1], old[-1] + chance.choice(("NEW", "NEW\nNEW2"))]
        outcome = apply_edits("\n".join(kept) + "\n", [Edit(old="\n".join(old), new="\n".join(new))])
        made = outcome.text.split("\n")
        done += bool(outcome.repairs)
        assert made[: first + count - 1] == kept[: first + count - 1]
        assert [line.rstrip(" ") for line in "\n".join(made[first:]).split("\n")][: len(new)] == "\n".join(new).split(
            "\n"
        )[: len(new)]
        assert made[-len(kept[first + count :]) - 1 :] == [*kept[first + count :], ""]
    assert done > 100


def test_a_place_is_shown_with_the_lines_around_it_as_they_are() -> None:
    text = "a\r\n\tb\nc\nd\ne"
    assert lines_around(text, [1, 3, 5]) == [
        {"line": 1, "text": "a\r\n\tb\n"},
        {"line": 3, "text": "\tb\nc\nd\n"},
        {"line": 5, "text": "d\ne"},
    ]
    assert lines_around(text, [2], height=2) == [{"line": 2, "text": "a\r\n\tb\nc\nd\n"}]


def test_places_on_one_line_are_one_and_only_the_first_few_are_shown() -> None:
    text = "x\n" * 20
    assert [each["line"] for each in lines_around(text, [2, 2, 3])] == [2, 3]
    assert len(lines_around(text, range(1, 20))) == MOST_PLACES
