from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from filetools.content.differences.alignment import MAX_COST, Span, differences
from filetools.content.differences.diff import (
    PatchHunk,
    minimal_edits,
    patch_of_edits,
    structured_patch,
    unified_diff,
)
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.content.ends import split_lines, without_end
from tests.support.step_count import steps_of

LINES = st.lists(st.sampled_from("abc"), max_size=14)
TEXTS = st.text(st.sampled_from("ab \n\r\U0001f600"), max_size=30)


def longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for element in old:
        above, row = row, [0]
        for j, other in enumerate(new):
            row.append(above[j] + 1 if element == other else max(above[j + 1], row[j]))
    return row[-1]


def applied(old: list[str], new: list[str], spans: list[Span]) -> list[str]:
    made: list[str] = []
    at = 0
    for old_start, old_end, new_start, new_end in spans:
        made += old[at:old_start] + new[new_start:new_end]
        at = old_end
    return made + old[at:]


@given(LINES, LINES)
def test_hunks_replace_as_few_lines_as_possible(old: list[str], new: list[str]) -> None:
    spans = differences(old, new, max_cost=MAX_COST)
    assert applied(old, new, spans) == new
    assert sum(old_end - old_start for old_start, old_end, *_ in spans) == len(old) - longest_common(old, new)
    assert all(one[1] < two[0] for one, two in pairwise(spans))


@given(LINES, LINES, st.integers(0, 12))
def test_hunks_are_right_when_the_search_may_cost_nothing(old: list[str], new: list[str], max_cost: int) -> None:
    assert applied(old, new, differences(old, new, max_cost=max_cost)) == new


def test_a_change_in_a_repetition_lies_in_its_last_place() -> None:
    assert differences(list("xxxx"), list("xxxxx"), max_cost=MAX_COST) == [(4, 4, 4, 5)]
    assert differences(list("axxxb"), list("axxb"), max_cost=MAX_COST) == [(3, 4, 3, 3)]


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


@st.composite
def edited_texts(draw: st.DrawFn) -> tuple[str, list[TextEdit]]:
    text = draw(st.text(st.sampled_from("ab\n\n\r"), max_size=40))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    new = draw(st.lists(st.text(st.sampled_from("ab\n\n\r"), max_size=6), min_size=4, max_size=4))
    return text, [
        TextEdit(*pair, part) for pair, part in zip(zip(places[::2], places[1::2], strict=False), new, strict=False)
    ]


@given(edited_texts(), st.integers(0, 3))
def test_hunks_of_edits_lead_from_the_old_text_to_the_new_one(edited: tuple[str, list[TextEdit]], context: int) -> None:
    text, edits = edited
    new_text = apply_text_edits(text, edits)
    old, new = split_lines(text), split_lines(new_text)
    hunks = patch_of_edits(text, new_text, edits, context)
    replaced = [
        (
            hunk.old_start - bool(hunk.old_lines),
            hunk.old_start - bool(hunk.old_lines) + hunk.old_lines,
            hunk.new_start - bool(hunk.new_lines),
            hunk.new_start - bool(hunk.new_lines) + hunk.new_lines,
        )
        for hunk in hunks
    ]
    assert applied(old, new, replaced) == new
    assert sum(hunk.old_lines - hunk.new_lines for hunk in hunks) == len(old) - len(new)
    assert all(two[0] - one[1] > 0 for one, two in pairwise(replaced))
    for hunk, (old_start, old_end, new_start, new_end) in zip(hunks, replaced, strict=True):
        lines = [line for line in hunk.lines if not line.startswith("\\")]
        assert [line[1:] for line in lines if line[0] != "+"] == [without_end(line) for line in old[old_start:old_end]]
        assert [line[1:] for line in lines if line[0] != "-"] == [without_end(line) for line in new[new_start:new_end]]


@given(st.lists(st.integers(0, 59), max_size=6, unique=True), st.integers(0, 3))
def test_hunks_of_edits_are_those_of_the_texts_where_no_line_repeats(places: list[int], context: int) -> None:
    lines = [f"line {number}\n" for number in range(60)]
    edits = [
        TextEdit(sum(map(len, lines[:place])), sum(map(len, lines[: place + place % 2])), f"new {place}\n")
        for place in sorted(places)
    ]
    text = "".join(lines)
    new_text = apply_text_edits(text, edits)
    assert patch_of_edits(text, new_text, edits, context) == structured_patch(text, new_text, context)


def test_hunks_of_edits_cost_as_much_as_the_edits() -> None:
    def steps(lines: int) -> int:
        text = "same line\n" * lines + "last\n"
        edits = [TextEdit(5, 9, "LINE"), TextEdit(len(text) - 5, len(text) - 1, "LAST")]
        new_text = apply_text_edits(text, edits)
        return steps_of(lambda: patch_of_edits(text, new_text, edits))

    assert steps(200_000) == steps(2_000)


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
