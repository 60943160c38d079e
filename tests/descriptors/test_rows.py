"""Keeping and remembering texts: a long one is cut while it is kept, and those used last stay."""

from __future__ import annotations

import threading

import pytest

from filetools.content import PagedText
from filetools.descriptors import Descriptors, rows
from filetools.descriptors.rows import AT_ONCE_CHARACTERS, MOST_TEXTS, RecentTexts
from filetools.errors import DiskFullError

LONG = "line\n" * (AT_ONCE_CHARACTERS // 5 + 1)


class SlowTexts:
    """Texts whose keeping lasts until the text has been cut; or that have no room."""

    is_slow = True

    def __init__(self, *, is_full: bool = False) -> None:
        self.is_cut = threading.Event()
        self.is_full = is_full
        self.kept: dict[str, str] = {}

    def keep(self, text: str) -> tuple[str, int]:
        assert self.is_cut.wait(30)
        if self.is_full:
            raise DiskFullError("a text")
        self.kept["sha256:" + "0" * 64] = text
        return "sha256:" + "0" * 64, len(text)

    def get(self, name: str) -> str:
        return self.kept[name]


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> SlowTexts:
    texts = SlowTexts()

    def cut(text: str, page_size: int) -> PagedText:
        paged = PagedText(text, page_size)
        texts.is_cut.set()
        return paged

    monkeypatch.setattr(rows, "PagedText", cut)
    return texts


def test_a_long_text_is_cut_while_it_is_kept(texts: SlowTexts) -> None:
    frame = Descriptors(texts=texts).create(LONG)
    assert frame.attributes["total_lines"] == AT_ONCE_CHARACTERS // 5 + 1
    assert list(texts.kept.values()) == [LONG]


def test_a_long_text_without_room_is_refused_and_gets_no_name(texts: SlowTexts) -> None:
    descriptors = Descriptors(texts=texts)
    texts.is_full = True
    with pytest.raises(DiskFullError):
        descriptors.create(LONG)
    assert descriptors.all() == []


def test_a_text_that_was_just_read_is_not_the_next_to_go() -> None:
    recent = RecentTexts()
    for number in range(MOST_TEXTS):
        recent.put(str(number), PagedText("x", 10))
    assert recent.get("0", 10) is not None
    recent.put("new", PagedText("x", 10))
    assert recent.get("0", 10) is not None
    assert recent.get("1", 10) is None
