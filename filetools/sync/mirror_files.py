"""Changes the files of one mirror, and keeps foreign bytes before it replaces or removes them.

The journal stores the identity of each mirror, and the folder carries it in its marker. Where the two differ, as with a new
folder, another disk mounted at the place, or an old copy of the mirror, the folder is compared with the root as a whole,
because no record shows what it lacks. A mirror that was added to the root is only the folder that was marked then:
another folder at its place, as while its disk is not mounted, is left alone.
"""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from filetools.content.version import hashed_parts, version_of
from filetools.errors import (
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    FileToolsError,
    HoldsStateError,
    MountPointError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
    SyncFailedError,
)
from filetools.events.types import Event
from filetools.journal.backlog import MirrorRow
from filetools.journal.journal import Journal
from filetools.models.records import EXTERNAL
from filetools.models.words import STATE_DIRECTORY, VERSION_PREFIX, EntryType
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.printable import encodable
from filetools.settings import Settings
from filetools.stores.private import foreign_name_for, state_below
from filetools.stores.store import Displaced, FileStat, Store, make_parents, replace_file
from filetools.writer.worker_pool import WorkerPool

MARKER: Final = WorkspacePath(f"{STATE_DIRECTORY}/mirror")
"""The file with the identity of a mirror's folder."""
_STATE_ELSE: Final = WorkspacePath(STATE_DIRECTORY.upper())
"""The state directory in another spelling, which finds it if the mirror's disk ignores case."""
TRIES: Final = 5
_MOST_OWN: Final = 8192
_MOST_MARKER_BYTES: Final = 1024
GONE: Final = (PathNotFoundError, DirectoryNotFoundError, PathNotDirectoryError)
"""Errors that mean that nothing is at the path."""
_OTHER_GROUND: Final = (
    PathExistsError, PathNotFoundError, DirectoryNotFoundError, PathIsDirectoryError, PathNotDirectoryError,
    SymlinkNotAllowedError, NotRegularFileError,
)  # fmt: skip
"""Errors that mean that something is in the way, or that a folder is missing."""

_log = logging.getLogger(__name__)


class SyncContext(Struct, frozen=True, kw_only=True):
    """The surroundings of the mirrors of one workspace; lives as long as it is open."""

    journal: Journal
    primary: Store
    directory: Path
    """The state directory: here processes agree which of them writes to a mirror."""
    workers: WorkerPool
    publish: Callable[[Event], None]
    """Publishes an event; callable from any thread."""
    notify: Callable[[], None]
    """Wakes other processes that have the root open."""
    key: Callable[[WorkspacePath], str]
    left_out: Callable[[str, bool], bool]
    """True if a path, or a folder above it, is excluded from mirrors; takes whether it is a directory."""
    settings: Settings


