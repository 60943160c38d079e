"""Reads a local tree by descriptor: facts, names, and files whole and unchanged, in parts, or only from memory."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Final, TypeVar

from filetools.errors import FileBusyError, FileTooLargeError, FileToolsError, NotRegularFileError
from filetools.models.words import EntryType
from filetools.paths.names import is_state_name
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local_disk import Disk, Explained
from filetools.stores.private import is_ours
from filetools.stores.store import Facts, FileStat, ScanEntry, T, Take
from filetools.stores.system import Opened, lease_refused, read_cached, read_into

READ_TRIES: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.001
KEPT_BUFFER_BYTES: Final = 1024 * 1024
MOST_KEPT_BUFFERS: Final = 4
STILL_SECONDS: Final = 0.05
"""How long a file is watched for changes if leases are unavailable."""
_FORMATS: Final = {"file": stat.S_IFREG, "directory": stat.S_IFDIR, "symlink": stat.S_IFLNK, "other": 0}
_idle: Final[list[bytearray]] = []
Content = TypeVar("Content", bytes, memoryview)


def entry_type(mode: int) -> EntryType:
    """Return the entry type of a mode from `stat`."""
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
    )


to_facts: Final[Callable[[os.stat_result], Facts]] = attrgetter(
    "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode"
)


def facts_of(found: FileStat) -> Facts:
    """Return the facts as a scan gives them."""
    return (*found.identity, _FORMATS[found.type] | found.mode)


def is_unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """True if a file's bytes are the same at both times, as far as size and times show."""
    return (
        before.st_ctime_ns == after.st_ctime_ns
        and before.st_mtime_ns == after.st_mtime_ns
        and before.st_size == after.st_size
    )


def read_exactly(descriptor: int, count: int, offset: int = 0) -> bytes:
    """Return `count` bytes from `offset`, fewer only at the end of the file."""
    parts: list[bytes] = []
    # One call returns at most 2 GiB less a page, and less if a signal comes.
    while count > 0 and (part := os.pread(descriptor, count, offset)):
        parts.append(part)
        count, offset = count - len(part), offset + len(part)
    return b"".join(parts)


class Buffer:
    """Memory for one file at a time, for a `with` block; that of small files is reused for the next one.

    Fresh memory for each file costs as much as the reading: the kernel clears it page by page.
    """

    __slots__ = ("_memory",)

    def __enter__(self) -> Buffer:
        """Take unused memory."""
        try:
            self._memory = _idle.pop()
        except IndexError:
            self._memory = bytearray(KEPT_BUFFER_BYTES)  # which takes no physical memory before it is filled
        return self

    def __exit__(self, *_: object) -> None:
        """Return it for reuse."""
        if len(_idle) < MOST_KEPT_BUFFERS:
            _idle.append(self._memory)

    def read(self, descriptor: int, size: int) -> memoryview:
        """Return the first `size` bytes of a file, in this memory if they fit."""
        if size <= KEPT_BUFFER_BYTES:
            content = memoryview(self._memory)[:size]
            if read_into(descriptor, content) == size:
                return content
        return memoryview(read_exactly(descriptor, size))

    def read_now(self, descriptor: int, size: int) -> memoryview | None:
        """As `read`, but None unless the kernel has all bytes in memory and they fit."""
        if size > KEPT_BUFFER_BYTES:
            return None
        content = memoryview(self._memory)[:size]
        return content if not size or read_cached(descriptor, content) == size else None


