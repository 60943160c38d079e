"""Long texts in pages, whose concatenation is the text; windows by page, line or character.

Positions count code points. Only LF ends a line; CRLF keeps its CR.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Literal

from msgspec import Struct

from filetools.content.extracts.whole import whole_end

WindowMode = Literal["page", "line", "char"]


class PageWindow(Struct, frozen=True, kw_only=True):
    """A part of a text."""

    text: str
    start: int
    """In the unit of the mode: pages and lines count from 1, characters from 0."""
    count: int
    """Number of units in it."""
    first_line: int
    last_line: int
    """Lines of its first and its last character, from 1."""
    is_continued: bool
    """True if it begins inside a line."""
    is_truncated: bool
    """True if it ends inside a line."""


class PagedText:
    """A text and its cuts; reading a page does not scan the text.

    Args:
        text: The text.
        page_size: Maximum number of characters of a page, from 1.
    """

    def __init__(self, text: str, page_size: int) -> None:
        self.text = text
        self._starts, self._first_lines = _cut(text, page_size)
        ends = self._first_lines[-1] + text.count("\n", self._starts[-1]) - 1
        self.total_lines = max(1, ends + (not text.endswith("\n"))) if text else 1

    @property
    def total_pages(self) -> int:
        """Number of pages; an empty text has one."""
        return len(self._starts)

    def page_of(self, position: int) -> int:
        """Return the page, from 1, that contains a character."""
        return bisect_right(self._starts, position)

    def line_of(self, position: int) -> int:
        """Return the line, from 1, that contains a character."""
        page = self.page_of(position) - 1
        return self._first_lines[page] + self.text.count("\n", self._starts[page], position)

    def whole(self) -> PageWindow:
        """Return all of the text."""
        return self._window(0, len(self.text), start=1, count=self.total_pages)

    def bounds(self, mode: WindowMode) -> tuple[int, int]:
        """Return the numbers of the first and the last page, line or character; the first is never missing."""
        first = 0 if mode == "char" else 1
        total = {"page": self.total_pages, "line": self.total_lines, "char": len(self.text)}[mode]
        return first, max(first, first + total - 1)

    def window(self, mode: WindowMode, start: int, count: int) -> PageWindow:
        """Return a range of pages, lines or characters; fewer than `count` at the end of the text.

        Args:
            mode: The unit of `start` and `count`.
            start: The first one, within `bounds`; pages and lines count from 1, characters from 0.
            count: Number of units, from 1.
        """
        if mode == "char":
            there = min(count, len(self.text) - start)
            return self._window(start, start + there, start=start, count=there)
        there = min(count, self.bounds(mode)[1] + 1 - start)
        place = self._page_start if mode == "page" else self.start_of_line
        return self._window(place(start), place(start + there), start=start, count=there)

    def _page_start(self, page: int) -> int:
        return self._starts[page - 1] if page <= len(self._starts) else len(self.text)

    def start_of_line(self, line: int) -> int:
        """Return the position where a line begins; for lines after the last, the end of the text."""
        if line > self.total_lines:
            return len(self.text)
        page = bisect_right(self._first_lines, line - 1) - 1  # the last page that begins in an earlier line
        if page < 0:
            return 0
        position = self._starts[page]
        for _ in range(line - self._first_lines[page]):
            position = self.text.index("\n", position) + 1
        return position

    def _window(self, begin: int, end: int, *, start: int, count: int) -> PageWindow:
        return PageWindow(
            text=self.text[begin:end],
            start=start,
            count=count,
            first_line=self.line_of(begin) if begin < len(self.text) else self.total_lines,
            last_line=self.line_of(max(begin, end - 1)) if self.text else 1,
            is_continued=begin > 0 and self.text[begin - 1] != "\n",
            is_truncated=0 < end < len(self.text) and self.text[end - 1] != "\n",
        )


def _cut(text: str, size: int) -> tuple[array[int], array[int]]:
    """Return the start and the line number of each page."""
    starts, lines = array("Q", [0]), array("Q", [1])
    begin, line, length = 0, 1, len(text)
    rfind, count = text.rfind, text.count
    while length - begin > size:
        end = rfind("\n", begin + (size - 1) // 2, begin + size) + 1 or whole_end(text, begin, begin + size)
        line += count("\n", begin, end)
        begin = end
        starts.append(begin)
        lines.append(line)
    return starts, lines
