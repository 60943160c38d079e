"""Parts of files of any size: where the bytes come from, how a part is decoded, and ranges of whole characters."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Final, Protocol

from msgspec import Struct

from filetools.content.formats import RAW_UTF8, TextFormat, undecodable
from filetools.errors import InvalidArgumentError

STEP_BYTES: Final = 65_536
"""What one read takes: it fits the processor's cache, and the allocator need not ask the kernel for it each time."""

_STATEFUL: Final = ("utf-7", "hz", "iso2022_")
_DOUBLE_BYTE: Final = frozenset(
    {"big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jisx0213", "euc_jp", "euc_kr", "gb18030"}
    | {"gb2312", "gbk", "johab", "shift_jis", "shift_jis_2004", "shift_jisx0213"}
)


class ByteSource(Protocol):
    """An open file, or bytes in memory."""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""

    def read_at(self, offset: int, count: int) -> bytes:
        """Return `count` bytes from `offset`; fewer only at the end of the file."""


class MemorySource:
    """Bytes in memory, read like an open file. Lives as long as its reader."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    @property
    def size(self) -> int:
        """Bytes of the whole content."""
        return len(self._content)

    def read_at(self, offset: int, count: int) -> bytes:
        """Return `count` bytes from `offset`; fewer only at the end."""
        return self._content[offset : offset + count]


class TextSource(Struct, frozen=True):
    """An open file with what is needed to decode parts of it. Lives for one reading."""

    source: ByteSource
    text_format: TextFormat
    path: str

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.source.size

    @property
    def first(self) -> int:
        """Byte where the text begins, behind the mark."""
        return len(self.text_format.bom)

    def read_at(self, offset: int, count: int) -> bytes:
        """Return `count` bytes from `offset`; fewer only at the end of the file."""
        return self.source.read_at(offset, count)

    def pieces(self, position: int) -> Iterator[bytes]:
        """Yield the bytes from `position` to the end in pieces of `STEP_BYTES`."""
        while piece := self.source.read_at(position, STEP_BYTES):
            yield piece
            position += len(piece)

    def decoder(self, position: int) -> PartDecoder:
        """Return a decoder for the bytes from `position` on, where a character begins."""
        return PartDecoder(self.text_format, path=self.path, position=position)


class PartDecoder:
    """Decodes consecutive pieces of a file from one place on. Lives for one reading."""

    def __init__(self, text_format: TextFormat, *, path: str, position: int) -> None:
        self._format = text_format
        self._path = path
        self._fed = position
        self._decoder = codecs.getincrementaldecoder(text_format.encoding)()

    def feed(self, piece: bytes, *, final: bool) -> str:
        """Return the characters that `piece` completes.

        Raises:
            EncodingError: The bytes are not text of this format, or `final` and a character is cut.
        """
        self._fed += len(piece)
        try:
            return self._decoder.decode(piece, final)
        except UnicodeDecodeError as exc:
            # The codec counts from the start of what it kept back of earlier pieces.
            position = self._fed - len(exc.object) + exc.start
            raise undecodable(exc, self._format, path=self._path, position=position) from exc

    @property
    def position(self) -> int:
        """Byte of the file up to which whole characters have been returned."""
        return self._fed - len(self._decoder.getstate()[0])


def unit_bytes(text_format: TextFormat) -> int:
    """Return the size of a code unit: 2 for UTF-16, 4 for UTF-32, else 1."""
    return {"utf-16": 2, "utf-32": 4}.get(text_format.encoding[:6], 1)


def is_double_byte(text_format: TextFormat) -> bool:
    """Return whether the start of a character cannot be told from the bytes around it, only by decoding up to it."""
    return text_format.encoding in _DOUBLE_BYTE


def require_random_access(text_format: TextFormat) -> None:
    """Refuse an encoding whose bytes mean something else after each escape sequence.

    Raises:
        InvalidArgumentError: Parts of such a file cannot be decoded without everything before them.
    """
    if text_format.encoding.startswith(_STATEFUL):
        raise InvalidArgumentError(
            f"A file in {text_format.encoding} cannot be read in parts",
            suggested_action="Read the whole file without a range.",
        )


class TextWindow(Struct, frozen=True, kw_only=True):
    """A part of a file's text, line ends untouched."""

    content: str
    first: int
    """Where it begins: a line number for line ranges (negative if counted from the end), else a byte of the file."""
    truncated: bool
    """Whether the file goes on after it."""
    next_offset: int | None
    """Where the next part begins, counted as `first`; None if nothing follows."""
    total_lines: int | None = None
    """Lines of the whole file, where they are known."""
    cut_at: int | None = None
    """Byte where the rest of a cut line begins: it is longer than a window, and `next_offset` is the line after it."""


def read_byte_range(source: ByteSource, *, offset: int, count: int) -> bytes:
    """Return `count` bytes from the byte `offset` on; fewer at the end of the file, none behind it.

    Raises:
        InvalidArgumentError: `offset` is negative or `count` below 1.
    """
    _require_range(offset, count)
    return source.read_at(offset, min(count, max(0, source.size - offset)))


