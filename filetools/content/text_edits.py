"""Replacements of parts of a text: applied, composed, and applied to the bytes of a file in any codec."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from filetools.content.formats import TextFormat, decode, encode
from filetools.content.lines import tally
from filetools.errors import EncodingError
from filetools.models.words import Newline

_CHUNK_BYTES: Final = 1024
_CHARACTER_BYTES: Final = 8

_LEAST_BYTES: Final = {
    "utf-8": 1, "latin-1": 1, "ascii": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4,
}  # fmt: skip
"""Least size of a character in the codecs whose decoders take what they give and give what they take."""


class ByteSpan(Struct, frozen=True, kw_only=True):
    """Bytes that can be replaced without touching others, and the characters they are."""

    start: int
    end: int
    first: int
    """Index of the first character of these bytes; it may stand before the one asked for."""
    last: int
    """Index of the character behind them."""


def is_exact(encoding: str) -> bool:
    """Whether bytes can be cut between any two characters, and parts put together again say what each of them says."""
    return encoding in _LEAST_BYTES


def byte_spans(content: bytes, encoding: str, head: int, spans: Sequence[tuple[int, int]]) -> list[ByteSpan]:
    """Return the bytes of spans of a text, as they can be replaced.

    Args:
        content: All bytes of the file.
        encoding: Name of the codec, as in `TextFormat`.
        head: Size of the byte-order mark in the content.
        spans: Start and end, in characters, of each; in order, not overlapping.
    """
    cuts = _Cuts(content, encoding, head)
    found = []
    for start, end in spans:
        first, start_byte = cuts.at_or_before(start)
        last, end_byte = (first, start_byte) if first == start == end else cuts.at_or_behind(end)
        found.append(ByteSpan(start=start_byte, end=end_byte, first=first, last=last))
    return found


def even_size(encoding: str, characters: int, size: int) -> int | None:
    """Return how many bytes each character of a text has; None if they differ.

    Args:
        encoding: A codec that `is_exact`.
        characters: How many characters the text has.
        size: How many bytes it has.
    """
    least = _LEAST_BYTES[encoding]
    return least if size == least * characters else None


class _Cuts:
    """The places where a file can be cut: the decoder holds nothing back and is in the state it began with.

    The file is decoded once, in chunks; a chunk that holds a place asked for is decoded again byte by byte. Lives for
    one call; places are asked for in rising order.
    """

    def __init__(self, content: bytes, encoding: str, head: int) -> None:
        self._content = content
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._fresh = self._decoder.getstate()
        self._place = (0, head)
        """Characters and bytes up to the last chunk that ended in a cut before all that will be asked for."""

    def at_or_before(self, index: int) -> tuple[int, int]:
        """Return characters and bytes up to the last cut that is not behind a character."""
        found = self._place = self._skip(index)
        for cut in self._steps(found):
            if cut[0] > index:
                break
            found = cut
        return found

    def at_or_behind(self, index: int) -> tuple[int, int]:
        """Return characters and bytes up to the first cut that is not before a character."""
        self._place = self._skip(index)
        return next((cut for cut in self._steps(self._place) if cut[0] >= index), self._place)

    def _skip(self, index: int) -> tuple[int, int]:
        """Return the last known cut before a character, chunk by chunk."""
        cut = (characters, offset) = self._place
        self._decoder.setstate(self._fresh)
        while offset < len(self._content):
            end = min(offset + _CHUNK_BYTES, len(self._content))
            characters += len(self._decoder.decode(self._content[offset:end]))
            offset = end
            # A chunk that cuts a character takes the rest of it along: in a run of two-byte characters all would.
            for end in range(offset + 1, min(offset + _CHARACTER_BYTES, len(self._content)) + 1):
                if self._decoder.getstate() == self._fresh:
                    break
                characters += len(self._decoder.decode(self._content[end - 1 : end]))
                offset = end
            if characters > index:
                break
            if self._decoder.getstate() == self._fresh:
                cut = (characters, offset)
        return cut

    def _steps(self, cut: tuple[int, int]) -> Iterator[tuple[int, int]]:
        characters, offset = cut
        self._decoder.setstate(self._fresh)
        yield cut
        for end in range(offset + 1, len(self._content) + 1):
            characters += len(self._decoder.decode(self._content[end - 1 : end]))
            if self._decoder.getstate() == self._fresh:
                yield characters, end


class TextEdit(Struct, frozen=True):
    """One replacement. Its places count the characters (code points) of the text before any edit of its list."""

    start: int
    """First character that is replaced, from 0."""
    end: int
    """The character behind the last that is replaced."""
    text: str
    """What stands there afterwards."""


def apply_text_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """Return the text after the edits, which are in order and do not overlap."""
    parts: list[str] = []
    place = 0
    for edit in edits:
        parts += (text[place : edit.start], edit.text)
        place = edit.end
    parts.append(text[place:])
    return "".join(parts)


def in_utf16(text: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    """Return edits of a text with their places counted in UTF-16 units, as JavaScript and LSP count them."""
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
    """Return how long a text is in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def composed(first: Sequence[TextEdit], second: Sequence[TextEdit]) -> list[TextEdit]:
    """Return the edits that do at once what `first` and then `second`, on the text it leaves, do.

    What `second` removes of `first`'s new text vanishes; edits that come to touch become one.
    """
    if not first:
        return list(_touching_as_one(second))
    left = list(_pieces(first))[::-1]
    taken: list[_Piece] = []
    place = 0
    for edit in second:
        taken += _take(left, edit.start - place)
        _take(left, edit.end - edit.start)
        taken.append((0, len(edit.text), edit.text))
        place = edit.end
    return list(_edits([*taken, *reversed(left)]))


