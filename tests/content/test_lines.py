from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.lines import count_lines, newline_of
from filetools.models.words import Newline


@pytest.mark.parametrize(
    ("text", "newline", "lines"),
    [
        ("", "none", 0),
        ("a", "none", 1),
        ("\n", "lf", 1),
        ("a\nb", "lf", 2),
        ("a\r\nb\r\n", "crlf", 2),
        ("a\rb", "cr", 2),
        ("a\rb\r", "cr", 2),
        ("a\r\nb\n", "mixed", 2),
        ("a\rb\n", "mixed", 1),
        ("a\nb\r", "mixed", 2),
        ("a\r\r\n", "mixed", 1),
        ("a\u2028b\x0bc\x0cd\x85e", "none", 1),
    ],
)
def test_ends_and_lines(text: str, newline: Newline, lines: int) -> None:
    assert (newline_of(text), count_lines(text)) == (newline, lines)


@given(st.text(alphabet="a\r\n"))
def test_ends_and_lines_agree_with_a_splitter(text: str) -> None:
    ends = set(re.findall(r"\r\n|\r|\n", text))
    names: dict[str, Newline] = {"\n": "lf", "\r\n": "crlf", "\r": "cr"}
    assert newline_of(text) == ("mixed" if len(ends) > 1 else names[ends.pop()] if ends else "none")
    pieces = text.split("\n" if "\n" in text else "\r")
    assert count_lines(text) == len(pieces) - (pieces[-1] == "")
