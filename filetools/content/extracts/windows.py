"""Windows: line ranges of files of any size, with memory bounded by the window and not by the file."""

from __future__ import annotations

import sys
import time
from array import array
from typing import Final

from filetools.content.extracts.ranges import STEP_BYTES, ByteSource, TextSource, TextWindow
from filetools.content.formats import TextFormat, unit_bytes
from filetools.content.identity_cache import Identity, IdentityCache
from filetools.errors import InvalidArgumentError

COUNTED_BYTES: Final = 10 * 1024 * 1024
"""Lines are counted in files up to this size, so that lines requested from the end have numbers from the start."""
_TYPES: Final = {2: "H", 4: "I"}
"""Array types by the size of a code unit in bytes."""
_PLACES: Final = IdentityCache[tuple[int, int]](256)
"""For recently read files: the offset of the line located last, and the number of line ends before it."""


def read_lines(
    source: ByteSource,
    text_format: TextFormat,
    *,
    offset: int,
    limit: int | None,
    max_chars: int,
    path: str,
    column: int = 1,
    identity: Identity | None = None,
) -> TextWindow:
    """Return whole lines from line `offset` on, as many as fit.

    A line that no longer fits starts the next window. A first line longer than `max_chars` is cut at a character: `is_cut` is
    True, the rest begins at a later column, and `next_offset` is the next line. Paging thus always advances and never drops
    text silently.

    Args:
        source: The open file.
        text_format: Its text format; it must be stateless.
        offset: Line number from 1, or from the end: -1 is the last line. Lines before the first mean the first.
        limit: At most this many lines, from 1; None for all to the end.
        max_chars: At most this many characters (code points), from 1.
        path: Workspace-relative path, for errors.
        column: Start of the window in its first line, in characters from 1.
        identity: Identity of the file; if given, the next read can continue from the position found by this one.

    Returns:
        The window; empty if the file has fewer lines. Lines counted from the end keep negative numbers if the file is over
        10 MiB.

    Raises:
        InvalidArgumentError: A number is out of range, or the column is after the end of the line.
        EncodingError: The window's bytes are not text of this format.
    """
    _require_range(offset, limit, max_chars, column)
    scan = LineScan(TextSource(source, text_format, path), identity)
    first: int = offset
    if offset < 0 and source.size <= COUNTED_BYTES:
        first = max(1, scan.total_lines() + offset + 1)
    if first > 0:
        start = scan.start_of(first)
    else:
        start, is_whole = scan.start_from_end(-first)
        first = 1 if is_whole else first
    if start is None:
        return TextWindow(content="", first=first, truncated=False, next_offset=None, total_lines=scan.counted)
    return _collect(scan, start, first, limit, max_chars, column)


def _require_range(offset: int, limit: int | None, max_chars: int, column: int) -> None:
    if column < 1:
        raise InvalidArgumentError(f"column counts characters from 1; there is no column {column}")
    if offset == 0:
        raise InvalidArgumentError("offset counts lines from 1, or backwards from -1; there is no line 0")
    if limit is not None and limit < 1:
        raise InvalidArgumentError(f"limit must be at least 1, not {limit}")
    if max_chars < 1:
        raise InvalidArgumentError(f"max_chars must be at least 1, not {max_chars}")


def _collect(scan: LineScan, start: int, first: int, limit: int | None, max_chars: int, column: int) -> TextWindow:
    """Return the window whose first line begins at the byte `start`."""
    source, end = scan.source, scan.end
    decoder = source.decoder(start)
    texts: list[str] = []
    chars = lines = 0
    position, left = start, column - 1
    while position < source.file.size and chars <= max_chars and (limit is None or lines < limit):
        piece = source.file.read_at(position, STEP_BYTES)
        found = scan.count(piece)
        if limit is not None and lines + found >= limit:
            found = limit - lines
            piece = piece[: scan.after(piece, found)]
        # The file was truncated meanwhile and ends here.
        position = position + len(piece) if piece else source.file.size
        text = decoder.feed(piece, final=position >= source.file.size)
        if left and 0 <= (length := text.find(end)) < left:
            raise _column_error(first, column, column - 1 - left + length)
        texts.append(text[left:])
        left -= min(left, len(text))
        chars += len(texts[-1])
        lines += found
    if left:
        raise _column_error(first, column, column - 1 - left)
    text = "".join(texts)
    is_cut, ends_file = False, position >= source.file.size and chars <= max_chars
    if chars > max_chars:
        text = text[: text.rfind(end, 0, max_chars) + 1]
        is_cut, lines = not text, text.count(end)
        text = text or "".join(texts)[:max_chars]
    after = first + lines + (not text.endswith(end))
    return TextWindow(
        content=text,
        first=first,
        truncated=not ends_file,
        # Counted from the end, 0 is after the last line.
        next_offset=None if ends_file or after == 0 else after,
        total_lines=after - 1 if ends_file and first > 0 else scan.counted,
        is_cut=is_cut,
    )