def tally_after(
    tallied: tuple[Newline, int], before: str, after: str, edits: Sequence[TextEdit]
) -> tuple[Newline, int]:
    """Return the `tally` of a text after edits; where lines end in LF alone, only what the edits touch is counted.

    Args:
        tallied: `tally(before)`.
        before: The text before the edits.
        after: The text after them.
        edits: The edits, in order, not overlapping.
    """
    newline, lines = tallied
    if newline not in ("lf", "none") or any("\r" in edit.text for edit in edits):
        return tally(after)
    feeds = lines - (before != "" and not before.endswith("\n"))
    feeds += sum(edit.text.count("\n") - before.count("\n", edit.start, edit.end) for edit in edits)
    return ("lf" if feeds else "none"), feeds + (after != "" and not after.endswith("\n"))


def splice(content: bytes, text: str, text_format: TextFormat, edits: Sequence[TextEdit], *, path: str) -> bytes:
    """Return the bytes of a file after edits of its text; only the bytes of the replaced characters change.

    The text is not encoded again as a whole: several codecs (cp932, euc_kr) do not give back the bytes they read. Where
    characters cannot be cut apart in the bytes, as between the shifts of iso-2022-jp, the replaced span grows to the
    next places where they can.

    Args:
        content: All bytes of the file, with its byte-order mark if it has one.
        text: What they say: `decode(content, text_format)`.
        text_format: How the text is stored.
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
    try:
        if is_exact(bare.encoding):
            return b"".join(_exact_parts(content, text, bare, edits, head, path))
        spans = byte_spans(content, bare.encoding, head, [(edit.start, edit.end) for edit in edits])
        new = _joined(content, text, bare, list(zip(edits, spans, strict=True)), path)
        is_right = decode(new, text_format, path=path) == apply_text_edits(text, edits)
    except EncodingError:
        # Said again for the whole text, so that the position is one in the text the caller knows.
        encode(apply_text_edits(text, edits), text_format, path=path)
        raise
    if not is_right:
        raise EncodingError(path, text_format.encoding, "the new text would change the characters beside it")
    return new


def _exact_parts(
    content: bytes, text: str, bare: TextFormat, edits: Sequence[TextEdit], head: int, path: str
) -> Iterator[bytes]:
    """Yield the parts of a file after edits, in a codec whose bytes can be cut between any two characters."""
    encoding = bare.encoding
    each = even_size(encoding, len(text), len(content) - head)
    place, offset, kept = 0, head, 0
    for edit in edits:
        offset += each * (edit.start - place) if each else len(text[place : edit.start].encode(encoding))
        yield content[kept:offset]
        yield encode(edit.text, bare, path=path)
        offset += each * (edit.end - edit.start) if each else len(text[edit.start : edit.end].encode(encoding))
        place, kept = edit.end, offset
    yield content[kept:]


def _joined(
    content: bytes, text: str, bare: TextFormat, placed: Sequence[tuple[TextEdit, ByteSpan]], path: str
) -> bytes:
    parts: list[bytes] = []
    place = 0
    for group in _grown_together(placed):
        first, last = group[0][1], group[-1][1]
        inner = [TextEdit(e.start - first.first, e.end - first.first, e.text) for e, _ in group]
        replaced = apply_text_edits(text[first.first : last.last], inner)
        parts += (content[place : first.start], encode(replaced, bare, path=path))
        place = last.end
    parts.append(content[place:])
    return b"".join(parts)


def _grown_together(placed: Sequence[tuple[TextEdit, ByteSpan]]) -> Iterator[list[tuple[TextEdit, ByteSpan]]]:
    group = [placed[0]]
    for one in placed[1:]:
        if one[1].start < group[-1][1].end:
            group.append(one)
        else:
            yield group
            group = [one]
    yield group


def _touching_as_one(edits: Sequence[TextEdit]) -> Iterator[TextEdit]:
    last: TextEdit | None = None
    for edit in edits:
        if last is not None and edit.start == last.end:
            last = TextEdit(last.start, edit.end, last.text + edit.text)
            continue
        if last is not None and (last.text or last.start < last.end):
            yield last
        last = edit
    if last is not None and (last.text or last.start < last.end):
        yield last


_Piece = tuple[int, int, str | None]
"""Start and end, in the original text or, if there is one, in a new text."""


def _pieces(edits: Sequence[TextEdit]) -> Iterator[_Piece]:
    place = 0
    for edit in edits:
        yield place, edit.start, None
        yield 0, len(edit.text), edit.text
        place = edit.end
    # How long the original is does not matter: nobody takes more than there is.
    yield place, sys.maxsize, None


def _take(left: list[_Piece], size: int) -> list[_Piece]:
    """Take pieces of this size from the end of a list, where the first of them is."""
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
