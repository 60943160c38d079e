"""The reading half of a store over a transaction's overlay, so that whatever reads files reads its changes too."""

from __future__ import annotations

from collections.abc import Iterator

from filetools.errors import (
    DirectoryNotFoundError,
    FileTooLargeError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    VersionMismatchError,
)
from filetools.facade.transactions.overlay import TransactionOverlay
from filetools.facade.transactions.states import BufferedFolder, Original, Written
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.reading import facts_of
from filetools.stores.store import FileStat, Reader, ScanEntry, T, Take


class OverlayStore:
    """The tree as a transaction sees it, to be read; it has no way to change anything. Lives as long as its overlay."""

    def __init__(self, overlay: TransactionOverlay) -> None:
        self._overlay = overlay

    @property
    def name(self) -> str:
        """Short name for messages."""
        return self._overlay.disk.name

    @property
    def tick_ns(self) -> int:
        """As the disk's."""
        return self._overlay.disk.tick_ns

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """Return facts of a path, or None if nothing is there."""
        with self._overlay.lock:
            return self._overlay.stat(path)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """Return a file's whole content and its facts.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, FileBusyError
            FileTooLargeError: It has more than `limit` bytes.
            VersionMismatchError: It was moved in this transaction, and others changed it since.
        """
        with self._overlay.lock:
            found = self._file(path)
            if isinstance(found, Written):
                if limit is not None and len(found.content) > limit:
                    raise FileTooLargeError(path, len(found.content), limit)
                return found.content, found.stat
            content, stat = self._overlay.disk.read(found, limit=limit)
            self._check(path, found, stat)
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
        with self._overlay.lock:
            found = self._file(path)
            if isinstance(found, Written):
                return WrittenReader(found)
            reader = self._overlay.disk.open(found)
            try:
                self._check(path, found, reader.stat)
            except BaseException:
                reader.close()
                raise
            return reader

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        """Yield the names in a directory, as they are when the first is asked for.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError
        """
        with self._overlay.lock:
            found = self._scan(path)
        yield from found

    def state_below(self, path: WorkspacePath) -> None:
        """Return None: what the disk has is asked when the transaction is done."""

    def _scan(self, path: WorkspacePath) -> list[ScanEntry]:
        overlay = self._overlay
        if not path.is_root:
            stat = overlay.stat(path)
            if stat is None:
                raise DirectoryNotFoundError(path)
            if stat.type != "directory":
                raise PathNotDirectoryError(path)
        changed = {key: name for name, key in overlay.names_in(path)}
        found = [] if overlay.entry(path) or overlay.is_hidden(path) else self._on_disk(path)
        kept = [entry for entry in found if not changed or overlay.key(path.child(entry.name)) not in changed]
        for name in changed.values():
            stat = overlay.stat(path.child(name))
            if stat is not None:
                kept.append(ScanEntry(name, stat.type))
        return kept

    def _on_disk(self, path: WorkspacePath) -> list[ScanEntry]:
        try:
            return list(self._overlay.disk.scan(path))
        except (DirectoryNotFoundError, PathNotDirectoryError):
            if not self._overlay.has_live_below(path):
                raise
            return []

    def _file(self, path: WorkspacePath) -> Written | WorkspacePath:
        """Return the bytes of a file, or where on the disk they are."""
        found = self._overlay.state(path)
        if isinstance(found, Written):
            return found
        if isinstance(found, Original):
            return found.path
        if isinstance(found, BufferedFolder):
            raise PathIsDirectoryError(path)
        if found is None:
            raise PathNotFoundError(path)
        return path

    def _check(self, path: WorkspacePath, origin: WorkspacePath, stat: FileStat) -> None:
        found = self._overlay.state(path)
        if isinstance(found, Original) and not is_same(found.stat, stat):
            raise VersionMismatchError(origin, None, None, reason="others changed it after this transaction moved it")


class WrittenReader:
    """A file of the transaction, open for reading parts."""

    def __init__(self, file: Written) -> None:
        self._file = file

    @property
    def stat(self) -> FileStat:
        """Its facts."""
        return self._file.stat

    def read_at(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset`; fewer only at the end of the file."""
        return self._file.content[offset : offset + count]

    def is_being_written(self) -> bool:
        """Return False: bytes in memory are never written in place."""
        return False

    def has_changed(self) -> bool:
        """Return False: bytes in memory are never written in place."""
        return False

    def close(self) -> None:
        """Do nothing; may be called twice."""


def is_same(before: FileStat, now: FileStat | None) -> bool:
    """Whether a file is, as far as its facts tell, the one it was; links made or removed since do not count."""
    if now is None:
        return False
    facts = [(stat.type, stat.inode, stat.size, stat.modified_ns) for stat in (before, now)]
    return facts[0] == facts[1]
