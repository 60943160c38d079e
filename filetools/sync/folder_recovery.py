"""Recovery of folders: names that a dead process or a power cut left as they were before a record, or took away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, Literal

from filetools.errors import DirectoryNotFoundError, PathExistsError, PathNotFoundError
from filetools.journal import Journal, NameChange, Selection
from filetools.models import ChangeRecord, Operation, RecordState
from filetools.paths import Workspace, WorkspacePath
from filetools.stores import Store

Wanted = Literal["file", "directory", "nothing", "unknown"]
"""What must stand at a path; "unknown" where a folder brought it that had it before."""
_LEFT_AT: Final[dict[Operation, Wanted]] = {
    Operation.CREATE_DIRECTORY: "directory", Operation.MOVE_DIRECTORY: "directory", Operation.DELETE: "nothing",
}  # fmt: skip
_MOST_TAKEN_BACK: Final = 10
"""How many of a folder's newest records are searched for the deletion that failed."""


class FolderMoves:
    """Moves and deletions of folders, in their order."""

    def __init__(self, removals: Sequence[ChangeRecord], key: Callable[[WorkspacePath], str]) -> None:
        """Take them.

        Args:
            removals: `history.removals_since` of a number before all records that are asked about.
            key: Gives the lock key of a path.
        """
        self._removals = removals
        self._key = key

    def now_at(self, path: WorkspacePath, number: int) -> WorkspacePath | None:
        """Return where a path of the record `number` is now; None if it went with a deleted folder."""
        return self.fate(path, number)[0]

    def fate(self, path: WorkspacePath, number: int) -> tuple[WorkspacePath | None, int]:
        """Return the same with the number of the record that last took it along; `number` itself if none did."""
        for removal in self._removals:
            if removal.number <= number:
                continue
            rest = _below(path, removal.old_path or removal.path, self._key)
            if rest is None:
                continue
            if removal.operation is Operation.DELETE_DIRECTORY:
                return None, removal.number
            path, number = WorkspacePath(f"{removal.path}{rest}"), removal.number
        return path, number

    def stages(self, path: WorkspacePath, number: int) -> list[WorkspacePath]:
        """Return the names that a path of the record `number` had since, as folders above it were moved, its own first.

        A power cut may have taken some of these moves, and not others.
        """
        found = [path]
        for removal in self._removals:
            rest = _below(path, removal.old_path or removal.path, self._key)
            if removal.number > number and rest and removal.operation is Operation.MOVE_DIRECTORY:
                path = WorkspacePath(f"{removal.path}{rest}")
                found.append(path)
        return found

    def former(self, path: WorkspacePath) -> list[tuple[WorkspacePath, int]]:
        """Return the names that a path had before folders above it were moved, each with the number of that move."""
        found = []
        for removal in reversed(self._removals):
            rest = _below(path, removal.path, self._key)
            if rest is not None and removal.old_path is not None:
                path = WorkspacePath(f"{removal.old_path}{rest}")
                found.append((path, removal.number))
        return found


def _below(path: str, folder: str, key: Callable[[WorkspacePath], str]) -> str | None:
    """Return what follows the folder in a path, "" for the folder itself; None if the path is not in it."""
    depth = folder.count("/") + 1
    names = path.split("/")
    if len(names) < depth or key(WorkspacePath("/".join(names[:depth]))) != key(WorkspacePath(folder)):
        return None
    return "".join(f"/{name}" for name in names[depth:])


def wanted_at(
    path: WorkspacePath, changes: Sequence[NameChange], key: Callable[[WorkspacePath], str]
) -> tuple[Wanted, int | str]:
    """Return what changes of names, oldest first, have put at a path, and the number of the one that did.

    Where none did, it is the name that a path had before them.
    """
    place: str = path
    otherwise: Wanted = "nothing"
    for change in reversed(changes):
        is_here = _below(place, change.path, key)
        if change.operation is Operation.MOVE_DIRECTORY and is_here:
            place, otherwise = f"{change.old_path}{is_here}", "unknown"
        elif change.operation is Operation.DELETE_DIRECTORY and is_here is not None:
            return "nothing", change.number
        elif is_here == "":
            return _LEFT_AT.get(change.operation, "file"), change.number
        elif change.old_path is not None:
            leaves = _below(place, change.old_path, key)
            if leaves == "" or (leaves and change.operation is Operation.MOVE_DIRECTORY):
                return "nothing", change.number
    return otherwise, place


