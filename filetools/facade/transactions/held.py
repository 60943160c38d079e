"""The tree of a transaction: the paths that it has changed, over the disk.

`OverlayStore` is the reading half of a store over it, so that calls in the transaction read its changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.changes.steps.folders import moved
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


class DiskPath(Struct, frozen=True, kw_only=True):
    """What was at a path of the disk before the transaction changed it."""

    path: WorkspacePath
    stat: FileStat | None = None
    """None if nothing was there."""
    version: str | None = None
    """Of a file its bytes'; of one that was not read, and of a link, that of its facts; None for the rest."""
    content: bytes | None = None
    """Bytes of a file, if they were read."""
    is_strict: bool = False
    """True if what others write there meanwhile must not be merged with the transaction's text."""

    @property
    def kind(self) -> EntryType | None:
        """The kind of the entry; None if nothing was there."""
        return None if self.stat is None else self.stat.type

    @property
    def mode(self) -> int | None:
        """Its permission bits."""
        return None if self.stat is None else self.stat.mode


class HeldEntry(Struct, frozen=True, kw_only=True):
    """What the transaction has at a path."""

    path: WorkspacePath
    before: DiskPath
    """What was there."""
    kind: EntryType | None = None
    """None if nothing is there now."""
    origin: DiskPath | None = None
    """The entry of the disk that this one was, at whatever path; None if the transaction made it."""
    content: bytes | None = None
    """New bytes of a file; None for those of the origin."""
    encoding: str | None = None
    """Codec that an actor named for its new bytes."""
    mode: int | None = None
    """New permission bits of a file; None for those of the origin, or the default."""


