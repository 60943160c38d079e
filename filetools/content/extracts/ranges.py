"""Parts of files of any size: byte sources, partial decoding, and ranges of whole characters."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from filetools.content.formats import TextFormat, undecodable, unit_bytes
from filetools.errors import InvalidArgumentError

STEP_BYTES: Final = 65_536
"""Size of one read: small enough for the processor's cache and for the allocator to reuse without a system call."""
_UNFIT: Final = ("utf-7", "hz", "iso2022_", "big5", "cp932", "cp949", "cp950", "euc_", "gb", "johab", "shift_jis")
"""Encodings in which a character's start can only be found by decoding everything before it."""
_CONTINUATIONS: Final = bytes(range(0x80, 0xC0))
_MOST_LEFT: Final = 3
"""In UTF-8, a character has at most this many bytes after its first, each from 0x80 to 0xBF."""

ReadAt = Callable[[int, int], bytes]
"""Takes an offset and a count, and returns that many bytes of a file, fewer only at its end."""


class ByteSource(Struct, frozen=True):
    """An open file, or bytes in memory."""

    size: int
    """Size of the whole file in bytes."""
    read_at: ReadAt


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

    def decoder(self, position: int) -> PartDecoder:
        """Return a decoder for the bytes from `position`, where a character must begin."""
        return PartDecoder(self, position)


class PartDecoder:
    """Decodes consecutive pieces of a file from one position on."""

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
    if offset < 0:
        raise InvalidArgumentError(f"byte_offset must not be negative, not {offset}")
    if count < 1:
        raise InvalidArgumentError(f"byte_count must be at least 1, not {count}")


def _decode(source: TextSource, start: int, stop: int) -> tuple[str, int]:
    if start >= stop:
        return "", start
    decoder = source.decoder(start)
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
