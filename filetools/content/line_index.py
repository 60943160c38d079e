"""What was learnt about where the lines of a large file are, so that the next reader need not count again."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from filetools.content.byte_source import unit_bytes
from filetools.content.formats import TextFormat
from filetools.content.identity_cache import Identity, is_settled

SPACING_BYTES: Final = 4 * 65_536
_MAX_CHECKPOINTS: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEnd:
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
