from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content import (
    apply_text_edits,
    diff_lines,
    minimal_edits,
    split_lines,
    structured_patch,
    unified_diff,
)
from filetools.content.diff import Hunk, PatchHunk
from filetools.content.text_edits import TextEdit

LINES = st.lists(st.sampled_from("abc"), max_size=14)
TEXTS = st.text(st.sampled_from("ab \n\r\U0001f600"), max_size=30)


def longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for element in old:
        above, row = row, [0]
        for j, other in enumerate(new):
            row.append(above[j] + 1 if element == other else max(above[j + 1], row[j]))
    return row[-1]


def applied(old: list[str], new: list[str], hunks: list[Hunk]) -> list[str]:
    made: list[str] = []
    at = 0
    for hunk in hunks:
        made += old[at : hunk.old_start] + new[hunk.new_start : hunk.new_end]
        at = hunk.old_end
    return made + old[at:]


@given(LINES, LINES)
def test_hunks_replace_as_few_lines_as_possible(old: list[str], new: list[str]) -> None:
    hunks = diff_lines(old, new)
    assert applied(old, new, hunks) == new
    assert sum(hunk.old_end - hunk.old_start for hunk in hunks) == len(old) - longest_common(old, new)
    assert all(one.old_end < two.old_start for one, two in pairwise(hunks))


@given(LINES, LINES, st.integers(0, 12))
def test_hunks_are_right_when_the_search_may_cost_nothing(old: list[str], new: list[str], max_cost: int) -> None:
    assert applied(old, new, diff_lines(old, new, max_cost=max_cost)) == new


def test_a_change_in_a_repetition_lies_in_its_last_place() -> None:
    assert diff_lines(list("xxxx"), list("xxxxx")) == [Hunk(old_start=4, old_end=4, new_start=4, new_end=5)]
    assert diff_lines(list("axxxb"), list("axxb")) == [Hunk(old_start=3, old_end=4, new_start=3, new_end=3)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\nb", ["a\n", "b"]),
        ("a\r\nb\n", ["a\r\n", "b\n"]),
        ("a\rb\r", ["a\r", "b\r"]),
        ("a\rb\nc\r", ["a\rb\n", "c\r"]),
        ("\n\n", ["\n", "\n"]),
        ("a\u2028b\x0bc\n", ["a\u2028b\x0bc\n"]),
    ],
)
def test_lines_keep_their_own_ends(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


def test_structured_patch_holds_changes_with_context() -> None:
    old = "".join(f"{number}\n" for number in range(20))
    new = old.replace("3\n", "three\n", 1).replace("18\n19\n", "18\nend")
    assert structured_patch(old, new, context=1) == [
        PatchHunk(old_start=3, old_lines=3, new_start=3, new_lines=3, lines=(" 2", "-3", "+three", " 4")),
        PatchHunk(
            old_start=19,
            old_lines=2,
            new_start=19,
            new_lines=2,
            lines=(" 18", "-19", "+end", "\\ No newline at end of file"),
        ),
    ]
    assert len(structured_patch(old, new, context=8)) == 1
    assert structured_patch(old, old) == []


def test_structured_patch_becomes_json_under_the_names_of_clients() -> None:
    (hunk,) = structured_patch("", "a\n")
    assert hunk.to_dict() == {"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+a"]}


def test_unified_diff_names_its_files_as_git_does() -> None:
    assert unified_diff("a\n", "b\n", "a/x y", 'b/"q"') == '--- a/x y\t\n+++ "b/\\"q\\""\n@@ -1 +1 @@\n-a\n+b\n'
    assert unified_diff("a\n", "a\n", "a/x", "b/x") == ""


@given(TEXTS, TEXTS)
def test_minimal_edits_make_the_new_text(old: str, new: str) -> None:
    edits = minimal_edits(old, new)
    assert apply_text_edits(old, edits) == new
    assert all(one.end <= two.start for one, two in pairwise(edits))
    # A CR and its LF stay together.
    assert all(old[place - 1 : place + 1] != "\r\n" for edit in edits for place in (edit.start, edit.end) if place)


def test_minimal_edits_touch_the_changed_characters_only() -> None:
    assert minimal_edits("one\ntwo three four\n", "one\ntwo trees four\nfive\n") == [
        TextEdit(9, 13, "rees"),
        TextEdit(19, 19, "five\n"),
    ]
