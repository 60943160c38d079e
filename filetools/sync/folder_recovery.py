"""Recovery of folders and links: where they are now, and what a dead process left half done.

Moves, deletions and returns of folders are durable before they count as applied, so only a pending one can be undone.
What is in folders, new folders among it, may be lost at any time.
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
    """Moves and deletions of folders, in their order."""

    removals: Sequence[ChangeRecord]
    """`history.removals_since` of a number before all records that are asked about."""
    key: Callable[[WorkspacePath], str]
    """Gives the lock key of a path."""

    def now_at(self, path: WorkspacePath, number: int) -> WorkspacePath | None:
        """Return where a path of the record `number` is now; None if it went with a deleted folder."""
        for removal in self.removals:
            rest = None if removal.number <= number else _below(path, removal.old_path or removal.path, self.key)
            if rest is None:
                continue
            if removal.operation is Operation.DELETE_DIRECTORY:
                return None
            path = WorkspacePath(f"{removal.path}{rest}")
        return path

    def places_of(self, record: ChangeRecord) -> list[WorkspacePath]:
        """Return where that which a record changed stands now."""
        own = own_places(record)
        if record.operation in DIRECTORY_REMOVALS or not self.removals:
            return own
        return [place for place in (self.now_at(path, record.number) for path in own) if place is not None]

    def former(self, path: WorkspacePath) -> list[tuple[WorkspacePath, int]]:
        """Return the names that a path had before folders above it were moved, each with the number of that move."""
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
    """Return what follows the folder in a path, "" for the folder itself; None if the path is not in it."""
    depth = folder.count("/") + 1
    names = path.split("/")
    if len(names) < depth or key(WorkspacePath("/".join(names[:depth]))) != key(WorkspacePath(folder)):
        return None
    return "".join(f"/{name}" for name in names[depth:])


class FolderRecovery:
    """Makes, deletes and moves folders as records say. Lives as long as the workspace is open.

    Call it in a turn.
    """

    def __init__(self, workspace: Workspace, store: Store, journal: Journal) -> None:
        self._workspace = workspace
        self._store = store
        self._journal = journal

    def moves_since(self, number: int) -> FolderMoves:
        """Return the moves and deletions of folders after a record."""
        return FolderMoves(self._journal.history.removals_since(number), self._workspace.key)

    def make(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Make a folder that is missing, with the mode that its record says, and those above it."""
        make_parents(self._store, path)
        if self._store.stat(path) is None:
            self._store.make_directory(path)
            self.set_mode(path, record)

    def bring_back(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Have what a record brings back out of the trash stand there with all that was in it."""
        make_parents(self._store, path)
        for number in self._journal.history.targets([record.number], "brings").get(record.number, ()):
            removals = self._journal.history.select(RecordFilter(numbers=(number,)))
            is_whole = any(removal.path == record.path for removal in removals)
            if is_whole and self._store.stat(path) is None and self._store.has_trash(path, str(number)):
                self._store.restore(path, str(number))

    def remove_again(self, path: WorkspacePath, number: int) -> None:
        """Delete a folder, unless that is done."""
        stat = self._store.stat(path)
        if self._store.has_trash(path, str(number)) or (stat is not None and stat.type != "directory"):
            return
        with suppress(FileNotFoundError):  # also where nothing stands: one that went entry by entry may be on its way
            self._store.remove(path, trash=str(number))

    def move_again(self, record: ChangeRecord) -> None:
        """Move a folder, unless that is done, and make it where it is lost."""
        assert record.old_path is not None
        source, destination = self._workspace.resolve(record.old_path), self._workspace.resolve(record.path)
        make_parents(self._store, destination)
        if self._is_folder(source):
            # One that was made in vain may be there again, as its removal was not synced.
            with suppress(PathNotFoundError, PathNotDirectoryError, DirectoryNotEmptyError):
                self._store.remove_empty_directory(destination)
        elif self._store.stat(destination) is not None:
            return
        try:
            self._store.move(source, destination)  # without the source the rest of one that went entry by entry
        except PathExistsError:
            return  # another program's
        except (PathNotFoundError, DirectoryNotFoundError):
            self._store.make_directory(destination)

    def link_again(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Have a link be as a record says, unless another program has made something else of it."""
        stat = self._store.stat(path)
        if stat is not None:
            is_met = stat.type == "symlink" and version_of(self._store.read_link(path)) == record.before
            if not is_met:
                return
            self._store.remove(path).discard()
        if record.after is not None:
            make_parents(self._store, path)
            self._store.make_link(path, self._journal.contents.get(record.after))

    def set_mode(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Give a folder the mode that a record says."""
        if record.mode is not None and self._is_folder(path):
            self._store.set_directory_mode(path, record.mode)

    def _is_folder(self, path: WorkspacePath) -> bool:
        stat = self._store.stat(path)
        return stat is not None and stat.type == "directory"
