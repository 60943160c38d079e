from __future__ import annotations

import pytest

from filetools.content.editing.edits import Edit, EditOutcome, apply_edits, insert_lines
from filetools.content.editing.text_edits import TextEdit
from filetools.errors import EditAmbiguousError, EditNotFoundError, InvalidArgumentError

CODE = 'def f():\n\treturn "x"  \n\nclass A:\n    pass\n'


@pytest.mark.parametrize(
    "edits",
    [[], [Edit(old="", new="x")], [Edit(old="a", new="x", count=0)], [Edit(old="a", new="b"), Edit(old="", new="")]],
)
def test_bad_edits_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(InvalidArgumentError):
        apply_edits("a", edits)


@pytest.mark.parametrize(
    ("old", "lines", "why"),
    [
        ('def f():\n    return "x"', (1, 2), ["indentation"]),
        ("return \u2018x\u2019", (2, 2), ["quotes or typographic characters"]),
        ("class  A:", (4, 4), ["blanks"]),
        ("class A:\r\n", (4, 4), ["line ends"]),
        ("class B(object):\n    pass", (4, 5), ["text"]),
    ],
)
def test_a_text_that_is_not_there_names_the_closest_lines_and_why(
    old: str, lines: tuple[int, int], why: list[str]
) -> None:
    with pytest.raises(EditNotFoundError) as caught:
        apply_edits(CODE, [Edit(old=old, new="y")], path="a.py")
    closest = caught.value.details["closest"]
    assert (closest["start_line"], closest["end_line"], closest["why"]) == (*lines, why)
    assert caught.value.path == "a.py"
    assert caught.value.message.count(closest["text"].rstrip()) == 1


@pytest.mark.parametrize(
    ("text", "old", "line", "difference"),
    [
        (
            "a\n\tb(1)\n\tc\n",
            "    b(1)\n    c\n",
            2,
            "line 2 has '\\tb(1)' at its first difference, your text '    b(1)'",
        ),
        ("a\n\tb(1)\n\tb(1)\n", "2\t\tb(1)", 2, "your text contains line numbers"),
        ("a\nfoo(1).bar\n", "A\nfoo(1)\n", 1, "line 2 continues after your text"),
    ],
)
def test_the_first_difference_of_the_closest_lines_is_told(text: str, old: str, line: int, difference: str) -> None:
    with pytest.raises(EditNotFoundError) as caught:
        apply_edits(text, [Edit(old=old, new="y")])
    closest = caught.value.details["closest"]
    assert (closest["start_line"], closest["difference"]) == (line, difference)
    assert difference in caught.value.message


def test_a_part_of_a_line_with_a_letter_wrong_finds_its_line() -> None:
    others = [f"    def dispatch_{number}(self): full = {number}" for number in range(900)]
    text = "\n".join(
        [*others[:400], "    def full_dispatch_request(self, ctx: AppContext) -> Response:", *others[400:]]
    )
    with pytest.raises(EditNotFoundError) as caught:
        apply_edits(text, [Edit(old="def full_dispatch_reqest", new="y")])
    assert caught.value.details["closest"]["start_line"] == 401


def test_all_edits_that_do_not_fit_are_told_at_once() -> None:
    edits = [Edit(old="alfa", new="x"), Edit(old="beta", new="y"), Edit(old="g", new="z")]
    with pytest.raises(EditNotFoundError) as caught:
        apply_edits("alpha\nbeta\ng g\n", edits, path="f")
    assert "edit 1 was not found in f; closest is line 1" in caught.value.message
    assert "edit 3 matches 2 times in f: at lines 3, 3" in caught.value.message
    assert "edit 2" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "old", "new", "expected", "why"),
    [
        ("a\r\nb\r\nc \r\n", "b\nc\n", "b\nd\ne\n", "a\r\nb\r\nd\r\ne\r\n", "blanks at line ends"),
        ("a\nlast", "a\nlast\n", "a\nend\n", "a\nend", "the last line end"),
    ],
)  # fmt: skip
def test_a_text_that_means_one_place_is_taken_for_it(text: str, old: str, new: str, expected: str, why: str) -> None:
    outcome = apply_edits(text, [Edit(old=old, new=new)])
    assert (outcome.text, outcome.repairs) == (expected, (f"The old text of edit 1 was found except for {why}",))


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("foobar\n", "foo "),
        ("“a”\n“a”\n", '"a"'),
        ("a\n11: f\n", "10: f"),
        ("a b\na b\n", "```\na b\n```"),
        ("\tf\n", "    f"),
    ],
)
def test_a_text_that_may_mean_several_places_or_none_is_refused(text: str, old: str) -> None:
    with pytest.raises(EditNotFoundError):
        apply_edits(text, [Edit(old=old, new="x")])