def read_text_range(source: ByteSource, text_format: TextFormat, *, offset: int, count: int, path: str) -> TextWindow:
    """Return the text of a range of bytes, trimmed to whole characters.

    A character that the beginning cuts, and the byte-order mark, are left out: `first` says where the text really
    begins. A character that the end cuts begins the next window: `next_offset` says where. A range too small for the
    character it begins with is widened to hold it, so that paging always moves on.

    Args:
        source: The open file.
        text_format: How its text is stored.
        offset: First byte, from 0.
        count: At most this many bytes, from 1.
        path: Workspace-relative path, for errors.

    Raises:
        InvalidArgumentError: A number out of range, or an encoding that cannot be read in parts.
        EncodingError: The bytes are not text of this format.
    """
    _require_range(offset, count)
    require_random_access(text_format)
    if offset >= source.size:
        return TextWindow(content="", first=offset, truncated=False, next_offset=None)
    text_source = TextSource(source, text_format, path)
    start = min(_character_start(text_source, offset), source.size)
    text, stop = _decode(text_source, start, min(offset + count, source.size))
    more = stop < source.size
    return TextWindow(content=text, first=start, truncated=more, next_offset=stop if more else None)


def first_characters(source: TextSource, start: int, count: int) -> tuple[str, int]:
    """Return the first `count` characters from the byte `start` on, and the byte behind them.

    Where one code stands for two characters they are not parted: one fewer is returned, or one more if it is the first.
    """
    decoder = source.decoder(start)
    found: list[str] = []
    chars, stop = 0, start
    for piece in source.pieces(start):
        for byte in piece:
            text = decoder.feed(bytes((byte,)), final=False)
            if not text:
                continue
            if found and chars + len(text) > count:
                return "".join(found), stop
            found.append(text)
            chars, stop = chars + len(text), decoder.position
            if chars >= count:
                return "".join(found), stop
    return "".join(found), stop


def _require_range(offset: int, count: int) -> None:
    if offset < 0:
        raise InvalidArgumentError(f"byte_offset must not be negative, not {offset}")
    if count < 1:
        raise InvalidArgumentError(f"byte_count must be at least 1, not {count}")


def _decode(source: TextSource, start: int, stop: int) -> tuple[str, int]:
    if start >= stop:
        return "", start
    decoder = source.decoder(start)
    text = decoder.feed(source.read_at(start, stop - start), final=stop >= source.size)
    return (text, decoder.position) if text else first_characters(source, start, 1)


def _character_start(source: TextSource, offset: int) -> int:
    if offset <= source.first:
        return source.first
    if is_double_byte(source.text_format):
        return _double_byte_start(source, offset)
    unit = unit_bytes(source.text_format)
    aligned = offset + (source.first - offset) % unit
    if unit == 2:
        return aligned + 2 * _is_inside_pair(source, aligned)
    return _utf8_start(source, offset) if source.text_format.encoding in ("utf-8", RAW_UTF8) else aligned


def _utf8_start(source: TextSource, offset: int) -> int:
    before = max(source.first, offset - 3)
    around = source.read_at(before, offset - before + 3)
    here = offset - before
    lead = here
    while lead >= 0 and lead < len(around) and 0x80 <= around[lead] < 0xC0:
        lead -= 1
    if lead < 0 or lead >= len(around) or lead == here:
        return offset
    length = 2 + (around[lead] >= 0xE0) + (around[lead] >= 0xF0) if around[lead] >= 0xC0 else 1
    # Bytes that no lead asks for, or too few of them, are damage: they stay in, and decoding names or shows them.
    try:
        around[lead : lead + length].decode()
    except UnicodeDecodeError:
        return offset
    return max(offset, before + lead + length)


def _is_inside_pair(source: TextSource, offset: int) -> bool:
    around = source.read_at(offset - 2, 4) if offset - 2 >= source.first else b""
    high, low = (0, 2) if source.text_format.encoding == "utf-16-be" else (1, 3)
    return len(around) == 4 and around[high] & 0xFC == 0xD8 and around[low] & 0xFC == 0xDC


def _double_byte_start(source: TextSource, offset: int) -> int:
    decoder = source.decoder(_line_start(source, offset))
    fed = decoder.position
    while fed < offset and (piece := source.read_at(fed, min(STEP_BYTES, offset - fed))):
        decoder.feed(piece, final=False)
        fed += len(piece)
    # A byte at a time, until nothing is kept back.
    while decoder.position < fed and (byte := source.read_at(fed, 1)):
        decoder.feed(byte, final=False)
        fed += 1
    return fed


def _line_start(source: TextSource, offset: int) -> int:
    # No code of these encodings has an LF for its second byte, so what follows one is the start of a character.
    position = offset
    while position > source.first:
        begin = max(source.first, position - STEP_BYTES)
        found = source.read_at(begin, position - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        position = begin
    return source.first
