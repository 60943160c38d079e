"""Undo: records are inverted newest first, on top of the current tree, so that later changes by others are kept.

Each change of a text is inverted by a three-way merge: the base is the text after the change, ours the current text, theirs
the text before the change. Consecutive changes of one file, without a change by others in between, are merged as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct, field, structs

from filetools.content.differences.merging import merge_bytes
from filetools.content.facts import inspect, text_of
from filetools.content.version import version_of
from filetools.errors import EditConflictError, EncodingError, FileToolsError, VersionGoneError
from filetools.history.draft_tree import PARENT, DraftNode, DraftTree, EntryNames, within
from filetools.history.provenance import lineage
from filetools.history.selection import MOST_NUMBER
from filetools.journal.records import History, RecordFilter
from filetools.models.records import ChangeRecord, Operation
from filetools.models.words import EntryType

Outcome = Literal["undone", "unchanged", "kept", "unknown"]

SETTLED: Final = ("undone", "unchanged", "kept")
"""Outcomes of records that count as undone."""
_KINDS: Final[Mapping[Operation, EntryType]] = {
    Operation.CREATE: "file",
    Operation.MODIFY: "file",
    Operation.DELETE: "file",
    Operation.LINK: "symlink",
    Operation.MODIFY_DIRECTORY: "directory",
}
"""Kind of the entry that a record changed, by operation, if the record has its states before and after."""


class UndoFinding(Struct, frozen=True, kw_only=True):
    """The outcome of some records of one path."""

    records: tuple[ChangeRecord, ...]
    path: str
    """Path of the file in the draft; the record's path if the draft does not have the file."""
    now: str = ""
    """Current path of the file; empty if there is none."""
    outcome: Outcome | FileToolsError
    """The error says why the records cannot be undone, maybe with overlapping texts as `conflicts`."""

    @property
    def places(self) -> tuple[str, ...]:
        """Paths of the file: in the draft and, if it has one, the current path."""
        return (self.path, self.now) if self.now else (self.path,)


class _UndoRun(Struct, kw_only=True):
    """Consecutive changes of one file, link or folder's mode, without changes by others in between."""

    path: str
    kind: EntryType = "file"
    after: DraftNode | None
    before: DraftNode | None
    records: list[ChangeRecord] = field(default_factory=list)


