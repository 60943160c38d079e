"""Where parts of a file come from, and the decoding of a part wherever it lies."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from filetools.content.formats import TextFormat, undecodable
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


@dataclass(frozen=True, slots=True)
class TextSource:
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
