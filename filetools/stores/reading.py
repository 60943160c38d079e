"""Reads a local tree by descriptor: facts, names, and files whole and unchanged, in parts, or only from memory."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from filetools.errors import FileBusyError, FileTooLargeError, NotRegularFileError
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.private import Disk, Explained, is_ours
from filetools.stores.store import FileStat, ScanEntry
from filetools.stores.system import Opened, lease_refused, read_cached

READ_TRIES: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.001
STILL_SECONDS: Final = 0.05
"""How long a file is watched for changes if leases are unavailable."""
LARGEST: Final = 2**63 - 1
"""Largest number in the database. Files can have later times than that of the year 2262, and earlier ones than 1677."""
_TYPES: Final[dict[int, EntryType]] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


def to_file_stat(found: os.stat_result) -> FileStat:
    """Return a store's facts from the system's."""
    # Compared without `min`, and converted only where it is needed: this is called for every file.
    modified, device, inode = found.st_mtime_ns, found.st_dev, found.st_ino
    return FileStat(
        _TYPES.get(stat.S_IFMT(found.st_mode), "other"),
        found.st_size,
        stat.S_IMODE(found.st_mode),
        modified if -LARGEST <= modified <= LARGEST else LARGEST if modified > 0 else -LARGEST,
        found.st_ctime_ns,
        device if device <= LARGEST else signed(device),
        inode if inode <= LARGEST else signed(inode),
        found.st_nlink,
    )


def signed(number: int) -> int:
    """Return the number of a device or inode as the database can store it: its last 64 bits as a signed number.

    Network and overlay file systems use all 64 bits, of which the first alone may tell two files apart; Windows uses 128.
    """
    return (number + 2**63) % 2**64 - 2**63


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


def read_stable(opening: Callable[[], int], *, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
    """Read a whole file while it does not change; it is reopened for each try, since it may be replaced.

    Args:
        opening: Opens the regular file.
        path: The file's name in errors.
        limit: Largest size in bytes.

    Raises:
        FileTooLargeError: It has more than `limit` bytes.
        FileBusyError: It changed during each of 5 tries.
    """
    for attempt in range(READ_TRIES):
        if attempt:
            time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        with Opened(opening) as descriptor:
            before = os.fstat(descriptor)
            if limit is not None and before.st_size > limit:
                raise FileTooLargeError(path, before.st_size, limit)
            content = read_exactly(descriptor, before.st_size)
            if len(content) == before.st_size and is_unchanged(before, os.fstat(descriptor)):
                return content, before
    raise FileBusyError(path)


class LocalReader:
    """A regular file open for reading parts."""

    __slots__ = ("_descriptor", "stat")

    def __init__(self, descriptor: int, found: os.stat_result) -> None:
        self._descriptor = descriptor
        self.stat = to_file_stat(found)

    def read_at(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset`; fewer only at the end of the file."""
        return read_exactly(self._descriptor, count, offset)

    def is_being_written(self) -> bool:
        """True if some process has it open for writing."""
        return is_open_for_writing(self._descriptor)

    def has_changed(self) -> bool:
        """True if its bytes have changed since it was opened."""
        now = to_file_stat(os.fstat(self._descriptor))
        return (now.size, now.modified_ns) != (self.stat.size, self.stat.modified_ns)

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
            content, found = read_stable(partial(workspace.open_file, path), path=path, limit=limit)
        return content, to_file_stat(found)

    def read_now(self, path: WorkspacePath, limit: int) -> tuple[memoryview, FileStat] | None:
        """As `Store.read_now`: only if names and bytes are in memory. Five system calls, and no copy of the bytes."""
        workspace = self._disk.workspace
        opened = workspace.open_file_now(path)
        if opened is None:
            return None
        descriptor, found = opened
        try:
            if found.st_size > limit:
                return None
            content = memoryview(bytearray(found.st_size))
            is_whole = not content or read_cached(descriptor, content) == len(content)
            return (content, to_file_stat(found)) if is_whole and is_unchanged(found, os.fstat(descriptor)) else None
        except OSError as exc:
            raise workspace.explain(path, exc) from exc
        finally:
            os.close(descriptor)

    def read_link(self, path: WorkspacePath) -> bytes:
        """As `Store.read_link`."""
        with Explained(self._disk.workspace, path, self._disk.workspace.open_parent) as parent:
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
            Explained(workspace, path, workspace.open_directory) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            for entry in entries:
                if not is_ours(entry.name):
                    inode = entry.inode()
                    yield ScanEntry(entry.name, type_of_entry(entry), inode if inode <= LARGEST else signed(inode))

    def look_into(
        self, path: WorkspacePath, names: Collection[str] | None = None
    ) -> tuple[FileStat, dict[str, FileStat]]:
        """As `Store.look_into`: folder and names through one descriptor, so that both are of one folder."""
        workspace = self._disk.workspace
        found = {}
        with Explained(workspace, path, workspace.open_directory) as descriptor:
            own = to_file_stat(os.fstat(descriptor))
            for name in [n for n in os.listdir(descriptor) if not is_ours(n)] if names is None else names:
                try:
                    found[name] = to_file_stat(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
                except FileNotFoundError:
                    continue
        return own, found


def type_of_entry(entry: os.DirEntry[str]) -> EntryType:
    """Return the type of a scanned entry."""
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "symlink" if entry.is_symlink() else "other"