class Undoing:
    """Inverts records in a draft of the tree. Lives for one plan."""

    def __init__(
        self, tree: DraftTree, history: History, records: Sequence[ChangeRecord], *, is_prose: Callable[[str], bool]
    ) -> None:
        """Start from a draft.

        Args:
            tree: The draft; without changes it is the current tree.
            history: The journal's past records.
            records: All records to undo, newest first.
            is_prose: True for paths whose texts are also merged within a line.
        """
        self._tree = tree
        self._history = history
        self._is_prose = is_prose
        self._names = EntryNames()
        """As of now and, while records are inverted, in the draft."""
        self._entries: dict[int, int] = {}
        """What each record changed, by number."""
        self._homes: dict[int, int] = {}
        """The folder that held it before, by number. Another entry may have had its name in there since."""
        self._records = records
        self._unknown = unknown_creations(history, records)
        self._runs: dict[str, _UndoRun] = {}
        self._findings: list[tuple[UndoFinding, int | None]] = []

    def invert(self) -> list[UndoFinding]:
        """Invert all records in the draft, and return their outcomes."""
        numbers = {record.number for record in self._records}
        since = RecordFilter(since=min(numbers, default=MOST_NUMBER), moves_only=True)
        moves = [each for each in self._history.select(since, limit=MOST_NUMBER) if each.number not in numbers]
        for record in sorted([*self._records, *moves], key=lambda each: each.number):
            self._entries[record.number] = self._names.at(record.old_path or record.path)
            if record.old_path is not None:
                self._names.move(record.old_path, record.path)
            self._homes[record.number] = self._names.at((record.old_path or record.path).rpartition("/")[0])
        for record in self._records:
            self._invert(record)
        for run in list(self._runs.values()):
            self._settle(run)
        return [self._final(finding, entry) for finding, entry in self._findings]

    def _final(self, finding: UndoFinding, entry: int | None) -> UndoFinding:
        """Return a finding with its final path. A folder below which an entry is restored is kept."""
        path = (None if entry is None else self._names.paths[entry]) or finding.path
        is_folder = finding.records[0].operation is Operation.CREATE_DIRECTORY
        is_kept = is_folder and finding.outcome == "undone" and self._tree.at(path) == PARENT
        return structs.replace(finding, path=path, outcome="kept" if is_kept else finding.outcome)

    def _invert(self, record: ChangeRecord) -> None:
        operation, where = record.operation, self._names.paths[self._entries[record.number]]
        is_in_trash = operation is Operation.DELETE and record.before_unknown
        if is_in_trash or operation is Operation.DELETE_DIRECTORY:
            undo, where = self._restore, self._home(record)
        elif record.old_path is not None:
            undo = self._move_back
        elif record.before_unknown or record.number in self._unknown:
            self._find([record], None, "unknown")
            return
        else:
            undo = self._remove_folder if operation is Operation.CREATE_DIRECTORY else self._extend
        if where is not None:
            undo(record, where)
        elif operation is Operation.CREATE_DIRECTORY:
            self._find([record], None, "unchanged")
        else:
            self._find([record], None, EditConflictError("another file has taken its place since"))

    def _home(self, record: ChangeRecord) -> str | None:
        """Return the path in the draft at which what a record took away belongs; None if its folder is gone."""
        folder, name = (
            self._names.paths[self._homes[record.number]],
            (record.old_path or record.path).rpartition("/")[2],
        )
        return None if folder is None else f"{folder}/{name}".removeprefix("/")  # the root's path is empty

    def _extend(self, record: ChangeRecord, where: str) -> None:
        kind = _KINDS[record.operation]
        try:
            before, after = self._states(record, kind)
        except VersionGoneError as exc:
            self._find([record], where, exc)
            return
        key = self._tree.key(where)
        run = self._runs.get(key)
        if run is None or run.kind != kind or not _follow(run.before, after):
            if run is not None:
                self._settle(run)
            run = self._runs[key] = _UndoRun(path=where, kind=kind, after=after, before=before)
        run.before = before
        run.records.append(record)

    def _states(self, record: ChangeRecord, kind: EntryType) -> tuple[DraftNode | None, DraftNode | None]:
        if kind == "directory":
            before = DraftNode(kind=kind, mode=int(self._tree.contents.get(record.before or ""), 8))
            return before, DraftNode(kind=kind, mode=record.mode)
        after = None if record.after is None else DraftNode(kind=kind, version=record.after, mode=record.mode)
        if record.before is None:
            return None, after
        mode, key = record.mode if after is None else None, self._tree.key
        if mode is None and kind == "file":
            older = next(lineage(self._history, key(record.path), key, below=record.number, limit=1), None)
            mode = older.mode if older is not None and older.after == record.before else None
        return DraftNode(kind=kind, version=record.before, mode=mode), after

    def _settle(self, run: _UndoRun) -> None:
        here = self._tree.at(run.path)
        then = self._without(run, here)
        if isinstance(then, FileToolsError):
            self._find(run.records, run.path, then)
            return
        is_same = self._tree.is_same(here, then)
        self._find(run.records, run.path, "unchanged" if is_same else "undone")
        if not is_same:
            self._tree.put(run.path, then)

    def _without(self, run: _UndoRun, here: DraftNode | None) -> DraftNode | FileToolsError | None:
        """Return the node without a run's changes, or why they cannot be undone."""
        before, after = run.before, run.after
        if here is not None and here.kind != run.kind:
            return EditConflictError("something of another kind is there now")
        version = None if here is None or run.kind == "directory" else self._tree.version(here)
        if before is None:
            is_as_left = here is None or (after is not None and version == after.version)
            return None if is_as_left else EditConflictError("others have changed it since it was created")
        if here is None:
            return before if after is None else EditConflictError("it is no longer there")
        if after is None:
            return here if version == before.version else EditConflictError("another file is there now")
        mode = here.mode
        if None not in (before.mode, after.mode) and before.mode != after.mode:
            if here.mode not in (before.mode, after.mode):
                return EditConflictError("others have changed its mode since")
            mode = before.mode
        if before.version in (version, after.version):
            return here if mode == here.mode else structs.replace(self._tree.with_bytes(here), mode=mode)
        if version == after.version:
            return structs.replace(here, version=before.version, mode=mode, made=None)
        if run.kind != "file":
            return EditConflictError("others have changed it since")
        try:
            return self._merged(run.path, here, (before.version or "", after.version or ""), mode)
        except (EditConflictError, EncodingError, VersionGoneError) as exc:
            return exc

    def _merged(self, path: str, here: DraftNode, versions: tuple[str, str], mode: int | None) -> DraftNode:
        before, after = (text_of(self._tree.contents.get(version), name=path) for version in versions)
        content = self._tree.content(here)
        text_format = inspect(content, name=path)[0].text_format
        if text_format is None or before is None or after is None:
            raise EditConflictError("it is binary, and others have changed it since")
        merged, result = merge_bytes(
            after, content, before,
            text_format=text_format, path=path, by_words=self._is_prose(path), with_foreign=False,
        )  # fmt: skip
        if merged is None:
            places = [one.to_dict() for one in result.conflicts]
            where = f"others have changed the same place since (line {places[0]['line']})"
            reason = "others have changed it since, and it is too large to be merged" if result.is_too_large else where
            raise EditConflictError(reason, details={"conflicts": places})
        return structs.replace(here, version=version_of(merged), mode=mode, made=merged)

    def _move_back(self, record: ChangeRecord, where: str) -> None:
        home, is_folder = self._home(record), record.operation is Operation.MOVE_DIRECTORY
        _, here = self._settled(home), self._settled(where)
        if home is None or here is None or (here.kind == "directory") != is_folder:
            self._find([record], None, EditConflictError("it is no longer there"))
        elif not self._is_free(home, for_folder=is_folder):
            self._find([record], where, EditConflictError(f"something else is at {home} now"))
        else:
            self._find([record], where, "undone")
            self._tree.move(where, home)
            self._names.move(where, home)

    def _remove_folder(self, record: ChangeRecord, where: str) -> None:
        here = self._settled(where)
        if here is None or here.kind != "directory":
            self._find([record], None, "unchanged")
            return
        inside, is_restored = list(self._tree.below(where)), bool(self._history.related([record.number]))
        kinds = {node.kind for path in inside if (node := self._tree.at(path)) is not None}
        # Links and other special files that were restored with the folder have no records.
        if inside and not (is_restored and kinds <= {"symlink", "other"}):
            self._find([record], where, "kept")
            return
        self._find([record], where, "undone")
        for path in [*inside, where]:
            self._tree.put(path, None)
        if is_restored:
            self._tree.wholes.add(self._tree.key(where))

    def _restore(self, record: ChangeRecord, where: str) -> None:
        here = self._settled(where)
        found = (self._tree.trashed(where, str(number), record.mode) for number in deletions(self._history, record))
        trashed = next((each for each in found if each), {})
        if not trashed and record.operation is Operation.DELETE:
            self._find([record], None, "unknown")
            return
        if here is not None and (here.kind != "directory" or (trashed and not self._is_free(where, for_folder=True))):
            self._find([record], where, EditConflictError("something else is there now"))
            return
        for path, node in trashed.items():
            self._tree.put(path, node)
        if not trashed:
            self._rebuild(record, where)
        outcome: Outcome = "undone" if here is None else "unchanged"
        self._find([record], where, "unknown" if record.before_unknown else outcome)

    def _rebuild(self, record: ChangeRecord, where: str) -> None:
        """Recreate a folder, which is no longer in the trash, from the versions that the journal keeps."""
        if self._tree.at(where) is None:
            self._tree.put(where, DraftNode(kind="directory", mode=record.mode))
        for path, node in tree_before(self._history, record).items():
            target = f"{where}{path[len(record.path) :]}"
            if node.kind == "file":
                self._settle(_UndoRun(path=target, after=None, before=node, records=[record]))
            elif self._tree.at(target) is None:
                self._tree.put(target, node)

    def _is_free(self, place: str, *, for_folder: bool) -> bool:
        """True if the draft has no entry at a path or, with `for_folder`, only an empty folder."""
        here = self._tree.at(place)
        return here is None or (
            for_folder and here.kind == "directory" and next(iter(self._tree.below(place)), None) is None
        )

    def _settled(self, place: str | None) -> DraftNode | None:
        """Invert the pending runs at a path, above and below it, and return the draft's node at the path."""
        if place is None:
            return None
        key = self._tree.key(place)
        above = set(within(key))
        for one in [one for one in self._runs if one in above or one.startswith(f"{key}/")]:
            self._settle(self._runs.pop(one))
        return self._tree.at(place)

    def _find(self, records: Sequence[ChangeRecord], where: str | None, outcome: Outcome | FileToolsError) -> None:
        """Add a finding; `where` is the file's path in the draft, None if the draft does not have the file.

        Call it before the draft is changed: the draft's node has the current path.
        """
        node = None if where is None else self._tree.at(where)
        now = "" if node is None else node.source
        finding = UndoFinding(records=tuple(records), path=records[0].path, now=now, outcome=outcome)
        self._findings.append((finding, None if where is None else self._names.at(where)))


