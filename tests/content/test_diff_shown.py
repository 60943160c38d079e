"""Long differences: cut around what changes, with the true count of what is left out."""

from __future__ import annotations

import re

import pytest

from filetools.content.differences.diff import narrowed, shortened, unified_diff


def test_short_lines_and_differences_stay_as_they_are() -> None:
    lines = [" one", "-two", "+TWO", "\\ No newline at end of file"]
    assert narrowed(lines, 10_000) == lines
    assert shortened("".join(f"{line}\n" for line in lines), 1000) == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("places", [(7777,), (3, 9_999), (0,), (19_999,), (5, 10_000, 15_000)])
def test_every_change_inside_a_long_line_is_shown_and_all_else_is_counted(places: tuple[int, ...]) -> None:
    words = [f"name {number}" for number in range(20_000)]
    old = ",".join(words)
    for place in places:
        words[place] = f"DANGER {place}"
    lines = narrowed([f"-{old}", f"+{','.join(words)}"], 300)
    assert all(f"DANGER {place}" in lines[1] for place in places)
    for line, whole in zip(lines, (old, ",".join(words)), strict=True):
        left = [int(number.replace(",", "")) for number in re.findall(r"…\(([\d,]+) unchanged characters\)…", line)]
        shown = re.sub(r"…\([\d,]+ unchanged characters\)…", "", line)
        assert len(shown) - 1 + sum(left) == len(whole)
        assert len(shown) < 1000


def test_context_that_is_long_is_counted_too() -> None:
    [line] = narrowed([" " + "x" * 5000], 300)
    assert len(line) < 300
    assert "unchanged characters" in line


@pytest.mark.parametrize("size", [20_000, 2_000_000])
def test_what_is_left_out_is_counted_and_no_part_hides_the_next(size: int) -> None:
    noise = "".join(f"x{number} = {number}\n" for number in range(size // 12))
    diff = unified_diff("", noise, "/dev/null", "b/a.py") + unified_diff("a\n", "DANGER\n", "a/b.py", "b/b.py")
    text = shortened(diff, 4000)
    assert "+DANGER" in text
    [(characters, lines)] = re.findall(r"… ([\d,]+) more characters are not shown \(([\d,]+) lines\)\n$", text)
    shown = text[: text.rindex("… ")]
    assert len(shown) + int(characters.replace(",", "")) == len(diff)
    assert shown.count("\n") + int(lines.replace(",", "")) == diff.count("\n")


def test_of_a_replaced_text_both_sides_are_shown() -> None:
    text = shortened(unified_diff("old\n" * 5000, "new\n" * 5000, "a/a", "b/a"), 4000)
    assert text.count("-old") > 300
    assert text.count("+new") > 300


def test_a_line_without_an_end_in_sight_is_cut_inside() -> None:
    text = shortened(unified_diff("", "y" * 100_000, "/dev/null", "b/a"), 4000)
    assert len(text) < 5000
    assert re.search(r"… 9[67],\d{3} more characters are not shown", text)
