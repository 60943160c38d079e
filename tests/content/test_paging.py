"""Pages of long texts: no character is out of reach, no page is too long, and all ways of reading agree."""

from __future__ import annotations

import unicodedata
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.extracts.paging import PagedText

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
PIECES = (
    "a", "word ", "\n", "\r\n", "\r", "\x0b", "\x85", "\u2028", "e\u0301", FAMILY,
    "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "\ud800",
    "x" * 9,
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
sizes = st.integers(min_value=1, max_value=40)


def pages_of(paged: PagedText) -> list[str]:
    return [paged.window("page", number, 1).text for number in range(1, paged.total_pages + 1)]


def lines_of(text: str) -> list[str]:
    """The lines of a text, each with its LF; the only line of an empty one is empty."""
    *ended, rest = text.split("\n")
    return [f"{line}\n" for line in ended] + ([rest] if rest or not ended else [])


@pytest.mark.parametrize(
    ("text", "pages", "lines", "characters"),
    [("a\nb\nc\n", (1, 3), (1, 3), (0, 5)), ("", (1, 1), (1, 1), (0, 0))],
)
def test_the_first_and_the_last_of_each_are_known(
    text: str, pages: tuple[int, int], lines: tuple[int, int], characters: tuple[int, int]
) -> None:
    paged = PagedText(text, 2)
    assert [paged.bounds(mode) for mode in ("page", "line", "char")] == [pages, lines, characters]


@given(texts, sizes)
def test_joined_pages_are_the_text_and_none_is_too_long(text: str, size: int) -> None:
    pages = pages_of(PagedText(text, size))
    assert "".join(pages) == text
    assert max(map(len, pages)) <= size
    assert all(pages) or text == ""


@given(texts, sizes)
def test_lines_are_those_of_the_text(text: str, size: int) -> None:
    paged, lines = PagedText(text, size), lines_of(text)
    assert paged.total_lines == len(lines)
    assert [paged.window("line", number, 1).text for number in range(1, len(lines) + 1)] == lines


@given(texts, sizes)
def test_pages_lines_and_characters_agree(text: str, size: int) -> None:
    paged, lines = PagedText(text, size), lines_of(text)
    ends = list(accumulate(map(len, lines)))
    for number in range(1, paged.total_pages + 1):
        page = paged.window("page", number, 1)
        begin = sum(len(each) for each in pages_of(paged)[: number - 1])
        if not text:
            assert (page.first_line, page.last_line) == (1, 1)
            continue
        assert paged.window("char", begin, len(page.text)) == paged_part(page, begin)
        assert paged.page_of(begin) == number
        assert page.first_line == next(at for at, end in enumerate(ends, 1) if end > begin)
        assert page.last_line == next(at for at, end in enumerate(ends, 1) if end >= begin + len(page.text))
        assert page.is_continued == (begin not in (0, *ends))
        assert page.is_truncated == (begin + len(page.text) not in ends)


def paged_part(page: object, begin: int) -> object:
    """The same part, as a window of characters."""
    from msgspec.structs import replace

    from filetools.content.extracts.paging import PageWindow

    assert isinstance(page, PageWindow)
    return replace(page, start=begin, count=len(page.text))


@given(texts, st.integers(3, 40))
def test_a_cut_parts_no_character_from_what_belongs_to_it(text: str, size: int) -> None:
    paged = PagedText(text, size)
    cuts = [at for at in accumulate(map(len, pages_of(paged))) if at < len(text)]
    for at in cuts:
        if text[at - 1] == "\n":
            continue  # a line end is always a place to cut
        belongs = (
            (text[at - 1] == "\r" and text[at] == "\n")
            or unicodedata.category(text[at]) in ("Mn", "Mc", "Me")
            or "\u200d" in (text[at - 1], text[at])
            or "\U0001f3fb" <= text[at] <= "\U0001f3ff"
        )
        # Only where all that a page may be moved back by belongs together.
        run = text[max(0, at - min(size, 16)) : at]
        assert not belongs or all(not part.isascii() or part == "\r" for part in run)


def test_a_page_ends_at_a_line_end_if_it_is_then_half_full() -> None:
    assert pages_of(PagedText("12345\n78901234", 10)) == ["12345\n", "78901234"]
    assert pages_of(PagedText("123\n567890abcd", 10)) == ["123\n567890", "abcd"]
    assert pages_of(PagedText("1234\n67890abcd", 10)) == ["1234\n", "67890abcd"]


def test_only_lf_ends_a_line() -> None:
    paged = PagedText("a\rb\x0bc\x0cd\x85e\u2028f\u2029g\r\nh", 100)
    assert paged.total_lines == 2
    assert paged.window("line", 2, 5).text == "h"


def test_a_cut_is_moved_back_over_what_belongs_together_but_not_for_ever() -> None:
    joined = "\u200d".join("\U0001f468" for _ in range(40))
    assert [len(page) for page in pages_of(PagedText(joined, 20))][:1] == [20]
    assert pages_of(PagedText("1234567\r\n", 8)) == ["1234567", "\r\n"]
    assert pages_of(PagedText(f"123{FAMILY}", 6)) == ["123", FAMILY]


class CountedText(str):
    """A text that counts how many characters its searches may look at."""

    __slots__ = ("looked",)
    looked: int

    def __new__(cls, text: str) -> CountedText:
        made = super().__new__(cls, text)
        made.looked = 0
        return made

    def count(self, part: str, start: int = 0, end: int | None = None, /) -> int:  # type: ignore[override]
        stop = len(self) if end is None else end
        self.looked += stop - start
        return super().count(part, start, stop)

    def rfind(self, part: str, start: int = 0, end: int | None = None, /) -> int:  # type: ignore[override]
        stop = len(self) if end is None else end
        self.looked += stop - start
        return super().rfind(part, start, stop)


@pytest.mark.parametrize("line", ["x" * 79 + "\n", "x", "\u0301", "\u200d"])
def test_cutting_takes_steps_in_proportion_to_the_text(line: str) -> None:
    looked = []
    for times in (1, 4):
        text = CountedText(line * (40_000 // len(line)) * times)
        PagedText(text, 400)
        looked.append(text.looked)
    assert looked[1] <= 4.2 * looked[0]
    assert looked[0] <= 4 * 40_000