def _column_error(line: int, column: int, length: int) -> InvalidArgumentError:
    return InvalidArgumentError(f"Line {line} has {length} characters; there is no column {column}")


class LineScan:
    """Finds lines by counting line ends in bounded pieces, for one read."""

    def __init__(self, source: TextSource, identity: Identity | None = None) -> None:
        self.source = source
        self._identity = identity
        self._taken_ns = time.time_ns()
        self._unit = unit_bytes(source.text_format.encoding)
        self.end = self._line_end()
        """The character that ends a line: LF (also in CRLF), or CR if the file has no LF at all."""
        self._wanted = self._value(self.end)
        self.counted: int | None = None
        """Number of lines of the whole file; None until they have been counted."""

    def count(self, piece: bytes) -> int:
        """Return the number of line ends in whole code units."""
        return self._units(piece).count(self._wanted)

    def after(self, piece: bytes, number: int) -> int:
        """Return the position after the `number`-th line end, counted from 1; the piece must have that many."""
        units, place = self._units(piece), 0
        for _ in range(number):
            place = units.index(self._wanted, place) + 1
        return place * self._unit

    def start_of(self, line: int) -> int | None:
        """Return the offset where a line begins, counted from 1. If the file has fewer lines, set `counted`, return None."""
        position, ends = self.source.first, 0
        encoding, identity = self.source.text_format.encoding, self._identity
        kept = None if identity is None else _PLACES.get(identity, place=encoding)
        if kept is not None and kept[1] < line:
            position, ends = kept
        if ends == line - 1 and self.source.file.size > position:
            return position
        for piece in self.source.pieces(position):
            found = self.count(piece)
            if ends + found >= line - 1:
                start = position + self.after(piece, line - 1 - ends)
                if start < self.source.file.size:
                    if identity is not None:
                        _PLACES.put(identity, (start, line - 1), taken_ns=self._taken_ns, place=encoding)
                    return start
            ends += found
            position += len(piece)
        self.counted = ends + self._has_tail()
        return None

    def total_lines(self) -> int:
        """Count the lines of the whole file."""
        self.start_of(sys.maxsize)
        return self.counted or 0

    def start_from_end(self, lines: int) -> tuple[int, bool]:
        """Return the offset where the last `lines` lines begin, reading backwards only as far as needed.

        Returns:
            The offset, and True if it is the start because the file has no more lines; they are then counted.
        """
        source, tail = self.source, self._has_tail()
        # The wanted line end precedes the first of the lines; text after the last line end counts as a line.
        wanted = lines + 1 - tail
        ends, position, unit = 0, source.file.size, self._unit
        while position > source.first:
            begin = max(source.first, position - STEP_BYTES)
            begin -= (begin - source.first) % unit
            piece = source.file.read_at(begin, position - begin)
            found = self.count(piece)
            if ends + found >= wanted:
                return begin + self.after(piece, ends + found - wanted + 1), False
            ends += found
            position = begin
        self.counted = ends + tail
        return source.first, True

    def _has_tail(self) -> bool:
        """Return True if there is text after the last line end."""
        size, unit = self.source.file.size, self._unit
        length = size - self.source.first
        if length <= 0 or length % unit:
            return length > 0
        return not self.count(self.source.file.read_at(size - unit, unit))

    def _line_end(self) -> str:
        feed, carriage_return = self._value("\n"), self._value("\r")
        found = "\n"
        # Most files have an LF in their first piece; only files without any LF must be read to their end.
        for piece in self.source.pieces(self.source.first):
            units = self._units(piece)
            if feed in units:
                return "\n"
            if carriage_return in units:
                found = "\r"
        return found

    def _value(self, character: str) -> int:
        """Return the code unit of a character as `_units` shows it."""
        return int.from_bytes(character.encode(self.source.text_format.encoding), sys.byteorder)

    def _units(self, piece: bytes) -> bytes | array[int]:
        """Return the whole code units of a piece as numbers: the same bytes may span two units."""
        unit = self._unit
        return piece if unit == 1 else array(_TYPES[unit], piece[: len(piece) // unit * unit])
