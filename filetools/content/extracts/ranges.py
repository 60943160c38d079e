"""Parts of files of any size, by lines or by bytes, with memory bounded by the part and not by the file."""

from __future__ import annotations

import codecs
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from filetools.content.formats import TextFormat, undecodable, unit_bytes
from filetools.content.identity_cache import Identity, IdentityCache
from filetools.errors import InvalidArgumentError, require_within

STEP_BYTES: Final = 65_536
"""Size of one read: small enough for the processor's cache and for the allocator to reuse without a system call."""
_UNFIT: Final = ("utf-7", "hz", "iso2022_", "big5", "cp932", "cp949", "cp950", "euc_", "gb", "johab", "shift_jis")
"""Encodings in which a character's start can only be found by decoding everything before it."""
_CONTINUATIONS: Final = bytes(range(0x80, 0xC0))
_MOST_LEFT: Final = 3
"""In UTF-8, a character has at most this many bytes after its first, each from 0x80 to 0xBF."""


class ByteSource(Struct, frozen=True):
    """An open file, or bytes in memory."""

    size: int
    """Size of the whole file in bytes."""
    read_at: Callable[[int, int], bytes]
    """Takes an offset and a count, and returns that many bytes of the file, fewer only at its end."""


def memory_source(content: bytes) -> ByteSource:
    """Return bytes in memory as a source."""
    return ByteSource(len(content), lambda offset, count: content[offset : offset + count])


class TextSource(Struct, frozen=True):
    """A byte source with the information needed to decode parts of it."""

    file: ByteSource
    text_format: TextFormat
    path: str

    @property
    def first(self) -> int:
        """Offset where the text begins, after the byte-order mark."""
        return len(self.text_format.bom)

    def pieces(self, position: int) -> Iterator[bytes]:
        """Yield the bytes from `position` to the end in pieces of `STEP_BYTES`."""
        while piece := self.file.read_at(position, STEP_BYTES):
            yield piece
            position += len(piece)


class PartDecoder:
    """Decodes consecutive pieces of a file from a position on, where a character must begin."""

    def __init__(self, source: TextSource, position: int) -> None:
        self._source = source
        self._fed = position
        self._decoder = codecs.getincrementaldecoder(source.text_format.encoding)()

    def feed(self, piece: bytes, *, final: bool) -> str:
        """Return the characters that `piece` completes.

        Raises:
            EncodingError: The bytes are not text of this format, or `final` and a character is cut.
        """
        self._fed += len(piece)
        try:
            return self._decoder.decode(piece, final)
        except UnicodeDecodeError as exc:
            # The codec's position counts from the bytes that it kept from earlier pieces.
            position = self._fed - len(exc.object) + exc.start
            raise undecodable(exc, self._source.text_format, path=self._source.path, position=position) from exc

    @property
    def position(self) -> int:
        """File offset up to which whole characters have been returned."""
        return self._fed - len(self._decoder.getstate()[0])


class TextWindow(Struct, frozen=True, kw_only=True):
    """A part of a file's text, line ends untouched."""

    content: str
    first: int
    """Its start: a line number for line ranges (negative if counted from the end), else a byte offset."""
    truncated: bool
    """True if the file continues after it."""
    next_offset: int | None
    """Start of the next part, counted like `first`; None if nothing follows."""
    total_lines: int | None = None
    """Number of lines of the whole file, if known."""
    is_cut: bool = False
    """True if its only line is longer than the window and continues at a later column; `next_offset` is the next line."""


def read_byte_range(source: ByteSource, *, offset: int, count: int) -> bytes:
    """Return `count` bytes from `offset`; fewer at the end of the file, none after it.

    Raises:
        InvalidArgumentError: `offset` is negative or `count` below 1.
    """
    _require_range(offset, count)
    return source.read_at(offset, min(count, max(0, source.size - offset)))


def read_text_range(source: ByteSource, text_format: TextFormat, *, offset: int, count: int, path: str) -> TextWindow:
    """Return the text of a range of bytes, trimmed to whole characters.

    A character split by the start, and the byte-order mark, are omitted: `first` is the actual start of the text. A character
    split by the end starts the next window, at `next_offset`. A range too small for its first character is extended to
    contain it, so that paging always advances.

    Args:
        source: The open file.
        text_format: Its text format.
        offset: First byte, from 0.
        count: At most this many bytes, from 1.
        path: Workspace-relative path, for errors.

    Raises:
        InvalidArgumentError: A number out of range, or an encoding that cannot be read in parts.
        EncodingError: The bytes are not text of this format.
    """
    _require_range(offset, count)
    if text_format.encoding.startswith(_UNFIT):
        raise InvalidArgumentError(
            f"A file in {text_format.encoding} cannot be read in parts by bytes",
            suggested_action="Read lines, with offset and limit.",
        )
    if offset >= source.size:
        return TextWindow(content="", first=offset, truncated=False, next_offset=None)
    text_source = TextSource(source, text_format, path)
    start = min(_character_start(text_source, offset), source.size)
    text, stop = _decode(text_source, start, min(offset + count, source.size))
    more = stop < source.size
    return TextWindow(content=text, first=start, truncated=more, next_offset=stop if more else None)


def _require_range(offset: int, count: int) -> None:
    require_within("byte_offset", offset, 0)
    require_within("byte_count", count, 1)


def _decode(source: TextSource, start: int, stop: int) -> tuple[str, int]:
    if start >= stop:
        return "", start
    decoder = PartDecoder(source, start)
    text = decoder.feed(source.file.read_at(start, stop - start), final=stop >= source.file.size)
    while not text and stop < source.file.size:
        text = decoder.feed(source.file.read_at(stop, 1), final=stop + 1 >= source.file.size)
        stop += 1
    return text, decoder.position


def _character_start(source: TextSource, offset: int) -> int:
    if offset <= source.first:
        return source.first
    unit = unit_bytes(source.text_format.encoding)
    aligned = offset + (source.first - offset) % unit
    if unit == 2:
        return aligned + 2 * _is_inside_pair(source, aligned)
    before, behind = source.file.read_at(offset - 1, 1), source.file.read_at(offset, _MOST_LEFT)
    is_inside = source.text_format.encoding == "utf-8" and not before.isascii()
    return aligned + is_inside * (len(behind) - len(behind.lstrip(_CONTINUATIONS)))


def _is_inside_pair(source: TextSource, offset: int) -> bool:
    # Strict UTF-16 has the second half of a pair only after the first.
    unit, high = source.file.read_at(offset, 2), source.text_format.encoding == "utf-16-le"
    return len(unit) == 2 and unit[high] & 0xFC == 0xDC


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
    _require_lines(offset, limit, max_chars, column)
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


def _require_lines(offset: int, limit: int | None, max_chars: int, column: int) -> None:
    if column < 1:
        raise InvalidArgumentError(f"column counts characters from 1; there is no column {column}")
    if offset == 0:
        raise InvalidArgumentError("offset counts lines from 1, or backwards from -1; there is no line 0")
    require_within("limit", 1 if limit is None else limit, 1)
    require_within("max_chars", max_chars, 1)


def _collect(scan: LineScan, start: int, first: int, limit: int | None, max_chars: int, column: int) -> TextWindow:
    """Return the window whose first line begins at the byte `start`."""
    source, end = scan.source, scan.end
    decoder = PartDecoder(source, start)
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
