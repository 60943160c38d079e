"""The tree of a transaction: its changes in an overlay over the disk, and what was at each path before its first change.

`OverlayStore` is the reading half of a store over it, so that calls in the transaction read its changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from filetools.changes.overlay import Overlay, SeenPath
from filetools.changes.steps.look import Look
from filetools.content.version import stat_version, version_of
from filetools.errors import (
    DirectoryNotFoundError,
    FileTooLargeError,
    InvalidArgumentError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    VersionMismatchError,
)
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Reader, ScanEntry, Store

FOLDER_MODE: Final = 0o755
"""Of a folder that the transaction makes, as far as reads inside show it."""
_FILE_MODE: Final = 0o644
NOT_ON_DISK: Final = -1
"""Device of what is only in memory, so that no cache mistakes it for a file of the disk."""


class DiskPath(SeenPath, frozen=True, kw_only=True):
    """What was at a path of the disk before the transaction changed it."""

    stat: FileStat | None = None
    is_strict: bool = False
    """True if what others write there meanwhile must not be merged with the transaction's text."""


class HeldTree:
    """The tree of one transaction. Every reader and writer holds `lock`."""

    def __init__(self, disk: Store, key: Callable[[WorkspacePath], str], limit: int) -> None:
        """Begin without changes.

        Args:
            disk: The store below.
            key: Returns the text that all spellings of a path share.
            limit: Most bytes of a file that can be written again elsewhere.
        """
        self.disk = disk
        self.key = key
        self.lock = threading.RLock()
        self.overlay = Overlay(self._seen_path, self._children, key)
        self._limit = limit
        self._began_ns = time.time_ns()
        self._before: dict[str, DiskPath] = {}
        self._saved = (self._before, self.overlay.root)

    def is_changed(self, key: str) -> bool:
        """Return True if the path of a key, or a folder above it, was changed."""
        return any(above in self._before for above in accumulate(key.split("/"), "{}/{}".format))

    def before(self, path: WorkspacePath) -> DiskPath:
        """Return what was at a path when it was first changed."""
        return self._before.get(self.key(path)) or DiskPath(path=path)

    def changed(self) -> list[WorkspacePath]:
        """Return the changed paths, without those in a folder that was made or moved there."""
        return [each.path for each in self._before.values()]

    def before_below(self, path: WorkspacePath) -> Mapping[str, DiskPath]:
        """Return what was below a folder that was moved or deleted, by key."""
        prefix = f"{self.key(path)}/"
        return {key: each for key, each in self._before.items() if each.kind is not None and key.startswith(prefix)}

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """Return facts of what is at a path."""
        node = self.overlay.find(path)
        if node is None:
            return None
        origin = node.origin
        if node.content is not None:
            known = (node.mode, None if origin is None else origin.mode, _FILE_MODE)
            mode = next(each for each in known if each is not None)
            inode = int(version_of(node.content)[-15:], 16)  # equal bytes may be taken for one file
            return FileStat("file", len(node.content), mode, self._began_ns, self._began_ns, NOT_ON_DISK, inode)
        found = origin.stat if isinstance(origin, DiskPath) else self.disk.stat(path) if path.is_root else None
        if found is not None and not node.children:
            return found
        folder = found or FileStat("directory", 0, FOLDER_MODE, self._began_ns, self._began_ns, NOT_ON_DISK, 0)
        # Its facts do not change with its entries, so that it must always look too young for caches of listings.
        return replace(folder, device=NOT_ON_DISK, changed_ns=time.time_ns())

    def note(self, path: WorkspacePath, seen: Look | None = None, *, becomes: EntryType | None = None) -> None:
        """Record what is at a path of the disk before the first change there.

        Args:
            path: What will change.
            seen: A look at it, if there was one.
            becomes: The kind of entry that will be there.

        Raises:
            InvalidArgumentError: A file would replace a folder, or a folder a file.
        """
        key = self.key(path)
        if not self.is_changed(key):
            self._before[key] = _on_disk(path, self.disk.stat(path)) if seen is None else _as_looked_at(seen)
        kind = self.before(path).kind
        wrong = kind is not None and (kind == "directory") is not (becomes == "directory")
        if becomes and (wrong or any(self.before(above).kind not in (None, "directory") for above in path.folders)):
            raise InvalidArgumentError(
                f"{path} cannot take the place of something of another kind in the same transaction; delete that first, "
                "in a transaction of its own",
                path=path,
            )

    def demand(self, path: WorkspacePath) -> None:
        """Refuse at the exit what others change at a path that has changed here, instead of merging it."""
        self._before[self.key(path)] = replace(self.before(path), is_strict=True)

    def save(self) -> None:
        """Mark the state to which `restore` returns."""
        self._saved = (dict(self._before), self.overlay.root)

    def restore(self) -> None:
        """Return to the marked state."""
        self._before, root = self._saved
        self.overlay.restore(root)

    def _seen_path(self, path: WorkspacePath) -> SeenPath:
        # What others do where the transaction has changed something is compared at the exit.
        if self.is_changed(self.key(path)):
            return replace(self.before(path), path=path)
        return _on_disk(path, self.disk.stat(path))

    def _children(self, path: WorkspacePath) -> Sequence[SeenPath]:
        key = self.key(path)
        if self.is_changed(key):
            return [
                replace(each, path=path.child(each.path.name))
                for known, each in self._before.items()
                if each.kind is not None and known.rpartition("/")[0] == key
            ]
        with suppress(DirectoryNotFoundError, PathNotDirectoryError):  # others may have removed it meanwhile
            return [SeenPath(path=path.child(entry.name), kind=entry.type) for entry in self.disk.scan(path)]
        return ()

    def content(self, origin: SeenPath) -> bytes:
        """Return the bytes of a file, as they were when the transaction moved it.

        Raises:
            VersionMismatchError: Others have changed it since.
            FileTooLargeError: It is too large to be written elsewhere.
        """
        content, stat = self.disk.read(origin.path, limit=self._limit)
        refuse_changed(origin, stat)
        return content


