"""The current paths of what older records changed: folders above may have been moved or deleted since."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from filetools.journal.journal import Journal
from filetools.models.records import DIRECTORY_REMOVALS, ChangeRecord, Operation
from filetools.paths.workspace_path import WorkspacePath


class FolderMoves:
    """Moves and deletions of folders after a record.

    Args:
        journal: Holds the records.
        key: Returns the lock key of a path.
        since: Number of a record before all records in question.
    """

    def __init__(self, journal: Journal, key: Callable[[WorkspacePath], str], since: int) -> None:
        self._removals = journal.history.removals_since(since)
        self._key = key

    def now_at(self, path: WorkspacePath, number: int) -> WorkspacePath | None:
        """Return the current path of a path in record `number`; None if it was deleted with a folder."""
        for removal in self._removals:
            rest = None if removal.number <= number else self._below(path, removal.old_path or removal.path)
            if rest is None:
                continue
            if removal.operation is Operation.DELETE_DIRECTORY:
                return None
            path = WorkspacePath(f"{removal.path}{rest}")
        return path

    def former(self, path: WorkspacePath) -> list[tuple[WorkspacePath, int]]:
        """Return the former paths of a path before moves of folders above it, each with the number of the move."""
        found = []
        for removal in reversed(self._removals):
            rest = self._below(path, removal.path)
            if rest is not None and removal.old_path is not None:
                path = WorkspacePath(f"{removal.old_path}{rest}")
                found.append((path, removal.number))
        return found

    def _below(self, path: str, folder: str) -> str | None:
        """Return the rest of a path after a folder, "" for the folder itself; None if the path is not in it."""
        depth = folder.count("/") + 1
        names = path.split("/")
        if len(names) < depth or self._key(WorkspacePath("/".join(names[:depth]))) != self._key(WorkspacePath(folder)):
            return None
        return "".join(f"/{name}" for name in names[depth:])


def own_places(record: ChangeRecord) -> list[WorkspacePath]:
    """Return the paths that a record names."""
    return [WorkspacePath(path) for path in (record.old_path, record.path) if path is not None]


def places_of(
    journal: Journal, key: Callable[[WorkspacePath], str], records: Sequence[ChangeRecord]
) -> dict[int, list[WorkspacePath]]:
    """Return the current paths of the changed entries by record number; without those that were deleted with a folder."""
    moves = FolderMoves(journal, key, min((record.number for record in records), default=0))
    found = {}
    for record in records:
        own = own_places(record)
        now = [moves.now_at(path, record.number) for path in own]
        is_removal = record.operation in DIRECTORY_REMOVALS
        found[record.number] = own if is_removal else [place for place in now if place is not None]
    return found