def read_stable(
    read: Callable[[int, int], Content],
    opened: Callable[[], AbstractContextManager[int]],
    *,
    path: str,
    limit: int | None = None,
) -> tuple[Content, os.stat_result]:
    """Read a whole file while it does not change; it is reopened for each try, since it may be replaced.

    Args:
        read: Returns the given number of bytes from the start of a descriptor's file.
        opened: Opens the regular file for a `with` block.
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
    """A regular file open for reading parts."""

    __slots__ = ("_descriptor", "stat")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.stat = to_file_stat(os.fstat(descriptor))

    def read_at(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset`; fewer only at the end of the file."""
        return read_exactly(self._descriptor, count, offset)

    def is_being_written(self) -> bool:
        """True if some process has it open for writing."""
        return is_open_for_writing(self._descriptor)

    def has_changed(self) -> bool:
        """True if its bytes have changed since it was opened."""
        now = os.fstat(self._descriptor)
        return (now.st_size, now.st_mtime_ns) != (self.stat.size, self.stat.modified_ns)

    def close(self) -> None:
        """Release the descriptor; may be called twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def is_open_for_writing(descriptor: int) -> bool:
    """True if some process has a file open for writing: by a read lease, or by whether it changes within 50 ms."""
    # A file of another user, or on a file system without leases, is watched for changes instead.
    with suppress(OSError):
        return lease_refused(descriptor)
    before = os.fstat(descriptor)
    time.sleep(STILL_SECONDS)
    return not is_unchanged(before, os.fstat(descriptor))


class LocalReading:
    """Reads files of one root; part of a store."""

    _disk: Disk

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """Return facts of a path without following links, or None if nothing is there."""
        found = self._disk.workspace.stat(path)
        return None if found is None else to_file_stat(found)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """Return a file's whole content and the facts it had while it was read.

        Args:
            path: A regular file; a pipe or a device is refused without waiting for it.
            limit: Largest size in bytes.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError
            FileTooLargeError: It has more than `limit` bytes.
            FileBusyError: It changed during each of 5 tries.
        """
        workspace = self._disk.workspace
        with Explained(workspace, path):
            content, found = read_stable(
                read_exactly, partial(Opened, workspace.open_file, path), path=path, limit=limit
            )
        return content, to_file_stat(found)

    def read_now(self, path: WorkspacePath, limit: int, take: Take[T]) -> T | None:
        """As `Store.read_now`: only if names and bytes are in memory. Five system calls, and no copy of the bytes."""
        workspace = self._disk.workspace
        opened = workspace.open_file_now(path)
        if opened is None:
            return None
        descriptor, found = opened
        with Buffer() as buffer:
            try:
                content = None if found.st_size > limit else buffer.read_now(descriptor, found.st_size)
                is_whole = content is not None and is_unchanged(found, os.fstat(descriptor))
            except OSError as exc:
                raise workspace.explain(path, exc) from exc
            finally:
                os.close(descriptor)
            return take(content, to_facts(found)) if content is not None and is_whole else None

    def read_lent(self, path: WorkspacePath, limit: int, take: Take[T]) -> T:
        """As `Store.read_lent`."""
        workspace = self._disk.workspace
        with Buffer() as buffer:
            with Explained(workspace, path):
                opened = partial(Opened, workspace.open_file, path)
                content, found = read_stable(buffer.read, opened, path=path, limit=limit)
            return take(content, to_facts(found))

    def read_link(self, path: WorkspacePath) -> bytes:
        """As `Store.read_link`."""
        with Explained(self._disk.workspace, path), Opened(self._disk.workspace.open_parent, path) as parent:
            try:
                return os.fsencode(os.readlink(path.name, dir_fd=parent))
            except OSError as exc:
                if exc.errno == errno.EINVAL:
                    raise NotRegularFileError(path) from exc
                raise

    @property
    def root(self) -> Path:
        """The root, absolute, as it was given."""
        return self._disk.workspace.root

    def open_directory(self, path: WorkspacePath) -> int:
        """Open a directory for listings that scan it themselves; the caller closes the descriptor.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError
        """
        return self._disk.workspace.open_directory(path)

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        """Yield the names in a directory as the disk has them, without those of filetools itself.

        Lazy: the directory is opened when the first name is requested, and errors are raised then.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError
        """
        workspace = self._disk.workspace
        with (
            Explained(workspace, path),
            Opened(workspace.open_directory, path) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            for entry in entries:
                if not is_ours(entry.name):
                    yield ScanEntry(entry.name, _type_of(entry), entry.inode())

    def look_into(
        self, path: WorkspacePath, names: Collection[str] | None = None
    ) -> tuple[FileStat, dict[str, FileStat]]:
        """As `Store.look_into`: folder and names through one descriptor, so that both are of one folder."""
        workspace = self._disk.workspace
        found = {}
        with Explained(workspace, path), Opened(workspace.open_directory, path) as descriptor:
            own = to_file_stat(os.fstat(descriptor))
            for name in [n for n in os.listdir(descriptor) if not is_ours(n)] if names is None else names:
                try:
                    found[name] = to_file_stat(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
                except FileNotFoundError:
                    continue
        return own, found

    def state_below(self, path: WorkspacePath) -> WorkspacePath | None:
        """Return some state directory in a folder, or None; folders that vanish or cannot be read count as empty."""
        pending = [path]
        while pending:
            folder = pending.pop()
            for name in self._folders_in(folder):
                if is_state_name(name):
                    return folder.child(name)
                pending.append(folder.child(name))
        return None

    def _folders_in(self, path: WorkspacePath) -> list[str]:
        with (
            suppress(FileToolsError),
            Opened(self._disk.workspace.open_directory, path) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        return []


def _type_of(entry: os.DirEntry[str]) -> EntryType:
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "symlink" if entry.is_symlink() else "other"
