"""The reading half of a local store."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from filetools.content.identity_cache import is_settled
from filetools.errors import FileToolsError, NotRegularFileError
from filetools.models.words import EntryType
from filetools.paths.names import is_state_name
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local_disk import Explained, opened_file, opened_parent
from filetools.stores.owners import FOREIGN_NAME
from filetools.stores.reading import Buffer, is_unchanged, read_stable, read_stable_by, to_facts, to_file_stat
from filetools.stores.store import Facts, FileStat, ScanEntry, T, Take


class Disk(Protocol):
    """What reading needs of a local disk."""

    @property
    def workspace(self) -> Workspace:
        """The root that is read."""


class LocalReading:
    """Reads files of one root; lives as long as the store it is part of."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

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
            content, found = read_stable(partial(opened_file, workspace, path), path=path, limit=limit)
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
                opened = partial(opened_file, workspace, path)
                content, found = read_stable_by(buffer.read, opened, path=path, limit=limit)
            return take(content, to_facts(found))

    def read_link(self, path: WorkspacePath) -> bytes:
        """Return what a symbolic link points to, as it says it.

        Raises:
            PathNotFoundError: Nothing is there.
            NotRegularFileError: It is no link.
        """
        with Explained(self._disk.workspace, path), opened_parent(self._disk.workspace, path) as parent:
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
        """Yield the names in a directory as the disk gives them, without what belongs to filetools itself.

        Lazy: the directory is opened with the first name asked for, which raises what there is to raise.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError
        """
        workspace = self._disk.workspace
        descriptor = workspace.open_directory(path)
        try:
            with Explained(workspace, path), os.scandir(descriptor) as entries:
                for entry in entries:
                    if not _is_ours(entry.name):
                        yield ScanEntry(entry.name, _type_of(entry), entry.inode())
        finally:
            os.close(descriptor)

    def scan_again(
        self, path: WorkspacePath, state: Facts | None, names: Collection[str]
    ) -> tuple[dict[str, Facts], Facts | None]:
        """Return the names in a directory with the facts of each; the names are read only if they may have changed.

        Args:
            path: The directory.
            state: Its own facts when it had exactly these names, as a scan before has returned them; None has them read.
            names: The names.

        Returns:
            The facts by name, and those of the directory; None if it was so young that it may change and keep them.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError
        """
        workspace = self._disk.workspace
        descriptor = workspace.open_directory(path)
        try:
            with Explained(workspace, path):
                taken_ns = time.time_ns()
                # Before the names are read: whatever changes them from here on is seen the next time.
                now = to_facts(os.fstat(descriptor))
                if now != state:
                    names = os.listdir(descriptor)
                    state = now if is_settled(now[:5], taken_ns) else None
                look = partial(os.stat, dir_fd=descriptor, follow_symlinks=False)
                try:
                    # No record for each: of most entries nobody wants more than whether they are as they were.
                    return dict(zip(names, map(to_facts, map(look, names)), strict=True)), state
                except FileNotFoundError:
                    return _facts_of_those_left(look, names), None
        finally:
            os.close(descriptor)

    def look_into(
        self, path: WorkspacePath, names: Collection[str] | None = None
    ) -> tuple[FileStat, dict[str, FileStat]]:
        """As `Store.look_into`: folder and names through one descriptor, so that both are of one folder."""
        workspace = self._disk.workspace
        descriptor = workspace.open_directory(path)
        try:
            with Explained(workspace, path):
                own = to_file_stat(os.fstat(descriptor))
                wanted = names if names is not None else [n for n in os.listdir(descriptor) if not _is_ours(n)]
                found = {}
                for name in wanted:
                    with suppress(FileNotFoundError):
                        found[name] = to_file_stat(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
            return own, found
        finally:
            os.close(descriptor)

    def state_below(self, path: WorkspacePath) -> WorkspacePath | None:
        """Return where in a folder some state directory lies; folders that vanish or cannot be read count as empty."""
        pending = [path]
        while pending:
            folder = pending.pop()
            for name in self._folders_in(folder):
                if is_state_name(name):
                    return folder.child(name)
                pending.append(folder.child(name))
        return None

    def _folders_in(self, path: WorkspacePath) -> list[str]:
        try:
            descriptor = self._disk.workspace.open_directory(path)
        except FileToolsError:
            return []
        try:
            with os.scandir(descriptor) as entries:
                return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        finally:
            os.close(descriptor)


def _is_ours(name: str) -> bool:
    """Whether a name is the state directory, under any spelling that cannot be addressed, or a temporary file."""
    # Most names are settled by the first test; folding each would double the cost of a scan.
    if name[0] != "." and name.isascii() and "~" not in name:
        return False
    return is_state_name(name) or FOREIGN_NAME.fullmatch(name) is not None


def _type_of(entry: os.DirEntry[str]) -> EntryType:
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "symlink" if entry.is_symlink() else "other"


def _facts_of_those_left(look: Callable[[str], os.stat_result], names: Collection[str]) -> dict[str, Facts]:
    found = {}
    for name in names:
        with suppress(FileNotFoundError):
            found[name] = to_facts(look(name))
    return found