class FolderRecovery:
    """Makes, deletes and moves folders as records say. Lives as long as the workspace is open.

    Call it in a worker thread with the locks of the records' paths held.
    """

    def __init__(self, workspace: Workspace, store: Store, journal: Journal) -> None:
        self._workspace = workspace
        self._store = store
        self._journal = journal

    def moves_since(self, number: int) -> FolderMoves:
        """Return the moves and deletions of folders after a record."""
        return FolderMoves(self._journal.history.removals_since(number), self._workspace.key)

    def make_parents(self, path: WorkspacePath) -> None:
        """Make the folders above a path that are missing."""
        missing = []
        parent = path.parent
        while not parent.is_root and self._store.stat(parent) is None:
            missing.append(parent)
            parent = parent.parent
        for folder in reversed(missing):
            self._store.make_directory(folder)

    def make_again(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Make a folder at the place where that of a record is now, unless something stands there."""
        if not self.bring_back(path, record):
            self._store.make_directory(path)

    def bring_back(self, path: WorkspacePath, record: ChangeRecord) -> bool:
        """Have what a record brought back out of the trash stand there with all that was in it; False if nothing stands."""
        self.make_parents(path)
        if self._store.stat(path) is not None:
            return True
        # What comes back by an undo, or because its deletion failed, comes whole.
        for number in self._removals_taken_back(path, record):
            if self._store.has_trash(str(number)):
                self._store.restore(path, str(number))
                return True
        return False

    def _removals_taken_back(self, path: WorkspacePath, record: ChangeRecord) -> list[int]:
        history = self._journal.history
        if record.state is RecordState.ABORTED:
            key = self._workspace.key(path)
            removals = self._journal.records(key=key, newest_first=True, limit=_MOST_TAKEN_BACK)
        else:
            brought = history.targets([record.number], "brings").get(record.number, ())
            removals = history.select(Selection(numbers=tuple(brought))) if brought else []
        return [
            one.number
            for one in removals
            if one.operation in (Operation.DELETE_DIRECTORY, Operation.DELETE) and one.path == record.path
        ]

    def remove_again(self, path: WorkspacePath, number: int) -> None:
        """Delete a folder, unless its deletion is done, and the one that stands is another."""
        for stage in self.moves_since(number).stages(path, number):
            self._remove(stage, number)

    def _remove(self, path: WorkspacePath, number: int) -> None:
        stat = self._store.stat(path)
        # A folder that stands although its trash exists was made anew; it stays.
        if self._store.has_trash(str(number)):
            return
        if stat is None:
            with suppress(FileNotFoundError):  # unless a folder that went entry by entry is on its way still
                self._store.remove(path, trash=str(number))
            return
        if stat.type != "directory":
            return
        if not self._is_made_anew(path, number):
            self._store.remove(path, trash=str(number))

    def _is_made_anew(self, path: WorkspacePath, number: int) -> bool:
        """Whether a folder of this name was made after a deletion, and it is that one which stands, not the deleted one.

        The deleted one shows itself by what the new one does not have. Where all that is in it is to be in the new one,
        it does as well.
        """
        changes, key = self._journal.history.names_since(number), self._workspace.key
        wanted, maker = wanted_at(path, changes, key)
        if wanted not in ("directory", "unknown"):
            return False
        brought = self._journal.history.targets([maker], "brings").get(maker, ()) if isinstance(maker, int) else ()
        if number in brought:
            return True
        for each, kind in self._walk(path):
            wanted, origin = wanted_at(each, changes, key)
            is_strange = wanted == "unknown" and self._is_of(each, number) and not self._is_of(origin, number)
            if wanted not in (kind, "unknown") or is_strange:
                return False
        return True

    def _is_of(self, path: object, number: int) -> bool:
        """Whether the journal has a change of this very name up to a record."""
        key = self._workspace.key(WorkspacePath(str(path)))
        records = self._journal.records(key=key, limit=1)
        return bool(records) and records[0].number <= number

    def _walk(self, folder: WorkspacePath) -> Iterator[tuple[WorkspacePath, str]]:
        waiting = [folder]
        while waiting:
            above = waiting.pop()
            for entry in self._store.scan(above):
                path = above.child(entry.name)
                if entry.type == "directory":
                    waiting.append(path)
                yield path, entry.type

    def move_again(self, record: ChangeRecord) -> None:
        """Move a folder, unless that is done, and make it where it is nowhere."""
        assert record.old_path is not None
        source, destination = (self._workspace.resolve(record.old_path), self._workspace.resolve(record.path))
        moves = self.moves_since(record.number)
        final, last = moves.fate(destination, record.number)
        if final is None and self._store.has_trash(str(last)):
            # The folder that it went to is deleted already, perhaps before it had come there.
            for stage in moves.stages(source, record.number):
                if self._is_folder(stage) and self._is_known(stage):
                    self._remove(stage, record.number)
            return
        if (final is not None and self._is_folder(final)) or self._store.stat(destination) is not None:
            return
        standing = next((each for each in moves.stages(source, record.number) if self._is_folder(each)), None)
        if standing is None:
            if final == destination:
                self.make_parents(destination)
                try:
                    self._store.move(source, destination)  # of a folder that went entry by entry, the rest may be done
                except (PathNotFoundError, DirectoryNotFoundError):
                    self._store.make_directory(destination)
            return
        self.make_parents(destination)
        with suppress(PathExistsError, PathNotFoundError):
            self._store.move(standing, destination)

    def _is_known(self, folder: WorkspacePath) -> bool:
        """Whether the journal knows of anything in a folder; of an empty one there is nothing to know."""
        inside = [self._workspace.key(path) for path, _ in self._walk(folder)]
        return not inside or any(self._journal.records(key=key, limit=1) for key in inside)

    def _is_folder(self, path: WorkspacePath) -> bool:
        stat = self._store.stat(path)
        return stat is not None and stat.type == "directory"