class HeldTree:
    """The tree of one transaction. Every reader and writer holds `lock`.

    A folder that was made, moved or removed is listed with everything in it; the disk is read below other folders only.
    """

    def __init__(self, disk: Store, key: Callable[[WorkspacePath], str]) -> None:
        """Begin without changes.

        Args:
            disk: The store below.
            key: Returns the text that all spellings of a path share.
        """
        self.disk = disk
        self.key = key
        self.lock = threading.RLock()
        self._began_ns = time.time_ns()
        self._inside: dict[str, dict[str, HeldEntry]] = {}
        """The changed paths by key of the folder, then by their own; also the folders above them."""

    def changed(self) -> dict[str, HeldEntry]:
        """Return the entries of all changed paths by key, folders before what is in them."""
        return dict(sorted(each for inside in self._inside.values() for each in inside.items()))

    def is_changed(self, key: str) -> bool:
        """Return True if the path of a key, or a folder above it, was changed."""
        return any(self._listed(above) is not None for above in up_to(key))

    def find(self, path: WorkspacePath, seen: Look | None = None) -> HeldEntry:
        """Return the entry at a path, from a look at it if there was one."""
        key = self.key(path)
        if (known := self._listed(key)) is not None:
            return known if known.kind else replace(known, path=path)
        # What others do where the transaction has changed something is compared at the exit.
        if self.is_changed(key):
            before = DiskPath(path=path)
        elif seen is not None:
            before = DiskPath(path=seen.path, stat=seen.stat, version=seen.version, content=seen.content)
        else:
            stat = self.disk.stat(path)
            version = stat_version(stat.identity) if stat is not None and stat.type != "directory" else None
            before = DiskPath(path=path, stat=stat, version=version)
        # Others may have removed or replaced the folder of what the transaction changed.
        kind = "directory" if key in self._inside else before.kind
        return HeldEntry(
            path=before.path, before=before, kind=kind, origin=before if kind and kind == before.kind else None
        )

    def names(self, path: WorkspacePath) -> list[ScanEntry]:
        """Return the names in a folder."""
        key, found = self.key(path), dict[str, ScanEntry]()
        if not self.is_changed(key):
            # Others may have removed or replaced this folder, or one in it that has changes below.
            above = self._inside if path.is_root or key in self._inside else ()
            below = (each for each in above if each and each.rpartition("/")[0] == key)
            found = {each: ScanEntry(each.rpartition("/")[2], "directory") for each in below}
            with suppress(DirectoryNotFoundError, PathNotDirectoryError):
                for each in self.disk.scan(path):
                    other = self.key(path.child(each.name))
                    found[other] = ScanEntry(each.name, "directory") if other in self._inside else each
        for other, entry in self._inside.get(key, {}).items():
            found.pop(other, None)
            if entry.kind is not None:
                found[other] = ScanEntry(entry.path.name, entry.kind)
        return [*found.values()]

    def stat(self, entry: HeldEntry) -> FileStat | None:
        """Return the facts of an entry."""
        if entry.kind is None:
            return None
        found = None if entry.origin is None else entry.origin.stat
        if entry.content is not None:
            mode = entry.mode if entry.mode is not None else _FILE_MODE if found is None else found.mode
            inode = int(version_of(entry.content)[-15:], 16)  # equal bytes may be taken for one file
            return FileStat("file", len(entry.content), mode, self._began_ns, self._began_ns, NOT_ON_DISK, inode)
        if found is not None and self.key(entry.path) not in self._inside:
            return found
        folder = found or FileStat("directory", 0, FOLDER_MODE, self._began_ns, self._began_ns, NOT_ON_DISK, 0)
        # Its facts do not change with its entries, so that it must always look too young for caches of listings.
        return replace(folder, device=NOT_ON_DISK, changed_ns=time.time_ns())

    def put(self, path: WorkspacePath, seen: Look, decision: PutDecision) -> None:
        """Give a file new bytes, or make it.

        Raises:
            InvalidArgumentError: As all changes: a file would replace a folder, or a folder a file.
        """
        is_first, entry = not self.is_changed(self.key(path)), self.find(path, seen)
        before = replace(entry.before, is_strict=True) if is_first and decision.is_strict else entry.before
        mode = entry.mode if decision.mode is None else decision.mode
        new = replace(entry, kind="file", content=decision.content, encoding=decision.encoding, mode=mode)
        self._place(replace(new, before=before))

    def make_folder(self, path: WorkspacePath) -> None:
        """Make a folder, unless it exists."""
        self._place(replace(self.find(path), kind="directory"))

    def remove(self, path: WorkspacePath, below: Sequence[WorkspacePath] = (), seen: Look | None = None) -> None:
        """Remove an entry, a folder with all that is below it."""
        self._take(path, below, seen)

    def move(
        self,
        source: WorkspacePath,
        destination: WorkspacePath,
        below: Sequence[WorkspacePath] = (),
        seen: tuple[Look | None, Look | None] = (None, None),
    ) -> None:
        """Rename an entry, a folder with all that is below it; a file at the destination is replaced.

        Args:
            source: The entry.
            destination: Its new path.
            below: All paths below a folder, folders before what is in them.
            seen: Looks at source and destination.
        """
        for path, entry in zip((source, *below), self._take(source, below, seen[0]), strict=True):
            to = moved(path, source, destination)
            there = self.find(to, seen[1]).before
            # Two files have no common base, so their texts cannot be merged.
            self._place(replace(entry, path=to, before=replace(there, is_strict=True)))

    def _take(self, path: WorkspacePath, below: Sequence[WorkspacePath], seen: Look | None) -> list[HeldEntry]:
        """Remove an entry with all that is below it, and return what they were."""
        # All are found before the first one changes: the disk is not read below a changed folder.
        taken = [self.find(path, seen), *map(self.find, below)]
        for entry in taken:
            self._place(HeldEntry(path=entry.path, before=entry.before))
        return taken

    def _place(self, entry: HeldEntry) -> None:
        before, is_folder = entry.before.kind, entry.kind == "directory"
        wrong = before is not None and (before == "directory") is not is_folder
        key = self.key(entry.path)
        folder = key.rpartition("/")[0]
        above = [*up_to(folder)]
        known = map(self._listed, above)
        if entry.kind and (wrong or any(each and each.before.kind not in (None, "directory") for each in known)):
            raise InvalidArgumentError(
                f"{entry.path} cannot take the place of something of another kind in the same transaction; delete that "
                "first, in a transaction of its own",
                path=entry.path,
            )
        for each in above:
            self._inside.setdefault(each, {})
        self._inside[folder][key] = entry

    def saved(self) -> dict[str, dict[str, HeldEntry]]:
        """Return the present state, for `restore`."""
        return {folder: dict(inside) for folder, inside in self._inside.items()}

    def restore(self, saved: dict[str, dict[str, HeldEntry]]) -> None:
        """Return to a former state."""
        self._inside = saved

    def _listed(self, key: str) -> HeldEntry | None:
        return self._inside.get(key.rpartition("/")[0], {}).get(key)


def up_to(key: str) -> Iterator[str]:
    """Yield the keys of the folders above a key, outermost first, and the key."""
    return accumulate(key.split("/"), "{}/{}".format)


def refuse_changed(origin: DiskPath, stat: FileStat) -> None:
    """Refuse a file that has changed since the transaction moved it.

    Raises:
        VersionMismatchError
    """
    if not is_same(origin.stat, stat):
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
            return self._held.stat(self._held.find(path))

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
            kind = self._held.find(path).kind
            if kind is None:
                raise DirectoryNotFoundError(path)
            if kind != "directory":
                raise PathNotDirectoryError(path)
            return iter(self._held.names(path))

    def _file(self, path: WorkspacePath) -> tuple[bytes | None, FileStat, DiskPath]:
        """Return the bytes of a file if the transaction wrote them, its facts, and what it is on the disk."""
        entry = self._held.find(path)
        stat = self._held.stat(entry)
        if stat is None:
            raise PathNotFoundError(path)
        if entry.kind == "directory":
            raise PathIsDirectoryError(path)
        return entry.content, stat, entry.origin or entry.before


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
