"""What the journal knows of the time before a record."""

from __future__ import annotations

from collections.abc import Callable

from filetools.journal import History
from filetools.models import ChangeRecord, Operation
from filetools.versions.lineage import lineage
from filetools.versions.undo import State


class JournalPast:
    """Answers out of the journal's records; implements `Past`. Lives for one plan."""

    def __init__(self, history: History, key_of: Callable[[str], str]) -> None:
        self._history = history
        self._key_of = key_of
        self._removals = history.removals()

    def mode_before(self, record: ChangeRecord) -> int | None:
        """Return the permission bits of a file before a record, where they are known."""
        key = self._key_of(record.path)
        records = lineage(self._history, key, self._key_of, below=record.number, removals=self._removals, page=1)
        former = next(records, None)
        return former.mode if former is not None and former.after == record.before else None

    def trash_names(self, record: ChangeRecord) -> list[str]:
        """Return the names under which the trash may have the folder that a record deleted; a redo has its own."""
        numbers, frontier = {record.number}, {record.number}
        while frontier:
            frontier = {each for several in self._history.undoers(frontier).values() for each in several} - numbers
            numbers |= frontier
        return [str(number) for number in sorted(numbers, reverse=True)]

    def has_restored(self, record: ChangeRecord) -> bool:
        """Whether a record brought something back."""
        return bool(self._history.targets([record.number], "undoes"))

    def files_before(self, record: ChangeRecord) -> dict[str, State]:
        """Return the files that the journal knew below a folder before the record that removed it, by their paths."""
        files: dict[str, State] = {}
        for change in self._history.of_folder(self._key_of(record.path), below=record.number):
            if change.operation in (Operation.DELETE_DIRECTORY, Operation.MOVE_DIRECTORY):
                gone = f"{change.old_path or change.path}/"
                files = {path: state for path, state in files.items() if not path.startswith(gone)}
            if change.old_path is not None:
                files.pop(change.old_path, None)
            if change.after is None:
                files.pop(change.path, None)
            elif change.path.startswith(f"{record.path}/"):
                files[change.path] = State(version=change.after, mode=change.mode)
        return files