class MirrorFiles:
    """The folder of a mirror and its files. Used by the mirror's worker only; lives as long as the mirror.

    Attributes:
        row: The mirror's row in the journal.
        store: The mirror.
        is_filled: True if the folder has everything except its backlog.
        is_older: True if the folder was this mirror before: a path that the primary does not have was deleted since.
    """

    def __init__(self, row: MirrorRow, store: Store, context: SyncContext) -> None:
        """Treat the folder as not filled until `establish` is called.

        Args:
            row: The mirror's row in the journal.
            store: The mirror.
            context: The primary, and the journal, which keeps the bytes that it lacks before they are removed. Foreign
                files larger than `max_foreign_bytes` are not read; they stay in the mirror's `.filetools/displaced`.
        """
        self.row = row
        self.store = store
        self.is_filled = self.is_older = False
        self._context = context
        self._own: OrderedDict[tuple[int, ...], str] = OrderedDict()
        """Versions of the files that this process wrote, the oldest dropped first, by inode, size and mtime: not by path,
        because a folder above may be moved; nor by ctime, because the exchange that takes a file out changes that."""
        self._ignores_case = False

    def establish(self) -> None:
        """Check which folder is at the place, and set `row`, `is_filled` and `is_older`.

        Raises:
            SyncFailedError: The mirror was removed from the root; another folder is at the place of an added one; or the
                folder has lost its marker since it was filled.
        """
        row = self.row = self._registered()
        marker = self._marker()
        self.is_older = row.is_or_was(marker)
        if row.root is not None and not self.is_older:
            raise SyncFailedError(None, "another folder is at its place")
        was_filled, self.is_filled = self.is_filled, False
        if was_filled and marker is None:  # what was written to the former folder must not count as written to this one
            raise SyncFailedError(None, "its folder was emptied")
        self.is_filled = row.is_filled and marker == row.identity and not self._is_emptied()
        if row.is_filled and not self.is_filled:
            # Before the first write to this folder: if the former folder returns, it lacks what was written here.
            self.renew()
        self._ignores_case = self.store.stat(_STATE_ELSE) is not None

    def renew(self) -> None:
        """Compare the folder as a whole in the next round: it is another one, or records of changes it lacks were removed."""
        self._context.journal.mirrors.renew(self.row)
        self.row, self.is_filled = self._registered(), False

    def confirm(self) -> None:
        """Mark the folder as filled: all that was in the primary before is in the folder or in its backlog."""
        mark(self.store, self.row.identity)
        self._context.journal.mirrors.filled(self.row)
        self.is_filled = True

    def _marker(self) -> str | None:
        try:
            content, _ = self.store.read(MARKER, limit=_MOST_MARKER_BYTES)
        except GONE:
            return None
        return content.decode("ascii", "replace")

    def _registered(self) -> MirrorRow:
        row = self._context.journal.mirrors.get(self.row.place)
        if row is None:
            raise SyncFailedError(None, "it was removed from the root")
        return row

    def _is_emptied(self) -> bool:
        """True if only the hidden folder is left, as after `rm -r mirror/*`, and a file is known that should be there."""
        known, left_out = self._context.journal.tree_index.paths, self._context.left_out
        if any(True for _ in self.store.scan(ROOT)) or all(left_out(path, False) for path in known("file").values()):
            return False
        # In this order: a known file is in the backlog until the mirror has it, so that a file that is created at this
        # moment is found in one or the other.
        is_owed = self._context.journal.backlog.count(self.row.place) > 0
        return not is_owed and not any(True for _ in self.store.scan(ROOT))

    def spelled(self, path: WorkspacePath) -> WorkspacePath | None:
        """Return the mirror's spelling of a path; None if nothing is there, or its disk does not ignore case."""
        return next(iter(spellings(path, self.store)), None) if self._ignores_case else None

    def respell(self, path: WorkspacePath) -> None:
        """Give an entry the spelling of `path`."""
        # By a third name, because the disk takes the two spellings for one.
        between = path.parent.child(foreign_name_for(path))
        self.store.move(path, between)
        self.store.move(between, path)

    def _make_room(self, path: WorkspacePath, kind: EntryType) -> None:
        """Remove an entry of another kind from the path of a file or directory, and make the folders above it."""
        for place in (*path.folders, path):
            found = self.store.stat(place)
            if found is not None and found.type != (kind if place == path else "directory"):
                self.remove(place)
        make_parents(self.store, path)

    def discard_displaced(self, path: WorkspacePath, displaced: Displaced) -> None:
        """Discard an entry that came out of `path`, after keeping bytes that the journal does not have.

        A file that cannot be kept stays in the mirror's `.filetools/displaced`.
        """
        is_foreign = displaced.stat.type == "file" and not self._forget(displaced.stat)
        if is_foreign and not (self._is_kept(path, displaced) and displaced.is_untouched()):
            displaced.keep(f"mirror-{secrets.token_hex(8)}")
        else:
            displaced.discard()

    def _keep_below(self, path: WorkspacePath) -> None:
        """Remove the files below a directory whose bytes the journal lacks, before the directory is removed as a whole.

        Raises:
            HoldsStateError: Another root lies in it, whose journal must not go along.
        """
        self.refuse_state_below(path)
        for file in files_below(self.store, path):
            with suppress(*GONE):
                stat = self.store.stat(file)
                is_foreign = stat is not None and stat.type == "file" and not self._forget(stat)
                if is_foreign and not self._context.journal.contents.has(file_version(self.store, file)):
                    self.remove(file)

    def refuse_state_below(self, path: WorkspacePath) -> None:
        """Raise HoldsStateError if a path of the mirror is another root, or has one below it."""
        found = self.store.stat(path)
        if found is not None and found.type == "directory" and (state := state_below(self.store, path)) is not None:
            raise HoldsStateError(path, state)

    def put(
        self,
        path: WorkspacePath,
        content: bytes | Callable[[], Iterator[bytes]],
        version: str,
        mode: int | None,
        *,
        size: int,
        must_write: bool,
    ) -> None:
        """Write a file, whatever is in the way; one that has these bytes only gets the mode.

        Args:
            path: The file.
            content: Its bytes, or what yields the parts of a large one.
            version: Their version.
            mode: Permission bits; None keeps those of a file that is replaced.
            size: The number of bytes.
            must_write: True to write it in any case, because the disk may have lost the bytes since.
        """
        for _ in range(TRIES):
            try:
                found = self.store.stat(path)
                can_stay = found is not None and found.size == size and not must_write
                if found is not None and can_stay and self._version_of(path, found) == version:
                    if mode not in (None, found.mode):
                        self.store.set_mode(path, mode)
                    return
                bytes_or_parts = content if isinstance(content, bytes) else content()
                stat, displaced = replace_file(self.store, path, bytes_or_parts, is_new=found is None, mode=mode)
            except _OTHER_GROUND:
                self._make_room(path, "file")
                continue
            self._own[stat.identity[1:4]] = version
            if len(self._own) > _MOST_OWN:
                self._own.popitem(last=False)
            if displaced is not None:
                self.discard_displaced(path, displaced)
            return
        raise ChangedMeanwhileError(path, TRIES)

    def remove(self, path: WorkspacePath, *, only_empty: bool = False) -> None:
        """Remove the entry at `path` with all below it, keeping bytes that the journal does not have.

        Args:
            path: The entry, which may be missing.
            only_empty: True to leave a directory that is not empty.

        Raises:
            HoldsStateError: Another root lies in it.
            MountPointError: It is a mount point, which is left empty.
        """
        with suppress(*GONE):
            found = self.store.stat(path)
            if found is not None and found.type == "directory":
                if only_empty:
                    self.remove_if_empty(path)
                    return
                self._keep_below(path)
            try:
                displaced = self.store.remove(path)
            except MountPointError:
                for entry in tuple(self.store.scan(path)):
                    self.remove(path.child(entry.name))
                raise
            self.discard_displaced(path, displaced)

    def make_folder(self, path: WorkspacePath, mode: int | None) -> None:
        """Make a directory and its parents, whatever is in the way; one that exists gets the mode."""
        self._make_room(path, "directory")
        # The owner must be able to write in it, because the mirror's process is the owner's.
        mode = 0o777 if mode is None else mode | 0o700
        if not self.store.make_directory(path, mode):
            found = self.store.stat(path)
            if found is not None and found.mode != mode:
                self.store.set_mode(path, mode, directory=True)

    def move_folder(self, source: WorkspacePath, path: WorkspacePath) -> bool:
        """Rename a directory as the primary did; False if the mirror has something else there, and nothing was changed.

        Raises:
            HoldsStateError: Another root lies in the folder.
        """
        try:
            found = self.store.stat(source)
            if found is None or found.type != "directory":
                return False
            self.refuse_state_below(source)
            make_parents(self.store, path)
            self.store.move(source, path)
        except _OTHER_GROUND:
            return False
        return True

    def _version_of(self, path: WorkspacePath, found: FileStat) -> str | None:
        """Return the version of a file, which is read unless this process wrote it; None if it cannot be read."""
        with suppress(FileToolsError):
            return self._own.get(found.identity[1:4]) or file_version(self.store, path)
        return None

    def _forget(self, stat: FileStat) -> bool:
        """Forget a file that is removed, because its inode may be used again; False if this process did not write it so."""
        return self._own.pop(stat.identity[1:4], None) is not None

    def remove_if_empty(self, path: WorkspacePath) -> bool:
        """Remove a directory unless something is in it; False if it stays.

        Raises:
            HoldsStateError: It is another root, which has a state and nothing else.
            PathNotFoundError, DirectoryNotFoundError, PathNotDirectoryError
        """
        try:
            self.store.remove_empty_directory(path)
        except DirectoryNotEmptyError:
            if not any(True for _ in self.store.scan(path)):
                self.refuse_state_below(path)
            return False
        return True

    def sweep(self) -> None:
        """Remove temporary files of dead processes, after keeping bytes that the journal does not have."""
        for leftover in self.store.leftovers():
            # Every process that has this mirror sweeps it, so another one may have removed a file first.
            with suppress(*GONE):
                is_file = leftover.stat.type == "file"
                is_large = leftover.stat.size > self._context.settings.max_foreign_bytes
                if is_file and (is_large or not leftover.is_untouched()):
                    continue
                if is_file and (content := leftover.read()):
                    self._context.journal.contents.keep(content, version_of(content))
                leftover.discard()

    def _is_kept(self, path: WorkspacePath, displaced: Displaced) -> bool:
        """True once the journal has the bytes of a displaced file, or knows a large one, which is not read as a whole."""
        journal = self._context.journal
        try:
            if displaced.stat.size > self._context.settings.max_foreign_bytes:
                version = file_version(self.store, WorkspacePath(displaced.temporary))
                return journal.contents.has(version) or bool(journal.history.paths_of(version))
            content = displaced.read()
            if not journal.contents.has(version_of(content)):
                journal.keep_aside(path, self._context.key(path), content, EXTERNAL)
        except FileToolsError as exc:
            _log.warning("foreign bytes of %s stay in .filetools/displaced of the mirror: %s", encodable(path), exc)
            return False
        return True


