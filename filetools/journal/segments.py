"""Contents too large for the database and too small for a file each: appended to a few long files, one after the other.

An entry begins on a page of its own: a header with the hash and the size of the bytes, then the bytes. A row of the
journal tells where it is, in the transaction that appends it. Bytes to which no row refers are never read, whoever left
them there, and their room is given back. Segments change behind the journal's gate only, so that nobody else appends
meanwhile and no room needs to be reserved.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import sqlite3
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from filetools.errors import StateDamagedError
from filetools.journal.blobs import make_private_folder, open_regular, sync_directory, write_all

LARGEST_ENTRY_BYTES: Final = 4 * 1024 * 1024
"""Contents above this size get a file each."""
SEGMENT_BYTES: Final = 64 * 1024 * 1024
"""Length from which on nothing is appended to a segment any more."""
_PAGE_BYTES: Final = 4096
_BLOCK_BYTES: Final = 512
"""Unit of `st_blocks`, whatever the file system's own is."""
_MAGIC: Final = b"FTentry1"
_HEADER: Final = struct.Struct(">8s32sQ")
_NAME: Final = re.compile(r"[1-9][0-9]{0,17}")
_APPENDING: Final = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NEWEST: Final = "SELECT coalesce(max(segment), 0) FROM contents WHERE segment IS NOT NULL"
_LAST: Final = "SELECT start, size FROM contents WHERE segment = ? ORDER BY start DESC LIMIT 1"
_ALL: Final = "SELECT start, size FROM contents WHERE segment = ? ORDER BY start"
_PUNCH_HOLE: Final = 0x01 | 0x02
"""FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE."""


class SegmentPlace(NamedTuple):
    """Where an entry is."""

    segment: int
    """Number of the segment, from 1."""
    offset: int
    """Of its header, in bytes."""


class SegmentEntry(NamedTuple):
    """An entry as its header describes it."""

    digest: bytes
    size: int
    """Of its bytes, without the header."""
    place: SegmentPlace


class _Tail(Struct, kw_only=True):
    """The end of the segment that a transaction appends to."""

    segment: int
    descriptor: int
    former_bytes: int
    end: int


