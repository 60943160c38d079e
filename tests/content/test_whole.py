"""Cuts that leave whole what is seen as one character."""

from __future__ import annotations

import pytest

from filetools.content import whole_start


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
        ("a\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 4, "a\U0001f1e9\U0001f1ea"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7b", 3, "\U0001f1e9\U0001f1ea"),
        ("\U0001f1e9\U0001f1ea\U0001f1ebb", 3, "\U0001f1e9\U0001f1ea\U0001f1eb"),
        ("e" + "\u0301" * 100, 50, "e" + "\u0301" * 49),
    ],
)
def test_a_text_is_cut_at_whole_characters(text: str, most: int, start: str) -> None:
    assert whole_start(text, most) == start