def _follow(one: DraftNode | None, other: DraftNode | None) -> bool:
    """True if two states are equal, mode included where both are known."""
    if one is None or other is None:
        return one is other
    return one.version == other.version and (one.mode == other.mode or None in (one.mode, other.mode))


def deletions(history: History, record: ChangeRecord) -> list[int]:
    """Return the numbers of a deletion and of the redos that deleted the same path again, newest first."""
    newer = numbers = {record.number}
    while newer:
        newer = {number for several in history.related(newer, is_later=True).values() for number in several} - numbers
        numbers = numbers | newer
    related = history.select(RecordFilter(numbers=tuple(numbers)), limit=len(numbers))
    return [
        each.number
        for each in related
        if each.operation in (Operation.DELETE_DIRECTORY, Operation.DELETE) and each.path == record.path
    ]


def tree_before(history: History, record: ChangeRecord) -> dict[str, DraftNode]:
    """Return the nodes that the journal knew below a folder before a record deleted it, by path."""
    # Its files may have been read only after an undo restored it, and before a redo deleted it again.
    found = [row for number in deletions(history, record) for row in history.gone_below(number)]
    return {
        path: DraftNode(kind="directory") if version is None else DraftNode(kind="file", version=version, mode=mode)
        for path, version, mode in found
        if path != record.path
    }


def unknown_creations(history: History, records: Sequence[ChangeRecord]) -> set[int]:
    """Return the creations that are not undone, since the file may have existed before, with bytes that nobody had read.

    Args:
        history: The journal's past records.
        records: All records to undo, newest first.
    """
    unknown, gone, seen = set[int](), set[str](), dict[str, dict[str, DraftNode]]()
    for record in reversed(records):
        if record.operation is Operation.DELETE_DIRECTORY and record.before_unknown:
            seen[record.path] = tree_before(history, record)
        elif record.operation is Operation.DELETE and record.before_unknown and record.actor.kind == "external":
            gone.add(record.path)
        elif record.operation is Operation.CREATE and (
            record.path in gone
            or any(record.path not in seen[folder] for folder in seen.keys() & [*within(record.path)][1:])
        ):
            unknown.add(record.number)
            gone.discard(record.path)
    return unknown