def _on_disk(path: WorkspacePath, stat: FileStat | None) -> DiskPath:
    """Return what is at a path of the disk, without reading its bytes."""
    if stat is None:
        return DiskPath(path=path)
    version = stat_version(stat.identity) if stat.type == "file" else None
    return DiskPath(path=path, kind=stat.type, version=version, mode=stat.mode, stat=stat)


def _as_looked_at(seen: Look) -> DiskPath:
    if seen.stat is None:
        return DiskPath(path=seen.path)
    return DiskPath(
        path=seen.path, kind=seen.stat.type, version=seen.version, mode=seen.stat.mode, content=seen.content, stat=seen.stat
    )  # fmt: skip


def refuse_changed(origin: SeenPath, stat: FileStat) -> None:
    """Refuse a file that has changed since the transaction moved it.

    Raises:
        VersionMismatchError
    """
    if isinstance(origin, DiskPath) and not is_same(origin.stat, stat):
        reason = "others changed it after this transaction moved it"
        raise VersionMismatchError(origin.path, None, None, reason=reason)


def is_same(before: FileStat | None, now: FileStat | None) -> bool:
    """Return True if a file is unchanged according to its facts; links made or removed since do not count."""
    if before is None or now is None:
        return False
    facts = [(stat.type, stat.inode, stat.size, stat.modified_ns) for stat in (before, now)]
    return facts[0] == facts[1]


class OverlayStore:
    """The tree as a transaction sees it, for reading only."""

    def __init__(self, held: HeldTree) -> None:
        self._held = held

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

    def read_now(self, path: WorkspacePath, limit: int) -> None:
        """Return None: the overlay may have to wait for its lock."""

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
        """Yield the names in a directory, as they are now.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError
        """
        with self._held.lock:
            overlay = self._held.overlay
            node = overlay.find(path)
            if node is None:
                raise DirectoryNotFoundError(path)
            if node.kind != "directory":
                raise PathNotDirectoryError(path)
            return iter([ScanEntry(each.name, each.kind) for each in overlay.children(node) if each.kind is not None])

    def _file(self, path: WorkspacePath) -> tuple[bytes | None, FileStat, SeenPath]:
        """Return the bytes of a file if the transaction wrote them, its facts, and its path on the disk."""
        node, stat = self._held.overlay.find(path), self._held.stat(path)
        if node is None or stat is None:
            raise PathNotFoundError(path)
        if node.kind == "directory":
            raise PathIsDirectoryError(path)
        return node.content, stat, node.origin or SeenPath(path=path)


class WrittenReader:
    """A file that the transaction wrote, open for reading parts."""

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
