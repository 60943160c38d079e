from __future__ import annotations

from filetools.content.editing.closest import MOST_PLACES, lines_around


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
