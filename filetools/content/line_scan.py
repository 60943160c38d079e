"""Finding lines of a file of any size by counting line ends, one bounded piece at a time."""

from __future__ import annotations

import sys
from typing import Final

from filetools.content.byte_source import STEP_BYTES, TextSource, unit_bytes
from filetools.content.line_index import LineEnd, LineIndex, line_end


class LineScan:
    """The places of lines in one open file. Lives for one reading; what it learns goes into the index."""

    def __init__(self, source: TextSource, index: LineIndex) -> None:
        self._source = source
        self._unit: Final = unit_bytes(source.text_format)
        self._index = index
        self.end: Final = index.end or self._learn_end()

    def start_of(self, line: int) -> int | None:
        """Return the byte where a line begins, counted from 1, or None if the file has fewer lines.

        If so, the index knows the number of lines afterwards.
        """
        if line == 1 and self._source.size > self._source.first:
            return self._source.first
        position, ends = self._index.before(line - 1)
        for piece in self._source.pieces(self._source.first + position):
            found = self.end.count(piece)
            if ends + found >= line - 1:
                start = self._source.first + position + self.end.after(piece, line - 1 - ends)
                if start < self._source.size:
                    return start
            ends += found
            position += len(piece)
            self._index.learn(position, ends)
        self._index.total_lines = ends + self._has_tail()
        return None

    def total_lines(self) -> int:
        """Return the number of lines, counting on from where the index ends."""
        if self._index.total_lines is None:
            self.start_of(sys.maxsize)
        return self._index.total_lines or 0

    def start_from_end(self, lines: int) -> tuple[int, bool]:
        """Return the byte where the last `lines` lines begin, reading backwards no farther than needed.

        Returns:
            The byte, and whether it is the start because the file has no more lines than that. If so, the index knows
            their number afterwards.
        """
        tail = self._has_tail()
        # The wanted end is the one before the first of the lines; text behind the last end is one of them.
        wanted = lines + 1 - tail
        ends = 0
        position = self._source.size
        while position > self._source.first:
            begin = self._step_back(position)
            piece = self._source.read_at(begin, position - begin)
            found = self.end.count(piece)
            if ends + found >= wanted:
                return begin + self.end.after(piece, ends + found - wanted + 1), False
            ends += found
            position = begin
        self._index.total_lines = ends + tail
        return self._source.first, True

    def _step_back(self, position: int) -> int:
        begin = max(self._source.first, position - STEP_BYTES)
        return begin - (begin - self._source.first) % self._unit

    def _has_tail(self) -> bool:
        length = self._source.size - self._source.first
        if length <= 0 or length % self._unit:
            return length > 0
        return self._source.read_at(self._source.size - self._unit, self._unit) != self.end.encoded

    def _learn_end(self) -> LineEnd:
        feed = line_end("\n", self._source.text_format)
        carriage_return = line_end("\r", self._source.text_format)
        found = feed
        # Most files show an LF in their first piece; only one without any LF has to be read to its end.
        for piece in self._source.pieces(self._source.first):
            if feed.is_in(piece):
                found = feed
                break
            if found is feed and carriage_return.is_in(piece):
                found = carriage_return
        self._index.end = found
        return found
