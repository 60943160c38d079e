"""Ranges of bytes out of files of any size, as bytes or as text of whole characters."""

from __future__ import annotations

from filetools.content.byte_source import (
    STEP_BYTES,
    ByteSource,
    TextSource,
    is_double_byte,
    require_random_access,
    unit_bytes,
)
from filetools.content.formats import TextFormat
from filetools.content.window import Window
from filetools.errors import InvalidArgumentError


def read_byte_range(source: ByteSource, *, offset: int, count: int) -> bytes:
    """Return `count` bytes from the byte `offset` on; fewer at the end of the file, none behind it.

    Raises:
        InvalidArgumentError: `offset` is negative or `count` below 1.
    """
    _require_range(offset, count)
    return source.read_at(offset, min(count, max(0, source.size - offset)))


def read_text_range(source: ByteSource, text_format: TextFormat, *, offset: int, count: int, path: str) -> Window:
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
        return Window(content="", first=offset, truncated=False, next_offset=None)
    text_source = TextSource(source, text_format, path)
    start = min(_character_start(text_source, offset), source.size)
    text, stop = _decode(text_source, start, min(offset + count, source.size))
    more = stop < source.size
    return Window(content=text, first=start, truncated=more, next_offset=stop if more else None)


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
    return _utf8_start(source, offset) if source.text_format.encoding == "utf-8" else aligned


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
    # Continuation bytes that no lead asks for are damage: they stay in, and decoding names them.
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
