"""Remembering texts: those used last stay."""

from __future__ import annotations

from filetools.content.paging import PagedText
from filetools.descriptors.rows import MOST_TEXTS, RecentTexts


def test_a_text_that_was_just_read_is_not_the_next_to_go() -> None:
    recent = RecentTexts()
    for number in range(MOST_TEXTS):
        recent.put(str(number), PagedText("x", 10))
    assert recent.get("0", 10) is not None
    recent.put("new", PagedText("x", 10))
    assert recent.get("0", 10) is not None
    assert recent.get("1", 10) is None
