"""Replacements of parts of a text: applies and composes them, and applies them to a file's bytes in any codec."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct

from filetools.content.formats import TextFormat, decode, encode, unit_bytes
from filetools.errors import EncodingError

_CHUNK_BYTES: Final = 1024
_CHARACTER_BYTES: Final = 8
_EXACT: Final = frozenset(("utf-8", "latin-1", "ascii", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"))
"""Codecs that round-trip exactly in both directions."""


def is_exact(encoding: str) -> bool:
    """Return True if encoded text can be split between any two characters and joined again without changing its meaning."""
    return encoding in _EXACT


class TextEdit(Struct, frozen=True):
    """One replacement. Positions count characters (code points) in the text before all edits of the list."""

    start: int
    """First replaced character, from 0."""
    end: int
    """The position after the last replaced character."""
    text: str
    """The new text."""


def apply_text_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """Apply edits, which must be in order and not overlap."""
    parts: list[str] = []
    place = 0
    for edit in edits:
        parts += (text[place : edit.start], edit.text)
        place = edit.end
    parts.append(text[place:])
    return "".join(parts)


def in_utf16(text: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    """Convert the positions of edits to UTF-16 units, as used by JavaScript and LSP."""
    if text.isascii():
        return list(edits)
    found: list[TextEdit] = []
    place = units = 0
    for edit in edits:
        start = units + utf16_units(text[place : edit.start])
        units = start + utf16_units(text[edit.start : edit.end])
        place = edit.end
        found.append(TextEdit(start, units, edit.text))
    return found


def utf16_units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def composed(first: Sequence[TextEdit], second: Sequence[TextEdit]) -> list[TextEdit]:
    """Return edits with the combined effect of `first` and then `second`, which applies to the result of `first`.

    New text of `first` that `second` removes disappears; edits that then touch are merged.
    """
    left = list(_pieces(first))[::-1]
    taken: list[_Piece] = []
    place = 0
    for edit in second:
        taken += _take(left, edit.start - place)
        _take(left, edit.end - edit.start)
        taken.append((0, len(edit.text), edit.text))
        place = edit.end
    return list(_edits([*taken, *reversed(left)]))


def splice(content: bytes, text: str, text_format: TextFormat, edits: Sequence[TextEdit], *, path: str) -> bytes:
    """Apply edits of a text to the bytes of its file; only the bytes of the replaced characters change.

    The text is not encoded again as a whole, because several codecs (cp932, euc_kr) do not reproduce the original bytes. If
    the bytes cannot be split at a character, as between the shifts of iso-2022-jp, the replaced span is extended to the
    next places where that is possible.

    Args:
        content: All bytes of the file, with its byte-order mark if it has one.
        text: The decoded text: `decode(content, text_format)`.
        text_format: The text format.
        edits: Edits of the text, in order, not overlapping.
        path: Workspace-relative path, for errors.

    Raises:
        EncodingError: The new text has a character that the encoding lacks (`details` names it and its position in the
            new text).
    """
    if not edits:
        return content
    head = len(text_format.bom) if content.startswith(text_format.bom) else 0
    bare = TextFormat(encoding=text_format.encoding, bom=b"")
    parts: list[bytes] = []
    place = 0
    try:
        for first, start, last, end, inner in _merged_spans(edits, _spans(content, text, bare.encoding, head, edits)):
            shifted = [TextEdit(edit.start - first, edit.end - first, edit.text) for edit in inner]
            parts += content[place:start], encode(apply_text_edits(text[first:last], shifted), bare, path=path)
            place = end
        new = b"".join((*parts, content[place:]))
        is_right = is_exact(bare.encoding) or decode(new, text_format, path=path) == apply_text_edits(text, edits)
    except EncodingError:
        # Encode the whole text to raise the error with a position in the text that the caller knows.
        encode(apply_text_edits(text, edits), text_format, path=path)
        raise
    if not is_right:
        raise EncodingError(path, text_format.encoding, "the new text would change the characters beside it")
    return new


_ByteSpan = tuple[int, int, int, int]
"""Start character and its byte, end character and its byte, of a span that can be replaced separately."""


def _spans(content: bytes, text: str, encoding: str, head: int, edits: Sequence[TextEdit]) -> Iterator[_ByteSpan]:
    """Yield the byte span of each edit of a text after a byte-order mark of size `head`."""
    if not is_exact(encoding):
        yield from _widened_spans(content, text, encoding, head, edits)
        return
    unit = unit_bytes(encoding)
    is_even = len(content) - head == unit * len(text)
    place, offset = 0, head
    for edit in edits:
        before, inside = text[place : edit.start], text[edit.start : edit.end]
        start = offset + (unit * len(before) if is_even else len(before.encode(encoding)))
        offset = start + (unit * len(inside) if is_even else len(inside.encode(encoding)))
        yield edit.start, start, edit.end, offset
        place = edit.end


def _widened_spans(
    content: bytes, text: str, encoding: str, head: int, edits: Sequence[TextEdit]
) -> Iterator[_ByteSpan]:
    """Yield the byte spans of edits, extended to the next places where the file can be split."""
    place = (0, head)
    for edit in edits:
        first = _cut_before(content, encoding, place, edit.start)
        place = _cut_before(content, encoding, first, edit.end - 1)
        cuts = _cuts(content, encoding, place, 1)
        yield *first, *next((cut for cut in cuts if cut[0] >= edit.end), (len(text), len(content)))


def _cut_before(content: bytes, encoding: str, place: tuple[int, int], character: int) -> tuple[int, int]:
    """Return the last cut at or before a character; `place` is an earlier cut."""
    for step in (_CHUNK_BYTES, 1):
        for cut in takewhile(lambda cut: cut[0] <= character, _cuts(content, encoding, place, step)):
            place = cut
    return place


def _cuts(content: bytes, encoding: str, place: tuple[int, int], step: int) -> Iterator[tuple[int, int]]:
    """Yield cuts, about `step` bytes apart, as character and byte: places where the decoder is in its initial state."""
    decoder = codecs.getincrementaldecoder(encoding)()
    fresh = decoder.getstate()
    yield place
    characters, end = place
    while end < len(content):
        # Extend each step to the end of a character: in a run of two-byte characters, every step could split one.
        for size in (step, *[1] * _CHARACTER_BYTES):
            characters += len(decoder.decode(content[end : end + size]))
            end += size
            if decoder.getstate() == fresh:
                yield characters, min(end, len(content))
                break


def _merged_spans(
    edits: Sequence[TextEdit], spans: Iterable[_ByteSpan]
) -> Iterator[tuple[int, int, int, int, list[TextEdit]]]:
    """Yield byte spans with their edits, merging spans that overlap."""
    group: list[TextEdit] = []
    first = start = last = end = 0
    for edit, span in zip(edits, spans, strict=True):
        if group and span[1] >= end:
            yield first, start, last, end, group
            group = []
        first, start = (first, start) if group else span[:2]
        last, end = span[2:]
        group.append(edit)
    yield first, start, last, end, group


_Piece = tuple[int, int, str | None]
"""Start and end, in the original text or, if there is one, in a new text."""


def _pieces(edits: Sequence[TextEdit]) -> Iterator[_Piece]:
    place = 0
    for edit in edits:
        yield place, edit.start, None
        yield 0, len(edit.text), edit.text
        place = edit.end
    # The length of the original does not matter: no edit reads past its end.
    yield place, sys.maxsize, None


def _take(left: list[_Piece], size: int) -> list[_Piece]:
    """Take pieces of the given total size from a reversed list."""
    taken: list[_Piece] = []
    while size > 0:
        start, end, text = left.pop()
        if end - start > size:
            left.append((start + size, end, text))
            end = start + size
        taken.append((start, end, text))
        size -= end - start
    return taken


def _edits(pieces: Sequence[_Piece]) -> Iterator[TextEdit]:
    place = 0
    new: list[str] = []
    for start, end, text in pieces:
        if text is not None:
            new.append(text[start:end])
        elif start < end:
            if start > place or any(new):
                yield TextEdit(place, start, "".join(new))
            new.clear()
            place = end
