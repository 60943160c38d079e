"""Windows: ranges of lines out of files of any size, with memory bounded by the window and not by the file."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from filetools.content.formats import TextFormat
from filetools.content.line_index import LineIndex, LineScan
from filetools.content.ranges import (
    STEP_BYTES,
    ByteSource,
    TextSource,
    TextWindow,
    first_characters,
    is_double_byte,
    require_random_access,
)
from filetools.errors import InvalidArgumentError

COUNTED_BYTES: Final = 10 * 1024 * 1024
"""Files up to this size are counted, so that lines asked for from the end get their numbers from the start."""


class _Collected(Struct, frozen=True, kw_only=True):
    text: str
    lines: int
    ends_file: bool
    cut_at: int | None = None


def read_lines(
    source: ByteSource,
    text_format: TextFormat,
    *,
    offset: int,
    limit: int | None,
    max_chars: int,
    path: str,
    index: LineIndex | None = None,
    column: int = 1,
) -> TextWindow:
    """Return whole lines from the line `offset` on, as many as fit.

    A line that no longer fits begins the next window. A first line that alone is longer than `max_chars` is cut at a
    character: `cut_at` says at which byte the rest begins, to be read with `read_text_range`, and `next_offset` is the
    next line, so that paging always moves on and never drops text without saying so.

    Args:
        source: The open file.
        text_format: How its text is stored.
        offset: Line number from 1, or from the end: -1 is the last line. Before the beginning means the beginning.
        limit: At most this many lines, from 1; None for all to the end.
        max_chars: At most this many characters (code points), from 1.
        path: Workspace-relative path, for errors.
        index: What earlier readings of the same bytes learnt; this one adds to it.
        column: Where in its first line the window begins, in characters from 1.

    Returns:
        The window; an empty one if the file has fewer lines. Lines counted from the end keep negative numbers where
        the file is over 10 MiB and its lines have not been counted.

    Raises:
        InvalidArgumentError: A number out of range, a column behind the line, or an encoding that cannot be read in parts.
        EncodingError: The window's bytes are not text of this format.
    """
    _require_range(offset, limit, max_chars, column)
    require_random_access(text_format)
    known = LineIndex() if index is None else index
    text_source = TextSource(source, text_format, path)
    scan = LineScan(text_source, known)
    first, start = _find(scan, known, offset, is_small=source.size <= COUNTED_BYTES)
    if start is None:
        return TextWindow(content="", first=first, truncated=False, next_offset=None, total_lines=known.total_lines)
    if column > 1:
        start = _pass_over(text_source, scan, start, column, first)
    part = _collect(text_source, scan, start, limit, max_chars)
    if part.ends_file and first > 0:
        known.total_lines = first + part.lines - 1
    return _window(part, first, known.total_lines)


def _require_range(offset: int, limit: int | None, max_chars: int, column: int) -> None:
    if column < 1:
        raise InvalidArgumentError(f"column counts characters from 1; there is no column {column}")
    if offset == 0:
        raise InvalidArgumentError("offset counts lines from 1, or backwards from -1; there is no line 0")
    if limit is not None and limit < 1:
        raise InvalidArgumentError(f"limit must be at least 1, not {limit}")
    if max_chars < 1:
        raise InvalidArgumentError(f"max_chars must be at least 1, not {max_chars}")


def _find(scan: LineScan, index: LineIndex, offset: int, *, is_small: bool) -> tuple[int, int | None]:
    if offset > 0:
        return offset, scan.start_of(offset)
    if index.total_lines is not None or is_small:
        line = max(1, scan.total_lines() + offset + 1)
        return line, scan.start_of(line)
    start, is_whole = scan.start_from_end(-offset)
    return (1 if is_whole else offset), start


def _pass_over(source: TextSource, scan: LineScan, start: int, column: int, line: int) -> int:
    """Return the byte of a character of the line that begins at `start`; that of its end is the last."""
    if is_double_byte(source.text_format):
        # As in `_cut`: only decoding tells how many bytes they take.
        text, position = first_characters(source, start, column - 1)
        if scan.end.character not in text and len(text) >= column - 1:
            return position
        raise _behind(line, column, len(text.partition(scan.end.character)[0]))
    decoder, left = source.decoder(start), column - 1
    for piece in source.pieces(start):
        before = decoder.position
        text = decoder.feed(piece, final=False)
        end = text.find(scan.end.character)
        if 0 <= end < left:
            raise _behind(line, column, column - 1 - left + end)
        if len(text) >= left:
            return before + len(text[:left].encode(source.text_format.encoding))
        left -= len(text)
    raise _behind(line, column, column - 1 - left)


def _behind(line: int, column: int, length: int) -> InvalidArgumentError:
    return InvalidArgumentError(f"Line {line} has {length} characters; there is no column {column}")


def _window(part: _Collected, first: int, total_lines: int | None) -> TextWindow:
    after = first + part.lines
    return TextWindow(
        content=part.text,
        first=first,
        truncated=not part.ends_file,
        # Counted from the end, 0 is behind the last line.
        next_offset=None if part.ends_file or after == 0 else after,
        total_lines=total_lines,
        cut_at=part.cut_at,
    )


def _collect(source: TextSource, scan: LineScan, start: int, limit: int | None, max_chars: int) -> _Collected:
    decoder = source.decoder(start)
    texts: list[str] = []
    chars = lines = 0
    position = start
    while position < source.size and chars <= max_chars and (limit is None or lines < limit):
        piece = source.read_at(position, STEP_BYTES)
        found = scan.end.count(piece)
        if limit is not None and lines + found >= limit:
            found = limit - lines
            piece = piece[: scan.end.after(piece, found)]
        # A file that was shortened meanwhile ends here.
        position = position + len(piece) if piece else source.size
        texts.append(decoder.feed(piece, final=position >= source.size))
        chars += len(texts[-1])
        lines += found
    text = "".join(texts)
    if chars > max_chars:
        return _cut(source, scan, start, text[:max_chars])
    return _Collected(
        text=text, lines=lines + (not text.endswith(scan.end.character)), ends_file=position >= source.size
    )


def _cut(source: TextSource, scan: LineScan, start: int, text: str) -> _Collected:
    whole = text.rfind(scan.end.character) + 1
    if whole:
        return _Collected(text=text[:whole], lines=text.count(scan.end.character), ends_file=False)
    if is_double_byte(source.text_format):
        # Some of their characters have two codes, so encoding the text again need not give as many bytes.
        text, cut_at = first_characters(source, start, len(text))
    else:
        cut_at = start + len(text.encode(source.text_format.encoding))
    return _Collected(text=text, lines=1, ends_file=False, cut_at=cut_at)
