"""Cuts that leave whole what is seen as one character."""

from __future__ import annotations

import pytest

from filetools.content.extracts.whole import is_one_character, whole_start


@pytest.mark.parametrize(
    ("text", "most", "start"),
    [
        ("abc", 3, "abc"),
        ("abc", 2, "ab"),
        ("abc", 0, ""),
        ("ae\u0301x", 2, "a"),
        ("a\U0001f44d\U0001f3fdb", 2, "a"),
        ("a\U0001f468\u200d\U0001f469b", 3, "a"),
        ("a\r\nb", 2, "a"),
        ("e" + "\u0301" * 100, 50, "e" + "\u0301" * 49),
    ],
)
def test_a_text_is_cut_at_whole_characters(text: str, most: int, start: str) -> None:
    assert whole_start(text, most) == start


@pytest.mark.parametrize(
    "text",
    ["", "ok", "y ", "\n\n", "\U0001f44d\U0001f44d", "e\u0301e"],
)
def test_none_and_several_are_not_one_character(text: str) -> None:
    assert not is_one_character(text)


@pytest.mark.parametrize(
    "text",
    ["y", "\r\n", "\u0301", "e\u0301", "e" + "\u0301" * 100, "\U0001f44d\U0001f3fd", "\U0001f1e9",
     "\U0001f468\u200d\U0001f469\u200d\U0001f467"],
)  # fmt: skip
def test_what_is_seen_as_one_is_one_character(text: str) -> None:
    assert is_one_character(text)


def test_no_more_is_read_than_the_first_two_characters() -> None:
    class Counted(str):
        __slots__ = ()

        def __getitem__(self, place: object) -> str:
            read.append(place)
            return str.__getitem__(self, place)  # type: ignore[index]

    read: list[object] = []
    assert not is_one_character(Counted("\U0001f1e9\U0001f1ea" * 1000))
    assert len(read) < 20