def test_a_text_like_nothing_in_the_file_has_no_closest_lines() -> None:
    with pytest.raises(EditNotFoundError) as caught:
        apply_edits(CODE, [Edit(old="qqq", new="y")])
    assert caught.value.details == {"number": 1, "closest": None, "lines": []}
    with pytest.raises(EditNotFoundError):
        apply_edits("", [Edit(old="a", new="b")])


def test_too_many_matches_name_the_line_of_each() -> None:
    with pytest.raises(EditAmbiguousError) as caught:
        apply_edits("a\nx\nx x\n", [Edit(old="a", new="b"), Edit(old="x", new="y")], path="f")
    around = [{"line": 2, "text": "b\nx\nx x\n"}, {"line": 3, "text": "x\nx x\n"}]
    told = {"number": 2, "lines": [2, 3, 3], "around": around}
    assert (caught.value.code, caught.value.details) == ("EDIT_AMBIGUOUS", told)


def test_later_edits_see_what_earlier_ones_left() -> None:
    edits = [Edit(old="a", new="bb"), Edit(old="b", new="c", count=3), Edit(old="zz", new="z", replace_all=True)]
    with pytest.raises(EditNotFoundError) as caught:
        apply_edits("a b", edits)
    assert caught.value.details["number"] == 3
    assert apply_edits("a b", edits[:2]) == EditOutcome(
        text="cc c", spans=(TextEdit(0, 1, "cc"), TextEdit(2, 3, "c")), counts=(1, 3)
    )


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a\r\nb\r\nc", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc"),
        ("a\rb\rc", "a\nb", "a\nx\nb", "a\rx\rb\rc"),
        ("a\r\nb\nc\rd", "a\nb\n", "a\nz\nb\ny\n", "a\r\nz\r\nb\ny\nc\rd"),
        ("a\nb\r\nc\n", "b", "b\nx", "a\nb\nx\r\nc\n"),
        ("a\nb\n", "b", "x\r\ny", "a\nx\r\ny\n"),
        ("aaa", "a", "bb", None),
    ],
)
def test_new_lines_end_like_their_neighbours(text: str, old: str, new: str, expected: str | None) -> None:
    if expected is None:
        assert apply_edits(text, [Edit(old=old, new=new, replace_all=True)]).text == text.replace(old, new)
    else:
        assert apply_edits(text, [Edit(old=old, new=new)]).text == expected


def test_matches_of_a_long_repetition_are_found_in_linear_time() -> None:
    text, old = "a\r\n" * 20_000, "a\n" * 1000 + "b"
    with pytest.raises(EditNotFoundError):
        apply_edits(text, [Edit(old=old, new="x")])
    assert apply_edits(text, [Edit(old="a\n", new="", replace_all=True)]).counts == (20_000,)


@pytest.mark.parametrize("line", [-1, 3])
def test_lines_are_not_inserted_behind_a_line_that_is_not_there(line: int) -> None:
    with pytest.raises(InvalidArgumentError):
        insert_lines("a\nb\n", line, "x\n")


@pytest.mark.parametrize(
    ("text", "line", "new", "expected"),
    [
        ("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
        ("a\r\nb", 2, "x\ny\n", "a\r\nb\r\nx\r\ny"),
        ("a\nb\r\n", 0, "x", "x\na\nb\r\n"),
        ("", 0, "x", "x\n"),
    ],
)
def test_inserted_lines_end_like_their_neighbours(text: str, line: int, new: str, expected: str) -> None:
    assert insert_lines(text, line, new).text == expected


@pytest.mark.parametrize(("lines", "is_shown"), [(50_000, True), (50_001, False)])
def test_the_likest_place_of_a_text_of_very_many_lines_is_not_searched(lines: int, is_shown: bool) -> None:
    text = "word\n" * lines
    with pytest.raises(EditNotFoundError) as caught:
        apply_edits(text, [Edit(old="WORD word", new="")])
    assert (caught.value.details.get("closest") is not None) is is_shown