def mark(store: Store, identity: str) -> None:
    """Write an identity to the marker of a mirror's folder, durably."""
    store.make_directory(MARKER.parent)
    _, displaced = replace_file(store, MARKER, identity.encode("ascii"), is_new=store.stat(MARKER) is None, mode=0o600)
    if displaced is not None:
        displaced.discard()
    store.sync(MARKER)


def spellings(path: WorkspacePath, store: Store) -> list[WorkspacePath]:
    """Return the paths in a store that are the same as this one to a disk that ignores case."""
    found = [ROOT]
    for part in path.parts:
        found = [folder.child(name) for folder in found for name in _alike(store, folder, part)]
    return found


def _alike(store: Store, folder: WorkspacePath, name: str) -> list[str]:
    with suppress(*_OTHER_GROUND):
        return [entry.name for entry in store.scan(folder) if entry.name.casefold() == name.casefold()]
    return []


def files_below(store: Store, top: WorkspacePath) -> Iterator[WorkspacePath]:
    """Yield the files below a folder; skips folders that disappear meanwhile."""
    folders = [top]
    while folders:
        folder = folders.pop()
        with suppress(*GONE):
            for entry in tuple(store.scan(folder)):
                if entry.type == "directory":
                    folders.append(folder.child(entry.name))
                elif entry.type == "file":
                    yield folder.child(entry.name)


def file_version(store: Store, path: WorkspacePath, go_on: Callable[[], None] = lambda: None) -> str:
    """Return the version of a file, read in parts; `go_on` is called before each.

    Raises:
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError
    """
    with closing(store.open(path)) as reader:

        def read_at(offset: int, count: int) -> bytes:
            go_on()
            return reader.read_at(offset, count)

        digest, _ = hashed_parts(read_at)
    return VERSION_PREFIX + digest.hex()