class SegmentFolder:
    """A folder of segments. Lives as long as the journal; methods that change something are called behind the gate."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        """Open or create the folder.

        Raises:
            StateDamagedError: Something else stands in its place.
            OSError: It cannot be made.
        """
        make_private_folder(directory)
        self._directory = directory
        self._durable = durable
        self._tail: _Tail | None = None
        self._newest = 0
        self._unsynced: set[int] = set()
        self._named: set[int] = set()
        self._failed: set[int] = set()

    def append(
        self, connection: sqlite3.Connection, digest: bytes, content: bytes, *, is_synced: bool = True
    ) -> SegmentPlace:
        """Append an entry inside a transaction.

        Args:
            connection: Of the transaction; what follows is `sync`, its commit, and `release`, or else `take_back`.
            digest: The hash of the bytes.
            content: The bytes.
            is_synced: Whether `sync` makes it durable.

        Raises:
            OSError: It cannot be appended.
        """
        if self._tail is None:
            self._tail = self._open_tail(connection)
        tail = self._tail
        place = SegmentPlace(tail.segment, tail.end)
        os.lseek(tail.descriptor, place.offset, os.SEEK_SET)
        write_all(tail.descriptor, _HEADER.pack(_MAGIC, digest, len(content)))
        write_all(tail.descriptor, content)
        tail.end = end_of(place.offset, len(content))
        if is_synced:
            self._unsynced.add(place.segment)
        return place

    def holds(self, place: SegmentPlace, content: bytes) -> bool:
        """Whether these bytes are in a place, so that a transaction may refer to it; nobody may have synced them yet."""
        if place.segment in self._failed:
            return False
        try:
            is_held = self.read(place, len(content)) == content
        except (OSError, StateDamagedError):
            return False
        if is_held:
            self._unsynced.add(place.segment)
        return is_held

    def sync(self) -> None:
        """Make durable what a transaction has appended, and what it has found to be held.

        Raises:
            OSError: A sync failed. The kernel may have dropped bytes, and says so only once: nothing that is in such a
                segment is relied on any more without a sync that came before, and nothing is appended to it.
        """
        if not self._durable:
            return
        for segment in sorted(self._unsynced):
            if self._tail is not None and segment == self._tail.segment:
                self._sync(segment, self._tail.descriptor)
                continue
            descriptor = open_regular(self._path(segment), _APPENDING)
            try:
                self._sync(segment, descriptor)
            finally:
                os.close(descriptor)

    def take_back(self) -> None:
        """Cut off what a transaction has appended, if certainly nothing refers to it."""
        if self._tail is not None:
            with suppress(OSError):
                os.ftruncate(self._tail.descriptor, self._tail.former_bytes)

    def release(self) -> None:
        """Forget a transaction that has ended."""
        self._unsynced.clear()
        tail, self._tail = self._tail, None
        if tail is not None:
            os.close(tail.descriptor)

    def read(self, place: SegmentPlace, size: int) -> bytes:
        """Return what stands in the place of an entry's bytes; only their hash tells whether they are intact.

        Raises:
            OSError, StateDamagedError: It cannot be read.
        """
        with open(open_regular(self._path(place.segment)), "rb") as file:
            file.seek(place.offset + _HEADER.size)
            return file.read(size)

    def has(self, place: SegmentPlace, size: int) -> bool:
        """Whether a segment is long enough for an entry."""
        try:
            return self._path(place.segment).lstat().st_size >= place.offset + _HEADER.size + size
        except FileNotFoundError:
            return False

    def numbers(self) -> list[int]:
        """Return the numbers of all segments, the oldest first."""
        return sorted(int(name) for name in os.listdir(self._directory) if _NAME.fullmatch(name))

    def intact_entries(self) -> Iterator[SegmentEntry]:
        """Yield every entry whose bytes have its hash, whether or not a row refers to it."""
        for segment in self.numbers():
            with suppress(OSError, StateDamagedError), open(open_regular(self._path(segment)), "rb") as file:
                offset, size = 0, os.fstat(file.fileno()).st_size
                while offset < size:
                    file.seek(offset)
                    digest, length = _parsed(file.read(_HEADER.size)) or (b"", 0)
                    if digest and hashlib.sha256(file.read(length)).digest() == digest:
                        yield SegmentEntry(digest, length, SegmentPlace(segment, offset))
                        offset = end_of(offset, length)
                    else:
                        offset += _PAGE_BYTES

    def has_surplus(self, segment: int, kept: Sequence[tuple[int, int]]) -> bool:
        """Whether a segment takes up more room than the entries that rows refer to (`kept_entries`)."""
        try:
            found = self._path(segment).lstat()
        except FileNotFoundError:
            return False
        if not kept and segment != max(self.numbers(), default=0):
            return True
        used = sum(end_of(0, size) for _, size in kept)
        return (found.st_blocks * _BLOCK_BYTES if hasattr(found, "st_blocks") else found.st_size) > used

    def give_back(self, segment: int, kept: Sequence[tuple[int, int]]) -> None:
        """Give back the room of everything in a segment but the entries that rows refer to (`kept_entries`)."""
        if not kept and segment != max(self.numbers(), default=0):  # the newest one stays: no number comes twice
            with suppress(FileNotFoundError):
                self._path(segment).unlink()
            return
        with suppress(FileNotFoundError):
            descriptor = open_regular(self._path(segment), _APPENDING)
            try:
                _shrink(descriptor, kept)
            finally:
                os.close(descriptor)

    def _open_tail(self, connection: sqlite3.Connection) -> _Tail:
        tail = self._tail_of(self._newest, connection) or self._tail_of(max(self.numbers(), default=0), connection)
        if tail is None:
            (newest_of_rows,) = connection.execute(_NEWEST).fetchone()
            segment = 1 + max([newest_of_rows, *self.numbers()])
            descriptor = os.open(self._path(segment), _APPENDING | os.O_CREAT | os.O_EXCL, 0o600)
            self._named.discard(segment)
            tail = _Tail(segment=segment, descriptor=descriptor, former_bytes=0, end=0)
        self._newest = tail.segment
        return tail

    def _tail_of(self, segment: int, connection: sqlite3.Connection) -> _Tail | None:
        """Return the end of a segment, or None if nothing can be appended to it."""
        if segment == 0 or segment in self._failed:
            return None
        last = connection.execute(_LAST, (segment,)).fetchone()
        try:
            descriptor = open_regular(self._path(segment), _APPENDING)
        except FileNotFoundError:
            return None
        size = os.fstat(descriptor).st_size
        # Behind whatever a process that died has left, and behind all that rows refer to: a power cut may have cut it off.
        end = max(_rounded_up(size), 0 if last is None else end_of(*last))
        if end >= SEGMENT_BYTES:
            os.close(descriptor)
            return None
        return _Tail(segment=segment, descriptor=descriptor, former_bytes=size, end=end)

    def _sync(self, segment: int, descriptor: int) -> None:
        try:
            _sync_bytes(descriptor)
            if segment not in self._named:
                # Whoever made the file may have died before its name was durable.
                sync_directory(self._directory)
                self._named.add(segment)
        except OSError:
            self._failed.add(segment)
            raise

    def _path(self, segment: int) -> Path:
        return self._directory / str(segment)


def kept_entries(connection: sqlite3.Connection, segment: int) -> list[tuple[int, int]]:
    """Return offset and size of every entry of a segment to which a row refers, in their order."""
    return connection.execute(_ALL, (segment,)).fetchall()


def end_of(offset: int, size: int) -> int:
    """Return where the entry after one of this offset and size begins at the earliest."""
    return _rounded_up(offset + _HEADER.size + size)


def punch_hole(descriptor: int, offset: int, size: int) -> bool:
    """Give back the blocks of a part of a file, which reads as zeros then; False where that cannot be done.

    Source: fallocate(2).
    """
    fallocate = _load_fallocate()
    return fallocate is not None and fallocate(descriptor, _PUNCH_HOLE, offset, size) == 0


@functools.cache
def _load_fallocate() -> Callable[[int, int, int, int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    # The second has 64 bits for an offset everywhere, and is missing where the first has them everywhere (musl).
    function = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return function


def _shrink(descriptor: int, kept: Sequence[tuple[int, int]]) -> None:
    ends = [0, *(end_of(*entry) for entry in kept)]
    if os.fstat(descriptor).st_size > ends[-1]:
        os.ftruncate(descriptor, ends[-1])
    for begin, (end, _) in zip(ends, kept, strict=False):
        if begin < end and not punch_hole(descriptor, begin, end - begin):
            return


def _sync_bytes(descriptor: int) -> None:
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def _parsed(header: bytes) -> tuple[bytes, int] | None:
    """Return hash and size that a header tells, if it can be one; only the bytes prove it."""
    if len(header) < _HEADER.size:
        return None
    magic, digest, size = _HEADER.unpack(header)
    return (digest, size) if magic == _MAGIC and size <= LARGEST_ENTRY_BYTES else None


def _rounded_up(offset: int) -> int:
    return -(-offset // _PAGE_BYTES) * _PAGE_BYTES
