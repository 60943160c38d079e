from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from filetools.content.differences.diff import minimal_edits
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.content.lines import newline_of
from filetools.content.wire import from_wire, to_wire, wire_text
from filetools.errors import InvalidArgumentError
from tests.support.dose import dose
from tests.support.step_count import steps_of

FACE = "\U0001f600"
TEXTS = st.lists(st.sampled_from(["a", "b", "\n", "\r", "\r\n", "é", FACE]), max_size=14).map("".join)
NEW = st.lists(st.sampled_from(["x", "\n", "\n", FACE]), max_size=3).map("".join)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def applied_on_the_wire(wire: str, edits: list[TextEdit]) -> str:
    """Apply edits as an editor does that counts UTF-16 units: by cutting the units themselves."""
    data = wire.encode("utf-16-le")
    for edit in reversed(edits):
        data = data[: 2 * edit.start] + edit.text.encode("utf-16-le") + data[2 * edit.end :]
    return data.decode("utf-16-le")


@st.composite
def edit_lists(draw: st.DrawFn, text: str, new: st.SearchStrategy[str], *, in_units: bool) -> list[TextEdit]:
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    ends = [units(text[:place]) if in_units else place for place in places]
    return [TextEdit(start, end, draw(new)) for start, end in zip(ends[::2], ends[1::2], strict=False)]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([TextEdit(0, 99, "")], "offset 99 is after the end"),
        ([TextEdit(2, 2, "x")], "offset 2 is between the two halves"),
        ([TextEdit(2, 3, "x")], "offset 2 is between the two halves"),
        ([TextEdit(3, 1, "x")], "from 3 to 1"),
        ([TextEdit(3, 5, "x"), TextEdit(0, 4, "y")], "from 0 to 4 and from 3 to 5 overlap"),
        ([TextEdit(0, 0, "x\ud83d")], "U+D83D, at 1"),
        ([TextEdit(0, 0, "\ud83d\ude00")], "U+D83D, at 0"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_edits_that_fit_no_text_are_refused(edits: list[TextEdit], said: str, end: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        from_wire(f"a{FACE}bc{end}de{end}", edits)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["abc\nde\n", "abc\r\nde\r\n", "abc\rde\n", "äbc\nde\n"])
def test_the_end_of_the_wire_text_is_the_end(text: str) -> None:
    assert from_wire(text, [TextEdit(7, 7, "x")]) == [TextEdit(len(text), len(text), "x")]
    with pytest.raises(InvalidArgumentError):
        from_wire(text, [TextEdit(7, 8, "")])


@pytest.mark.parametrize("text", ["a\r\nb", "a\nb", "a\rb"])
def test_every_line_end_is_one_line_feed_on_the_wire(text: str) -> None:
    assert wire_text(text) == "a\nb"
    assert wire_text(f"{text}\r\r\n\n") == "a\nb\n\n\n"


@settings(max_examples=dose(120))
@given(TEXTS, st.data())
@example("a\rb\nc", None)
def test_what_is_applied_on_the_wire_is_what_the_text_shows(text: str, data: st.DataObject | None) -> None:
    wire = wire_text(text)
    edits = [TextEdit(2, 3, "")] if data is None else data.draw(edit_lists(wire, NEW, in_units=True))
    own = from_wire(text, edits)
    assert all(one.end <= two.start for one, two in pairwise(own))
    assert wire_text(apply_text_edits(text, own)) == applied_on_the_wire(wire, edits)


@settings(max_examples=dose(120))
@given(TEXTS, st.data())
def test_the_other_way_the_wire_text_becomes_what_the_text_shows(text: str, data: st.DataObject) -> None:
    edits = data.draw(edit_lists(text, TEXTS, in_units=False))
    shown = to_wire(text, edits)
    assert all(one.end <= two.start for one, two in pairwise(shown))
    assert applied_on_the_wire(wire_text(text), shown) == wire_text(apply_text_edits(text, edits))


@settings(max_examples=dose(120))
@given(TEXTS, st.data())
def test_an_edit_inside_a_line_goes_there_and_back(text: str, data: st.DataObject) -> None:
    wire = wire_text(text)
    edits = [
        edit
        for edit in data.draw(edit_lists(wire, st.sampled_from(["x", "\U0001f601"]), in_units=True))
        if "\n" not in wire.encode("utf-16-le")[2 * edit.start : 2 * edit.end].decode("utf-16-le")
    ]
    own = from_wire(text, edits)
    assert [one.text for one in own] == [one.text for one in edits]
    if all(one.end < two.start for one, two in pairwise(edits)):
        assert to_wire(text, own) == edits


@pytest.mark.parametrize(
    ("text", "edit", "after"),
    [
        ("one\r\ntwo\r\n", TextEdit(4, 5, "T"), "one\r\nTwo\r\n"),
        ("one\r\ntwo\nthree\n", TextEdit(4, 4, "new\n"), "one\r\nnew\r\ntwo\nthree\n"),
        ("one", TextEdit(3, 3, "\r\n"), "one\n"),
        ("a\rb\nc", TextEdit(2, 3, ""), "a\r\n\nc"),
        ("a\rb\nc", TextEdit(2, 4, ""), "a\rc"),
    ],
)
def test_a_line_keeps_its_end_and_a_new_line_takes_its_neighbours(text: str, edit: TextEdit, after: str) -> None:
    assert apply_text_edits(text, from_wire(text, [edit])) == after


@pytest.mark.parametrize(
    ("text", "edits", "shown"),
    [
        ("a\r\nb\n", [TextEdit(1, 3, "\n")], []),
        ("a\r\nb\n", [TextEdit(1, 2, "")], []),
        ("a\r\nb\r\n", [TextEdit(1, 3, "\n"), TextEdit(3, 4, "B")], [TextEdit(2, 3, "B")]),
        ("a\r\nb", [TextEdit(2, 2, "x")], [TextEdit(2, 2, "x\n")]),
        (f"{FACE}\r\nb", [TextEdit(3, 4, "B")], [TextEdit(3, 4, "B")]),
    ],
)
def test_edits_as_editors_get_them(text: str, edits: list[TextEdit], shown: list[TextEdit]) -> None:
    assert to_wire(text, edits) == shown


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_whole_text_from_an_editor_keeps_all_ends_it_did_not_touch(end: str) -> None:
    text = f"one{end}two{FACE}{end}three\n"
    wanted = wire_text(text).replace("two", "two and a half")
    own = from_wire(text, minimal_edits_on_the_wire(wire_text(text), wanted))
    assert apply_text_edits(text, own) == text.replace("two", "two and a half")


def minimal_edits_on_the_wire(old: str, new: str) -> list[TextEdit]:
    return to_wire(old, minimal_edits(old, new))


@pytest.mark.parametrize(
    "line", ["a line of text\n", "a line of text\r\n", f"zwölf {FACE} Zeilen\r\n", "eine Zeile für\r"]
)
def test_one_edit_of_a_large_text_is_quick(line: str) -> None:
    def steps(lines: int) -> int:
        text = line * lines
        wire = wire_text(text)
        edit = TextEdit(units(wire) - 5, units(wire) - 4, "x\n")
        assert newline_of(apply_text_edits(text, from_wire(text, [edit]))) == newline_of(text)
        return steps_of(lambda: from_wire(text, [edit]))

    assert steps(40_000) <= steps(400) + 10
