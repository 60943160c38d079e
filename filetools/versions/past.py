"""What is known of the time before a record, what the journal answers, and which creations must stay because nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from filetools.journal.history import History, RecordFilter
from filetools.models.records import WITHOUT_BYTES, ChangeRecord, Operation
from filetools.versions.lineage import folders_above, lineage
from filetools.versions.reversals import all_undoers


class FileState(Struct, frozen=True, kw_only=True):
    """A file as a record left or met it."""

    version: str
    mode: int | None


_Tree = dict[str, FileState | None]
Standing = tuple[int, Mapping[str, FileState | None]]
"""Number of a record, and what stood in the tree then, by paths; None is a folder."""


class Past:
    """What the journal knows of the time before a record. Lives for one plan.

    Args:
        history: The records.
        key_of: Returns the key of a path.
        standing: Returns what stood in the tree at the newest checkpoint before a record, with the number of the newest
            record then: no record tells of files that nobody has changed.
    """

    def __init__(
        self, history: History, key_of: Callable[[str], str], standing: Callable[[int], Standing] = lambda _: (0, {})
    ) -> None:
        self._history = history
        self._key_of = key_of
        self._standing = standing

    def mode_before(self, record: ChangeRecord) -> int | None:
        """Return the permission bits of a file before a record, where they are known."""
        if record.operation is Operation.DELETE and record.mode is not None:
            return record.mode
        key = self._key_of(record.path)
        former = next(lineage(self._history, key, self._key_of, below=record.number, page=1), None)
        return former.mode if former is not None and former.after == record.before else None

    def trash_names(self, record: ChangeRecord) -> list[str]:
        """Return the names under which the trash may have the folder that a record deleted; a redo has its own."""
        undoers = all_undoers(self._history.undoers, [record.number])
        numbers = {record.number, *(each for several in undoers.values() for each in several)}
        related = self._history.select(RecordFilter(numbers=tuple(numbers)), limit=len(numbers))
        return [
            str(each.number)
            for each in related
            if each.operation in (Operation.DELETE_DIRECTORY, Operation.DELETE) and each.path == record.path
        ]

    def brought_back(self, records: Sequence[ChangeRecord]) -> dict[int, ChangeRecord]:
        """Return of which deletion, among these records, each of them is the return, whole and from the trash."""
        among = {record.number: record for record in records}
        brings = self._history.targets(among, "brings")
        return {number: among[deletions[0]] for number, deletions in brings.items() if deletions[0] in among}

    def has_restored(self, record: ChangeRecord) -> bool:
        """Whether a record brought something back."""
        return bool(self._history.taken_back([record.number]))

    def tree_before(self, record: ChangeRecord) -> dict[str, FileState | None]:
        """Return what the journal knew below a folder before the record that removed it, by paths; None is a folder."""
        return self._tree(record.path, record.number) | self._told_on_return(record)

    def _told_on_return(self, removal: ChangeRecord) -> _Tree:
        """Return what was in a folder as far as its coming back has told: nobody may have seen its files before."""
        # Not by what takes the removal back: such a record may speak for others, and be of another folder.
        returned = self._history.brought_by(removal.number)
        files: _Tree = {}
        top = ""
        for record in self._history.select(RecordFilter(numbers=tuple(returned)), limit=len(returned))[::-1]:
            is_below = bool(top) and record.path.startswith(f"{top}/")
            if record.operation is Operation.CREATE_DIRECTORY and not is_below:
                top = record.path  # recorded before what is in it
            elif record.operation is Operation.CREATE and record.after is not None and is_below:
                path = f"{removal.path}{record.path[len(top) :]}"
                files[path] = FileState(version=record.after, mode=record.mode)
        return files

    def _tree(self, folder: str, below: int) -> _Tree:
        """Return what stood below a folder before a record."""
        key = self._key_of(folder)
        tree: _Tree = {}
        since = 0
        came = self._history.folder_change([key, *folders_above(key)], below=below)
        if came is not None:
            # Whatever stood there before went with that change, or was where this came from.
            since = came.number
            if came.old_path is not None and is_within(folder, came.path):
                source = came.old_path + folder[len(came.path) :]
                # Other programs' moves may be told after what they have brought.
                tree = self._tree(folder, since) if came.actor.kind == "external" else {}
                tree |= _moved(self._tree(source, since), source, folder)
        mark, standing = self._standing(below)
        changes = [change for change in self._history.of_folder(key, below=below) if change.number > since]
        for change in changes:
            if change.number <= mark:
                self._apply(change, folder, tree)
        if mark >= since:
            tree |= {path: state for path, state in standing.items() if path.startswith(f"{folder}/")}
        for change in changes:
            if change.number > mark:
                self._apply(change, folder, tree)
        return tree

    def _apply(self, change: ChangeRecord, folder: str, tree: _Tree) -> None:
        if change.operation in WITHOUT_BYTES:
            return
        if change.operation in (Operation.DELETE_DIRECTORY, Operation.MOVE_DIRECTORY):
            gone = change.old_path or change.path
            for path in [path for path in tree if is_within(path, gone)]:
                del tree[path]
        if change.operation is Operation.MOVE_DIRECTORY and change.old_path is not None:
            if is_within(change.path, folder):
                tree[change.path] = None
                tree |= _moved(self._tree(change.old_path, change.number), change.old_path, change.path)
            return
        if change.old_path is not None:
            tree.pop(change.old_path, None)
        if change.operation is Operation.CREATE_DIRECTORY and is_within(change.path, folder):
            tree.setdefault(change.path, None)
        elif change.after is None:
            tree.pop(change.path, None)
        elif is_within(change.path, folder):
            tree[change.path] = FileState(version=change.after, mode=change.mode)


def unknown_creations(past: Past, records: Sequence[ChangeRecord]) -> set[int]:
    """Return which creations must stay: something stood there before that nobody had seen, and it may be that.

    Args:
        past: What the journal knows.
        records: All that will be taken back, newest first.
    """
    unknown: set[int] = set()
    gone: set[str] = set()
    seen: dict[str, dict[str, FileState | None]] = {}
    for record in reversed(records):
        if record.operation is Operation.DELETE_DIRECTORY and record.before_unknown:
            seen[record.path] = past.tree_before(record)
        elif record.operation is Operation.DELETE and record.before_unknown and record.actor.kind == "external":
            gone.add(record.path)
        elif record.operation is Operation.CREATE and (
            record.path in gone
            or any(record.path not in seen[folder] for folder in seen.keys() & folders_above(record.path))
        ):
            unknown.add(record.number)
            gone.discard(record.path)
    return unknown


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder's, or below it."""
    return path == folder or path.startswith(f"{folder}/")


def _moved(tree: _Tree, source: str, destination: str) -> _Tree:
    return {destination + path[len(source) :]: state for path, state in tree.items()}
