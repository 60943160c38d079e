"""Finds lines of a large file by counting line ends in bounded pieces, and remembers the counts for the next reader."""

from __future__ import annotations

import sys
import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from filetools.content.formats import TextFormat
from filetools.content.identity_cache import Identity, is_settled
from filetools.content.ranges import STEP_BYTES, TextSource, unit_bytes


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


SPACING_BYTES: Final = 4 * 65_536
_MAX_CHECKPOINTS: Final = 8192


class LineEnd(Struct, frozen=True, kw_only=True):
    """The code unit that ends the lines of one file: LF (of CRLF too), or CR where the file has no LF at all."""

    character: str
    encoding: str
    unit: int
    encoded: bytes

    def count(self, piece: bytes) -> int:
        """Return how many there are in whole code units."""
        if self.unit == 1:
            return piece.count(self.encoded)
        # The same bytes also stand across two units; only decoding tells. Halves of a pair at the cuts are no matter.
        return piece.decode(self.encoding, "ignore").count(self.character)

    def is_in(self, piece: bytes) -> bool:
        """Return whether there is one in whole code units."""
        return self.encoded in piece and (self.unit == 1 or self.count(piece) > 0)

    def after(self, piece: bytes, number: int) -> int:
        """Return the place behind the `number`-th of them, counted from 1; the piece has that many."""
        low, high = 0, len(piece)
        while high - low > 2 * self.unit:
            middle = low + (high - low) // (2 * self.unit) * self.unit
            found = self.count(piece[low:middle])
            if found >= number:
                high = middle
            else:
                low, number = middle, number - found
        return low + self.unit if self.count(piece[low : low + self.unit]) >= number else low + 2 * self.unit


def line_end(character: str, text_format: TextFormat) -> LineEnd:
    """Return how a file of this format stores the line end `character`, "\\n" or "\\r"."""
    return LineEnd(
        character=character,
        encoding=text_format.encoding,
        unit=unit_bytes(text_format),
        encoded=character.encode(text_format.encoding),
    )


class LineIndex:
    """Line ends counted up to evenly spaced places of one file, from its start as far as anybody has read.

    The places are bytes behind the byte-order mark. Lives in a `LineIndexCache`, or for one reading; safe in every
    thread. Its memory is bounded: of a file too large for the places, every second one is forgotten.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spacing = SPACING_BYTES
        self._counts: array[int] = array("Q")
        self.end: LineEnd | None = None
        """What ends a line; None until somebody has found out."""
        self.total_lines: int | None = None
        """Lines of the whole file; None until somebody has counted to its end."""

    def learn(self, position: int, ends: int) -> None:
        """Remember that `ends` line ends stand before `position`; ignored unless it is the next place wanted."""
        with self._lock:
            if position != (len(self._counts) + 1) * self._spacing:
                return
            self._counts.append(ends)
            if len(self._counts) >= _MAX_CHECKPOINTS:
                self._counts = self._counts[1::2]
                self._spacing *= 2

    def before(self, end_number: int) -> tuple[int, int]:
        """Return the last known place before the `end_number`-th line end, and how many ends stand before it."""
        with self._lock:
            known = bisect_left(self._counts, end_number)
            return known * self._spacing, self._counts[known - 1] if known else 0


class LineIndexCache:
    """The line indexes of the files read last, by identity and format. Lives as long as the workspace is open."""

    def __init__(self, max_entries: int = 64) -> None:
        self._max_entries = max_entries
        self._indexes: OrderedDict[tuple[Identity, TextFormat], LineIndex] = OrderedDict()
        self._lock = threading.Lock()

    def index_of(self, identity: Identity, text_format: TextFormat, *, taken_ns: int) -> LineIndex:
        """Return the index of a file, a new one if none is kept; it is kept unless the file may change unnoticed.

        Args:
            identity: What the open file is: device, inode, size, mtime_ns, ctime_ns.
            text_format: How it is read; another encoding has other line ends.
            taken_ns: `time.time_ns()` before the identity was taken.
        """
        if not is_settled(identity, taken_ns):
            return LineIndex()
        with self._lock:
            index = self._indexes.setdefault((identity, text_format), LineIndex())
            self._indexes.move_to_end((identity, text_format))
            if len(self._indexes) > self._max_entries:
                self._indexes.popitem(last=False)
            return index
