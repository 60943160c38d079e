"""Reading files by descriptor: whole and unchanged meanwhile, in parts, or only from memory."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Final, TypeVar

from filetools.errors import FileBusyError, FileTooLargeError
from filetools.models.words import EntryType
from filetools.stores.linux import lease_refused, read_cached, read_into
from filetools.stores.store import Facts, FileStat

READ_TRIES: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.001
KEPT_BUFFER_BYTES: Final = 1024 * 1024
MOST_KEPT_BUFFERS: Final = 4
STILL_SECONDS: Final = 0.05
"""How long a file is watched for changes where leases cannot tell."""
_FORMATS: Final = {"file": stat.S_IFREG, "directory": stat.S_IFDIR, "symlink": stat.S_IFLNK, "other": 0}
_idle: Final[list[bytearray]] = []
Content = TypeVar("Content", bytes, memoryview)


def entry_type(mode: int) -> EntryType:
    """Return the kind of thing that a mode from `stat` stands for."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def to_file_stat(found: os.stat_result) -> FileStat:
    """Return a store's facts from the system's."""
    return FileStat(
        entry_type(found.st_mode),
        found.st_size,
        stat.S_IMODE(found.st_mode),
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_dev,
        found.st_ino,
        found.st_nlink,
        found.st_atime_ns,
    )


to_facts: Final[Callable[[os.stat_result], Facts]] = attrgetter(
    "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode"
)


def stat_of(facts: Facts) -> FileStat:
    """Return a store's facts from those that a scan gives."""
    device, inode, size, modified_ns, changed_ns, mode = facts
    return FileStat(entry_type(mode), size, stat.S_IMODE(mode), modified_ns, changed_ns, device, inode)


def facts_of(found: FileStat) -> Facts:
    """Return the facts as a scan gives them."""
    return (*found.identity, _FORMATS[found.type] | found.mode)


def is_unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether a file's bytes are the same at both times, as far as size and times tell."""
    return (
        before.st_ctime_ns == after.st_ctime_ns
        and before.st_mtime_ns == after.st_mtime_ns
        and before.st_size == after.st_size
    )


def read_exactly(descriptor: int, offset: int, count: int) -> bytes:
    """Return `count` bytes from `offset`, fewer only at the end of the file."""
    content = os.pread(descriptor, count, offset)
    if len(content) == count or not content:
        return content
    # One call gives at most 2 GiB less a page, and less when a signal comes.
    parts = [content]
    done = len(content)
    while done < count and (content := os.pread(descriptor, count - done, offset + done)):
        parts.append(content)
        done += len(content)
    return b"".join(parts)


class Buffer:
    """Memory for one file at a time; that of small files is kept for the next one. Lives for a `with` block.

    Fresh memory for each file costs as much as the reading: the kernel clears it page by page.
    """

    __slots__ = ("_memory",)

    def __enter__(self) -> Buffer:
        """Take memory that nobody uses."""
        try:
            self._memory = _idle.pop()
        except IndexError:
            self._memory = bytearray(KEPT_BUFFER_BYTES)  # which takes no room before it is filled
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        if len(_idle) < MOST_KEPT_BUFFERS:
            _idle.append(self._memory)

    def read(self, descriptor: int, size: int) -> memoryview:
        """Return as many bytes from the start of a file, in this memory if they fit."""
        if size <= KEPT_BUFFER_BYTES:
            content = memoryview(self._memory)[:size]
            if read_into(descriptor, content) == size:
                return content
        return memoryview(read_exactly(descriptor, 0, size))

    def read_now(self, descriptor: int, size: int) -> memoryview | None:
        """As `read`, but only what the kernel has in memory and fits; else None."""
        if size > KEPT_BUFFER_BYTES:
            return None
        content = memoryview(self._memory)[:size]
        return content if not size or read_cached(descriptor, content) == size else None


def read_stable(
    opened: Callable[[], AbstractContextManager[int]], *, path: str, limit: int | None = None
) -> tuple[bytes, os.stat_result]:
    """Read a whole file that nobody writes meanwhile; see `read_stable_by`."""
    return read_stable_by(lambda descriptor, size: read_exactly(descriptor, 0, size), opened, path=path, limit=limit)


def read_stable_by(
    read: Callable[[int, int], Content],
    opened: Callable[[], AbstractContextManager[int]],
    *,
    path: str,
    limit: int | None,
) -> tuple[Content, os.stat_result]:
    """Read a whole file that nobody writes meanwhile; opened again for each try, since it may be replaced.

    Args:
        read: Returns as many bytes from the start of a descriptor's file.
        opened: Gives a descriptor of the regular file for the time of a `with` block.
        path: The file's name in errors.
        limit: Largest size in bytes.

    Raises:
        FileTooLargeError: It has more than `limit` bytes.
        FileBusyError: It changed during each of 5 tries.
    """
    for attempt in range(READ_TRIES):
        if attempt:
            time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        with opened() as descriptor:
            before = os.fstat(descriptor)
            if limit is not None and before.st_size > limit:
                raise FileTooLargeError(path, before.st_size, limit)
            content = read(descriptor, before.st_size)
            if len(content) == before.st_size and is_unchanged(before, os.fstat(descriptor)):
                return content, before
    raise FileBusyError(path)


class LocalReader:
    """A regular file open for reading parts; lives until closed."""

    __slots__ = ("_descriptor", "_leases", "_stat")

    def __init__(self, descriptor: int, *, leases: bool) -> None:
        self._descriptor = descriptor
        self._leases = leases
        self._stat = to_file_stat(os.fstat(descriptor))

    @property
    def stat(self) -> FileStat:
        """Facts taken when it was opened."""
        return self._stat

    def read_at(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset`; fewer only at the end of the file."""
        return read_exactly(self._descriptor, offset, count)

    def is_being_written(self) -> bool:
        """Whether some process has it open for writing."""
        return is_open_for_writing(self._descriptor, leases=self._leases)

    def has_changed(self) -> bool:
        """Whether its bytes have changed since it was opened."""
        now = os.fstat(self._descriptor)
        return (now.st_size, now.st_mtime_ns) != (self._stat.size, self._stat.modified_ns)

    def close(self) -> None:
        """Release the descriptor; may be called twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def is_open_for_writing(descriptor: int, *, leases: bool) -> bool:
    """Whether some process has a file open for writing: by a read lease, or by whether it changes within 50 ms."""
    if leases:
        try:
            return lease_refused(descriptor)
        except OSError:
            # Somebody else's file, or a file system without leases: its changes have to tell.
            pass
    before = os.fstat(descriptor)
    time.sleep(STILL_SECONDS)
    return not is_unchanged(before, os.fstat(descriptor))
