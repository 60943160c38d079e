"""Rows cut straight out of the pages of a damaged database, where SQLite itself cannot find its way any more.

Nothing but the pages is needed: no header, no tree above the leaves, no checksum of the write-ahead file. What comes out
may be stale or nonsense; the caller believes only rows that prove themselves, by checksum or hash.

Source: https://www.sqlite.org/fileformat2.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from filetools.journal.birth import PAGE_BYTES, PARTS
from filetools.journal.walfile import FRAME_BYTES, FRAME_HEADER_BYTES, HEADER_BYTES

Value = None | int | float | str | bytes
_TABLE_LEAF: Final = 0x0D
_MOST_LOCAL: Final = PAGE_BYTES - 35
"""Longest row that lies in its leaf as a whole."""
_LEAST_LOCAL: Final = (PAGE_BYTES - 12) * 32 // 255 - 23
_MOST_ROW_BYTES: Final = 1024 * 1024
_INTEGER_BYTES: Final = (0, 1, 2, 3, 4, 6, 8)


class Pages:
    """The newest image of every page of a database; must be closed. Reads files, changes nothing."""

    def __init__(self, directory: Path) -> None:
        self._database = _open(directory / PARTS[0])
        self._wal = _open(directory / PARTS[1])
        self._frames = self._newest_frames()

    def close(self) -> None:
        """Release the files."""
        for file in (self._database, self._wal):
            if file is not None:
                file.close()

    def rows(self, columns: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
        """Yield (row number, values) of every row with so many columns, whatever table it is of."""
        for number in sorted({*range(1, self._count() + 1), *self._frames}):
            page = self._page(number)
            if len(page) == PAGE_BYTES:
                yield from self._rows_of_page(page, 100 if number == 1 else 0, columns)

    def _count(self) -> int:
        return 0 if self._database is None else self._database.seek(0, 2) // PAGE_BYTES

    def _page(self, number: int) -> bytes:
        offset = self._frames.get(number)
        file = self._database if offset is None else self._wal
        if file is None:
            return b""
        file.seek((number - 1) * PAGE_BYTES if offset is None else offset)
        return file.read(PAGE_BYTES)

    def _newest_frames(self) -> dict[int, int]:
        """Return where the newest committed image of each page in the write-ahead file lies."""
        committed: dict[int, int] = {}
        if self._wal is None:
            return committed
        open_transaction: dict[int, int] = {}
        generation, offset = b"", HEADER_BYTES
        while True:
            self._wal.seek(offset)
            head = self._wal.read(FRAME_HEADER_BYTES)
            # The first frame tells the generation: the file's own header may be what is damaged.
            generation = generation or head[8:16]
            if len(head) < FRAME_HEADER_BYTES or head[8:16] != generation:
                return committed
            number, size_after_commit = struct.unpack(">II", head[:8])
            open_transaction[number] = offset + FRAME_HEADER_BYTES
            if size_after_commit:
                committed |= open_transaction
                open_transaction = {}
            offset += FRAME_BYTES

    def _rows_of_page(self, page: bytes, start: int, columns: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
        if page[start] != _TABLE_LEAF:
            return
        (count,) = struct.unpack_from(">H", page, start + 3)
        if start + 8 + 2 * count > PAGE_BYTES:
            return
        for (cell,) in struct.iter_unpack(">H", page[start + 8 : start + 8 + 2 * count]):
            try:
                found = self._row(page, cell, columns)
            except (IndexError, struct.error, ValueError):
                continue
            if found is not None:
                yield found

    def _row(self, page: bytes, cell: int, columns: int) -> tuple[int, tuple[Value, ...]] | None:
        size, position = _varint(page, cell)
        number, position = _varint(page, position)
        local = _local_bytes(size)
        head = page[position : position + min(local, 4 * columns + 9)]
        if size > _MOST_ROW_BYTES or _count_columns(head) != columns:
            return None
        row = page[position : position + local]
        if local < size:
            row += self._overflow(page[position + local : position + local + 4], size - local)
        return number, tuple(_values(row))

    def _overflow(self, link: bytes, missing: int) -> bytes:
        parts = []
        while missing > 0:
            page = self._page(int.from_bytes(link, "big"))
            if len(page) < PAGE_BYTES:
                raise ValueError
            parts.append(page[4 : 4 + missing])
            link, missing = page[:4], missing - (PAGE_BYTES - 4)
        return b"".join(parts)


def _open(place: Path) -> BinaryIO | None:
    return place.open("rb") if place.is_file() and not place.is_symlink() else None


def _local_bytes(size: int) -> int:
    if size <= _MOST_LOCAL:
        return size
    local = _LEAST_LOCAL + (size - _LEAST_LOCAL) % (PAGE_BYTES - 4)
    return local if local <= _MOST_LOCAL else _LEAST_LOCAL


def _count_columns(row: bytes) -> int:
    length, position = _varint(row, 0)
    count = 0
    while position < length:
        _, position = _varint(row, position)
        count += 1
    return count


def _values(row: bytes) -> Iterator[Value]:
    length, position = _varint(row, 0)
    body = length
    while position < length:
        kind, position = _varint(row, position)
        value, body = _value(row, kind, body)
        yield value


def _value(row: bytes, kind: int, at: int) -> tuple[Value, int]:
    if kind == 0:
        return None, at
    if kind < len(_INTEGER_BYTES):
        end = at + _INTEGER_BYTES[kind]
        return int.from_bytes(row[at:end], "big", signed=True), end
    if kind == 7:
        return struct.unpack_from(">d", row, at)[0], at + 8
    if kind in (8, 9):
        return kind - 8, at
    if kind < 12:
        raise ValueError
    end = at + (kind - 12) // 2
    if end > len(row):
        raise ValueError
    return (row[at:end].decode() if kind % 2 else row[at:end]), end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for position in range(at, at + 8):
        value = value << 7 | data[position] & 0x7F
        if data[position] < 0x80:
            return value, position + 1
    return value << 8 | data[at + 8], at + 9
