"""Where the characters of a text stand in the bytes of its file, for every codec."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_CHUNK_BYTES: Final = 1024
_CHARACTER_BYTES: Final = 8

_LEAST_BYTES: Final = {
    "utf-8": 1, "latin-1": 1, "ascii": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4,
}  # fmt: skip
"""Least size of a character in the codecs whose decoders take what they give and give what they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteSpan:
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
