"""Windows: ranges of lines out of files of any size, with memory bounded by the window and not by the file."""

from __future__ import annotations

import sys
import time
from typing import Final

from msgspec import Struct

from filetools.content.extracts.ranges import STEP_BYTES, ByteSource, TextSource, TextWindow
from filetools.content.formats import TextFormat, unit_bytes
from filetools.content.identity_cache import Identity, IdentityCache
from filetools.errors import InvalidArgumentError

COUNTED_BYTES: Final = 10 * 1024 * 1024
"""Files up to this size are counted, so that lines asked for from the end get their numbers from the start."""
_PLACES: Final = IdentityCache[tuple[int, int]](256)
"""Of the files read last: where the line begins that was looked for last, and the line ends before it."""


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
    """Return whole lines from the line `offset` on, as many as fit.

    A line that no longer fits begins the next window. A first line that alone is longer than `max_chars` is cut at a
    character: `is_cut` says so, the rest begins at a later column, and `next_offset` is the next line, so that paging
    always moves on and never drops text without saying so.

    Args:
        source: The open file.
        text_format: How its text is stored; in one whose bytes mean the same wherever they are.
        offset: Line number from 1, or from the end: -1 is the last line. Before the beginning means the beginning.
        limit: At most this many lines, from 1; None for all to the end.
        max_chars: At most this many characters (code points), from 1.
        path: Workspace-relative path, for errors.
        column: Where in its first line the window begins, in characters from 1.
        identity: Of the file; if given, the next reading goes on from where this one began.

    Returns:
        The window; an empty one if the file has fewer lines. Lines counted from the end keep negative numbers where
        the file is over 10 MiB.

    Raises:
        InvalidArgumentError: A number out of range, or a column behind the line.
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
        found = end.count(piece)
        if limit is not None and lines + found >= limit:
            found = limit - lines
            piece = piece[: end.after(piece, found)]
        # A file that was shortened meanwhile ends here.
        position = position + len(piece) if piece else source.file.size
        text = decoder.feed(piece, final=position >= source.file.size)
        if left and 0 <= (length := text.find(end.character)) < left:
            raise _behind(first, column, column - 1 - left + length)
        texts.append(text[left:])
        left -= min(left, len(text))
        chars += len(texts[-1])
        lines += found
    if left:
        raise _behind(first, column, column - 1 - left)
    text = "".join(texts)
    is_cut, ends_file = False, position >= source.file.size and chars <= max_chars
    if chars > max_chars:
        text = text[: text.rfind(end.character, 0, max_chars) + 1]
        is_cut, lines = not text, text.count(end.character)
        text = text or "".join(texts)[:max_chars]
    after = first + lines + (not text.endswith(end.character))
    return TextWindow(
        content=text,
        first=first,
        truncated=not ends_file,
        # Counted from the end, 0 is behind the last line.
        next_offset=None if ends_file or after == 0 else after,
        total_lines=after - 1 if ends_file and first > 0 else scan.counted,
        is_cut=is_cut,
    )


def _behind(line: int, column: int, length: int) -> InvalidArgumentError:
    return InvalidArgumentError(f"Line {line} has {length} characters; there is no column {column}")


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
        unit=unit_bytes(text_format.encoding),
        encoded=character.encode(text_format.encoding),
    )


class LineScan:
    """Finds lines by counting line ends in bounded pieces. Lives for one reading."""

    def __init__(self, source: TextSource, identity: Identity | None = None) -> None:
        self.source = source
        self._identity = identity
        self._taken_ns = time.time_ns()
        self.end: Final = _end_of(source)
        self.counted: int | None = None
        """Lines of the whole file; None until they have been counted."""

    def start_of(self, line: int) -> int | None:
        """Return the byte where a line begins, counted from 1; None, and `counted`, if the file has fewer lines."""
        position, ends = self.source.first, 0
        encoding, identity = self.source.text_format.encoding, self._identity
        kept = None if identity is None else _PLACES.get(identity, place=encoding)
        if kept is not None and kept[1] < line:
            position, ends = kept
        if ends == line - 1 and self.source.file.size > position:
            return position
        for piece in self.source.pieces(position):
            found = self.end.count(piece)
            if ends + found >= line - 1:
                start = position + self.end.after(piece, line - 1 - ends)
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
        """Return the byte where the last `lines` lines begin, reading backwards no farther than needed.

        Returns:
            The byte, and whether it is the start because the file has no more lines than that; then they are counted.
        """
        source, tail = self.source, self._has_tail()
        # The wanted end is the one before the first of the lines; text behind the last end is one of them.
        wanted = lines + 1 - tail
        ends, position, unit = 0, source.file.size, self.end.unit
        while position > source.first:
            begin = max(source.first, position - STEP_BYTES)
            begin -= (begin - source.first) % unit
            piece = source.file.read_at(begin, position - begin)
            found = self.end.count(piece)
            if ends + found >= wanted:
                return begin + self.end.after(piece, ends + found - wanted + 1), False
            ends += found
            position = begin
        self.counted = ends + tail
        return source.first, True

    def _has_tail(self) -> bool:
        """Whether text stands behind the last line end."""
        size, unit = self.source.file.size, self.end.unit
        length = size - self.source.first
        if length <= 0 or length % unit:
            return length > 0
        return self.source.file.read_at(size - unit, unit) != self.end.encoded


def _end_of(source: TextSource) -> LineEnd:
    feed, carriage_return = (line_end(each, source.text_format) for each in "\n\r")
    found = feed
    # Most files show an LF in their first piece; only one without any LF has to be read to its end.
    for piece in source.pieces(source.first):
        if feed.encoded in piece and feed.count(piece):
            return feed
        if found is feed and carriage_return.encoded in piece and carriage_return.count(piece):
            found = carriage_return
    return found
