"""The reading half of a store over a transaction's overlay, so that whatever reads files reads its changes too."""

from __future__ import annotations

from collections.abc import Iterator

from filetools.changes.operations import SeenPath
from filetools.errors import (
    DirectoryNotFoundError,
    FileTooLargeError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from filetools.facade.transactions.held import HeldTree, refuse_changed
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.reading import facts_of
from filetools.stores.store import FileStat, Reader, ScanEntry, T, Take


class OverlayStore:
    """The tree as a transaction sees it, to be read; it has no way to change anything. Lives as long as its transaction."""

    def __init__(self, held: HeldTree) -> None:
        self._held = held

    @property
    def name(self) -> str:
        """Short name for messages."""
        return self._held.disk.name

    @property
    def tick_ns(self) -> int:
        """As the disk's."""
        return self._held.disk.tick_ns

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """Return facts of a path, or None if nothing is there."""
        with self._held.lock:
            return self._held.stat(path)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """Return a file's whole content and its facts.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, FileBusyError
            FileTooLargeError: It has more than `limit` bytes.
            VersionMismatchError: It was moved in this transaction, and others changed it since.
        """
        with self._held.lock:
            content, stat, origin = self._file(path)
            if content is not None:
                if limit is not None and len(content) > limit:
                    raise FileTooLargeError(path, len(content), limit)
                return content, stat
            content, stat = self._held.disk.read(origin.path, limit=limit)
            if origin.path != path:
                refuse_changed(origin, stat)
            return content, stat

    def read_now(self, path: WorkspacePath, limit: int, take: Take[T]) -> T | None:
        """Return None: the overlay may have to wait for its lock."""
        return None

    def read_lent(self, path: WorkspacePath, limit: int, take: Take[T]) -> T:
        """As `read`, but the bytes are lent to `take`."""
        content, stat = self.read(path, limit=limit)
        return take(memoryview(content), facts_of(stat))

    def open(self, path: WorkspacePath) -> Reader:
        """Open a file for reading parts; raises as `read`."""
        with self._held.lock:
            content, stat, origin = self._file(path)
            if content is not None:
                return WrittenReader(content, stat)
            reader = self._held.disk.open(origin.path)
            try:
                if origin.path != path:
                    refuse_changed(origin, reader.stat)
            except BaseException:
                reader.close()
                raise
            return reader

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        """Yield the names in a directory, as they are when the first is asked for.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError
        """
        with self._held.lock:
            found = self._scan(path)
        yield from found

    def state_below(self, path: WorkspacePath) -> None:
        """Return None: what the disk has is asked when the transaction is done."""

    def _scan(self, path: WorkspacePath) -> list[ScanEntry]:
        node = self._held.overlay.find(path)
        if node is None:
            raise DirectoryNotFoundError(path)
        if node.kind != "directory":
            raise PathNotDirectoryError(path)
        return [
            ScanEntry(child.name, child.kind) for child in self._held.overlay.children(node) if child.kind is not None
        ]

    def _file(self, path: WorkspacePath) -> tuple[bytes | None, FileStat, SeenPath]:
        """Return the bytes of a file, if they are the transaction's, its facts, and where on the disk it is or was."""
        node, stat = self._held.overlay.find(path), self._held.stat(path)
        if node is None or stat is None:
            raise PathNotFoundError(path)
        if node.kind == "directory":
            raise PathIsDirectoryError(path)
        return node.content, stat, node.origin or SeenPath(path=path)


class WrittenReader:
    """A file of the transaction, open for reading parts."""

    def __init__(self, content: bytes, stat: FileStat) -> None:
        self._content = content
        self.stat = stat

    def read_at(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset`; fewer only at the end of the file."""
        return self._content[offset : offset + count]

    def is_being_written(self) -> bool:
        """Return False: bytes in memory are never written in place."""
        return False

    def has_changed(self) -> bool:
        """Return False: bytes in memory are never written in place."""
        return False

    def close(self) -> None:
        """Do nothing; may be called twice."""
