"""Recovery of folders and links from crashes and power cuts.

Moves, deletions and restores of folders are durable before they count as applied, so a power cut can undo only pending
ones. The contents of folders, including new folders, may be lost at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from filetools.content.version import version_of
from filetools.errors import (
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from filetools.journal.changes import DIRECTORY_REMOVALS
from filetools.journal.history import RecordFilter
from filetools.journal.journal import Journal
from filetools.models.records import ChangeRecord, Operation
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Store
from filetools.sync.mirror_files import make_parents


class FolderMoves(NamedTuple):
    """Moves and deletions of folders, in order."""

    removals: Sequence[ChangeRecord]
    """`history.removals_since` of a number before all records in question."""
    key: Callable[[WorkspacePath], str]
    """Returns the lock key of a path."""

    def now_at(self, path: WorkspacePath, number: int) -> WorkspacePath | None:
        """Return the current path of a path in record `number`; None if it was deleted with a folder."""
        for removal in self.removals:
            rest = None if removal.number <= number else _below(path, removal.old_path or removal.path, self.key)
            if rest is None:
                continue
            if removal.operation is Operation.DELETE_DIRECTORY:
                return None
            path = WorkspacePath(f"{removal.path}{rest}")
        return path

    def places_of(self, record: ChangeRecord) -> list[WorkspacePath]:
        """Return the current paths of the entries that a record changed."""
        own = own_places(record)
        if record.operation in DIRECTORY_REMOVALS or not self.removals:
            return own
        return [place for place in (self.now_at(path, record.number) for path in own) if place is not None]

    def former(self, path: WorkspacePath) -> list[tuple[WorkspacePath, int]]:
        """Return the former paths of a path before moves of folders above it, each with the number of the move."""
        found = []
        for removal in reversed(self.removals):
            rest = _below(path, removal.path, self.key)
            if rest is not None and removal.old_path is not None:
                path = WorkspacePath(f"{removal.old_path}{rest}")
                found.append((path, removal.number))
        return found


def own_places(record: ChangeRecord) -> list[WorkspacePath]:
    """Return the paths that a record names."""
    return [WorkspacePath(path) for path in (record.old_path, record.path) if path is not None]


def _below(path: str, folder: str, key: Callable[[WorkspacePath], str]) -> str | None:
    """Return the rest of a path after a folder, "" for the folder itself; None if the path is not in it."""
    depth = folder.count("/") + 1
    names = path.split("/")
    if len(names) < depth or key(WorkspacePath("/".join(names[:depth]))) != key(WorkspacePath(folder)):
        return None
    return "".join(f"/{name}" for name in names[depth:])


class FolderRecovery:
    """Makes, deletes and moves folders according to records. Call it in a turn."""

    def __init__(self, workspace: Workspace, store: Store, journal: Journal) -> None:
        self._workspace = workspace
        self._store = store
        self._journal = journal

    def moves_since(self, number: int) -> FolderMoves:
        """Return the moves and deletions of folders after a record."""
        return FolderMoves(self._journal.history.removals_since(number), self._workspace.key)

    def make(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Make a missing folder, with its record's mode, and missing folders above it."""
        make_parents(self._store, path)
        if self._store.stat(path) is None:
            self._store.make_directory(path)
            self.set_mode(path, record)

    def bring_back(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Restore the entry that a record takes out of the trash, with everything in it."""
        make_parents(self._store, path)
        for number in self._journal.history.targets([record.number], "brings").get(record.number, ()):
            removals = self._journal.history.select(RecordFilter(numbers=(number,)))
            is_whole = any(removal.path == record.path for removal in removals)
            trashed = self._store.trashed(path, str(number))
            if is_whole and self._store.stat(path) is None and trashed.is_there():
                trashed.restore()

    def remove_again(self, path: WorkspacePath, number: int) -> None:
        """Delete a folder, unless it is already deleted."""
        stat = self._store.stat(path)
        if self._store.trashed(path, str(number)).is_there() or (stat is not None and stat.type != "directory"):
            return
        with suppress(FileNotFoundError):  # also if it is missing: a removal entry by entry may be half done
            self._store.remove(path, trash=str(number))

    def move_again(self, record: ChangeRecord) -> None:
        """Move a folder, unless it is already moved; if it is lost, make it at the destination."""
        assert record.old_path is not None
        source, destination = self._workspace.resolve(record.old_path), self._workspace.resolve(record.path)
        make_parents(self._store, destination)
        if self._is_folder(source):
            # A folder made by a failed try may be there again, because its removal was not synced.
            with suppress(PathNotFoundError, PathNotDirectoryError, DirectoryNotEmptyError):
                self._store.remove_empty_directory(destination)
        elif self._store.stat(destination) is not None:
            return
        try:
            self._store.move(source, destination)  # without a source, finishes a move entry by entry
        except PathExistsError:
            return  # made by another program
        except (PathNotFoundError, DirectoryNotFoundError):
            self._store.make_directory(destination)

    def link_again(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Make, change or remove a link according to a record, unless another program has changed it."""
        stat = self._store.stat(path)
        if stat is not None:
            is_expected = stat.type == "symlink" and version_of(self._store.read_link(path)) == record.before
            if not is_expected:
                return
            self._store.remove(path).discard()
        if record.after is not None:
            make_parents(self._store, path)
            self._store.make_link(path, self._journal.contents.get(record.after))

    def set_mode(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Give a folder its record's mode."""
        if record.mode is not None and self._is_folder(path):
            self._store.set_mode(path, record.mode, directory=True)

    def _is_folder(self, path: WorkspacePath) -> bool:
        stat = self._store.stat(path)
        return stat is not None and stat.type == "directory"
