"""Taking changes back: newest first, on top of the current tree, so that what others did since is left standing.

Taking back one change is a three-way merge: the base is what the change made, ours what is there now, theirs what was
there before. Of changes that follow each other without anybody in between only the two ends count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from msgspec import Struct, field

from filetools.content.differences.merging import merge_bytes
from filetools.content.facts import inspect, text_of
from filetools.content.version import version_of
from filetools.errors import EncodingError, FileToolsError, VersionGoneError
from filetools.journal.history import History, RecordFilter
from filetools.models.records import ChangeRecord, Operation
from filetools.models.words import EntryType
from filetools.versions.draft_tree import DraftNode, DraftTree, within
from filetools.versions.provenance import lineage
from filetools.versions.selection import MOST_NUMBER

Place = dict[str, str | int]
"""Two texts that overlap: base, ours (what is there now), theirs (what was there before), and the line."""
Outcome = Literal["undone", "unchanged", "kept", "unknown", "conflict"]

SETTLED: Final = ("undone", "unchanged", "kept")
"""What becomes of changes that an undo takes back."""
WITHOUT_RECORDS: Final = ("symlink", "other")
"""Kinds of what may have come with a folder and is not recorded."""
_KINDS: Final[Mapping[Operation, EntryType]] = {
    Operation.CREATE: "file",
    Operation.MODIFY: "file",
    Operation.DELETE: "file",
    Operation.LINK: "symlink",
    Operation.MODIFY_DIRECTORY: "directory",
}
"""What records of one state in the place of another are about."""


class Clash(Struct, frozen=True, kw_only=True):
    """Why a change cannot be taken back."""

    code: str = "EDIT_CONFLICT"
    reason: str
    places: tuple[Place, ...] = ()

    @classmethod
    def of(cls, error: FileToolsError) -> Clash:
        """Return it where an error says why."""
        return cls(code=error.code, reason=error.message)


class UndoFinding(Struct, frozen=True, kw_only=True):
    """What becomes of some records of one path."""

    records: tuple[ChangeRecord, ...]
    path: str
    """Where the file is now, or would be."""
    outcome: Outcome
    clash: Clash | None = None


def shown_name(path: str) -> str:
    """Return a path to be shown; its name may be no UTF-8."""
    return path.encode("utf-8", "backslashreplace").decode()


class _UndoRun(Struct, kw_only=True):
    """Changes of one file, link or folder's mode, each made of what the one before had left."""

    path: str
    kind: EntryType = "file"
    after: DraftNode | None
    before: DraftNode | None
    records: list[ChangeRecord] = field(default_factory=list)


class Undoing:
    """Works out what a tree would be without some changes. Lives for one plan."""

    def __init__(
        self, tree: DraftTree, history: History, records: Sequence[ChangeRecord], *, is_prose: Callable[[str], bool]
    ) -> None:
        """Begin with what stands now.

        Args:
            tree: The draft.
            history: The records of the journal.
            records: All that will be taken back, newest first.
            is_prose: Whether a file is merged within its lines, too.
        """
        self._tree = tree
        self._history = history
        self._is_prose = is_prose
        self._names = FormerNames()
        self._records = records
        self._unknown = unknown_creations(history, records)
        self._runs: dict[str, _UndoRun] = {}
        self._findings: list[UndoFinding] = []

    def take_back(self) -> list[UndoFinding]:
        """Take all back; returns what becomes of each."""
        numbers = {record.number for record in self._records}
        since = RecordFilter(since=min(numbers, default=MOST_NUMBER), moves_only=True)
        moves = [each for each in self._history.select(since, limit=MOST_NUMBER) if each.number not in numbers]
        undoers = self._history.undoers(move.number for move in moves)
        for record in sorted([*self._records, *moves], key=lambda each: each.number, reverse=True):
            if record.number in numbers:
                self._take_back(record)
            else:
                self._names.passed(record, undoers=set(undoers.get(record.number, ())) - numbers)
        for run in list(self._runs.values()):
            self._settle(run)
        return self._findings

    def _take_back(self, record: ChangeRecord) -> None:
        is_in_trash = record.operation is Operation.DELETE and record.before_unknown and bool(self._trashed(record))
        if is_in_trash or record.operation is Operation.DELETE_DIRECTORY:
            self._restore(record)
        elif record.operation in (Operation.MOVE, Operation.MOVE_DIRECTORY):
            self._move_back(record)
        elif record.before_unknown or record.number in self._unknown:
            self._find([record], record.path, "unknown")
        elif record.operation is Operation.CREATE_DIRECTORY:
            self._remove_folder(record)
        elif record.operation in _KINDS:
            self._extend(record, _KINDS[record.operation])

    def _extend(self, record: ChangeRecord, kind: EntryType) -> None:
        where = self._names.now(record.path)
        if where is None:
            self._find([record], record.path, Clash(reason="another file has taken its place since"))
            return
        try:
            before, after = self._states(record, kind)
        except VersionGoneError as exc:
            self._find([record], where, Clash.of(exc))
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
            former = int(self._tree.contents.get(record.before or ""), 8)
            return DraftNode(kind=kind, mode=former), DraftNode(kind=kind, mode=record.mode)
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
        if isinstance(then, Clash):
            self._find(run.records, run.path, then)
        elif self._tree.is_same(here, then):
            self._find(run.records, run.path, "unchanged")
        else:
            self._tree.put(run.path, then)
            self._find(run.records, run.path, "undone")

    def _without(self, run: _UndoRun, here: DraftNode | None) -> DraftNode | Clash | None:
        """Return what would be there without some changes, or why they cannot be taken back."""
        before, after = run.before, run.after
        if here is not None and here.kind != run.kind:
            return Clash(reason="something of another kind is there now")
        version = None if here is None or run.kind == "directory" else self._tree.version(here)
        if before is None:
            is_as_left = here is None or (after is not None and version == after.version)
            return None if is_as_left else Clash(reason="others have changed it since it was created")
        if here is None and after is None:
            blocking = self._file_above(run.path)
            return before if blocking is None else Clash(reason=f"{blocking} is a file now")
        if here is None:
            return Clash(reason="it is no longer there")
        if after is None:
            return here if version == before.version else Clash(reason="another file is there now")
        mode = here.mode
        if None not in (before.mode, after.mode) and before.mode != after.mode:
            if here.mode not in (before.mode, after.mode):
                return Clash(reason="others have changed its mode since")
            mode = before.mode
        if before.version in (version, after.version):
            return here if mode == here.mode else replace(self._tree.with_bytes(here), mode=mode)
        if version == after.version:
            return replace(here, version=before.version, mode=mode, made=None)
        return self._merged(run.path, here, (before.version or "", after.version or ""), mode)

    def _merged(self, path: str, here: DraftNode, versions: tuple[str, str], mode: int | None) -> DraftNode | Clash:
        if here.kind != "file":
            return Clash(reason="others have changed it since")
        try:
            before, after = (text_of(self._tree.contents.get(version), name=path) for version in versions)
            content = self._tree.content(here)
            text_format = inspect(content, name=path)[0].text_format
            if text_format is None or before is None or after is None:
                return Clash(reason="it is binary, and others have changed it since")
            merged = merge_bytes(
                after, content, before,
                text_format=text_format, path=path, by_words=self._is_prose(path), with_foreign=False,
            )  # fmt: skip
        except (VersionGoneError, EncodingError) as exc:
            return Clash.of(exc)
        if merged.content is None:
            places = tuple(one.to_dict() for one in merged.result.conflicts)
            return Clash(reason=f"others have changed the same place since (line {places[0]['line']})", places=places)
        return replace(here, version=version_of(merged.content), mode=mode, made=merged.content)

    def _move_back(self, record: ChangeRecord) -> None:
        assert record.old_path is not None
        where, home = self._names.now(record.path), self._names.above(record.old_path)
        is_folder = record.operation is Operation.MOVE_DIRECTORY
        _, here = self._settled(home), self._settled(where)
        if where is None or home is None or here is None or (here.kind == "directory") != is_folder:
            self._find([record], record.path, Clash(reason="it is no longer there"))
        elif not self._is_free(home, for_folder=is_folder):
            self._find([record], where, Clash(reason=f"something else is at {home} now"))
        elif (blocking := self._file_above(home)) is not None:
            self._find([record], where, Clash(reason=f"{blocking} is a file now"))
        else:
            self._tree.move(where, home)
            self._names.passed(record, where=where, home=home)
            self._find([record], home, "undone")
            return
        self._names.passed(record)

    def _remove_folder(self, record: ChangeRecord) -> None:
        where = self._names.now(record.path)
        here = self._settled(where)
        if where is None or here is None or here.kind != "directory":
            self._find([record], record.path, "unchanged")
            return
        inside, came_back = list(self._tree.below(where)), bool(self._history.taken_back([record.number]))
        nodes = [self._tree.at(path) for path in inside]
        # Links that came back with it have no records.
        if inside and not (came_back and all(node is not None and node.kind in WITHOUT_RECORDS for node in nodes)):
            self._find([record], where, "kept")
            return
        for path in [*inside, where]:
            self._tree.put(path, None)
        if came_back:
            self._tree.wholes.add(self._tree.key(where))
        self._find([record], where, "undone")

    def _restore(self, record: ChangeRecord) -> None:
        where = self._names.above(record.path)
        if where is None or (blocking := self._file_above(where)) is not None:
            reason = "its folder is gone" if where is None else f"{blocking} is a file now"
            self._find([record], record.path, Clash(reason=reason))
            return
        here = self._settled(where)
        trashed = self._trashed(record)
        if here is not None and (here.kind != "directory" or (trashed and not self._is_free(where, for_folder=True))):
            self._find([record], where, Clash(reason="something else is there now"))
            return
        for path, node in trashed.items():
            self._tree.put(path, node)
        if not trashed:
            self._rebuild(record, where)
        outcome: Outcome = "undone" if here is None else "unchanged"
        self._find([record], where, "unknown" if record.before_unknown else outcome)

    def _trashed(self, record: ChangeRecord) -> dict[str, DraftNode]:
        """Return by path what the trash still has of a deletion."""
        where = self._names.above(record.path)
        numbers = [] if where is None else deletions(self._history, record)
        found = (self._tree.trashed(where or "", str(number), record.mode) for number in numbers)
        return next((each for each in found if each), {})

    def _rebuild(self, record: ChangeRecord, where: str) -> None:
        """Make a folder anew out of the versions that the journal keeps; the folder itself is nowhere any more."""
        if self._tree.at(where) is None:
            self._tree.put(where, DraftNode(kind="directory", mode=record.mode))
        for path, node in tree_before(self._history, record).items():
            target = f"{where}{path[len(record.path) :]}"
            if node.kind == "file":
                self._settle(_UndoRun(path=target, after=None, before=node, records=[record]))
            elif self._tree.at(target) is None:
                self._tree.put(target, node)

    def _is_free(self, place: str, *, for_folder: bool) -> bool:
        """Whether nothing stands at a place, or for a folder nothing but an empty one."""
        here = self._tree.at(place)
        is_folder = here is not None and here.kind == "directory"
        return here is None or (for_folder and is_folder and next(iter(self._tree.below(place)), None) is None)

    def _settled(self, place: str | None) -> DraftNode | None:
        """Return what would be at a place after all changes there, and below, that were gone back over so far."""
        if place is None:
            return None
        key = self._tree.key(place)
        for one in [one for one in self._runs if one == key or one.startswith(f"{key}/")]:
            self._settle(self._runs.pop(one))
        return self._tree.at(place)

    def _file_above(self, path: str) -> str | None:
        """Return the file that stands where a folder is needed, if one does."""
        for parent in within(path.rpartition("/")[0]):
            if (node := self._tree.at(parent)) is not None:
                return None if node.kind == "directory" else parent
        return None

    def _find(self, records: Sequence[ChangeRecord], path: str, outcome: Outcome | Clash) -> None:
        clash = outcome if isinstance(outcome, Clash) else None
        kind = "conflict" if isinstance(outcome, Clash) else outcome
        self._findings.append(UndoFinding(records=tuple(records), path=path, outcome=kind, clash=clash))


def _follow(one: DraftNode | None, other: DraftNode | None) -> bool:
    """Whether two states are one, so that nobody was in between; a change of mode alone counts, too."""
    if one is None or other is None:
        return one is other
    return one.version == other.version and (one.mode == other.mode or None in (one.mode, other.mode))


def deletions(history: History, record: ChangeRecord) -> list[int]:
    """Return the records that deleted what one did, newest first: a redo is one of its own."""
    newer = numbers = {record.number}
    while newer:
        newer = {number for several in history.undoers(newer).values() for number in several} - numbers
        numbers = numbers | newer
    related = history.select(RecordFilter(numbers=tuple(numbers)), limit=len(numbers))
    return [
        each.number
        for each in related
        if each.operation in (Operation.DELETE_DIRECTORY, Operation.DELETE) and each.path == record.path
    ]


def tree_before(history: History, record: ChangeRecord) -> dict[str, DraftNode]:
    """Return what the journal knew below a folder before the record that removed it, by paths."""
    # Nobody may have read its files before it came back and went once more.
    found = [row for number in deletions(history, record) for row in history.gone_below(number)]
    return {
        path: DraftNode(kind="directory") if version is None else DraftNode(kind="file", version=version, mode=mode)
        for path, version, mode in found
        if path != record.path
    }


def unknown_creations(history: History, records: Sequence[ChangeRecord]) -> set[int]:
    """Return which creations must stay: something stood there before that nobody had seen, and it may be that.

    Args:
        history: The records.
        records: All that will be taken back, newest first.
    """
    unknown: set[int] = set()
    gone: set[str] = set()
    seen: dict[str, dict[str, DraftNode]] = {}
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


class _Name(Struct, eq=False):
    """A name in one of two trees; what it stands for has its twin's name in the other one, with all below."""

    part: str = ""
    above: _Name | None = None
    twin: _Name | None = None
    below: dict[str, _Name] = field(default_factory=dict)

    def at(self, path: str) -> _Name:
        """Return what is at a path below."""
        name = self
        for part in path.split("/") if path else ():
            if part not in name.below:
                found = name.below[part] = _Name(part, name)
                if name.twin is not None and part not in name.twin.below:
                    name.twin.below[part] = _Name(part, name.twin)
                    found.pair(name.twin.below[part])
            name = name.below[part]
        return name

    def pair(self, twin: _Name) -> None:
        """Stand for what has another name in the other tree."""
        self.twin, twin.twin = twin, self

    def move(self, root: _Name, path: str) -> None:
        """Go to a path, in the place of what is there."""
        if self.above is not None and self.above.below.get(self.part) is self:
            del self.above.below[self.part]
        folder, _, self.part = path.rpartition("/")
        self.above = root.at(folder)
        self.above.below[self.part] = self


class FormerNames:
    """Where the draft has what bore each name at the moment that a walk back through the journal has reached."""

    def __init__(self) -> None:
        self._names, self._places = _Name(), _Name()
        self._names.pair(self._places)
        self._after: dict[tuple[int, str, str], _Name] = {}
        """By number and names of a move: what has had the old name after it."""

    def now(self, path: str) -> str | None:
        """Return where the draft has what bore this name; None if something else was moved to that name since."""
        place, parts = self._names.at(path).twin, list[str]()
        if place is None:
            return None
        while place.above is not None:
            parts.append(place.part)
            place = place.above
        return "/".join(reversed(parts))

    def above(self, path: str) -> str | None:
        """Return where the draft has what shall stand again at a path: in its folder, which may have moved."""
        folder, _, name = path.rpartition("/")
        now = self.now(folder)
        return None if now is None else f"{now}/{name}" if now else name

    def passed(
        self, move: ChangeRecord, *, undoers: Iterable[int] = (), where: str | None = None, home: str = ""
    ) -> None:
        """Go back over a move that stays, or that the draft has taken back.

        Args:
            move: Which.
            undoers: The records that take it back. If a move that was passed is one of them, it is as if neither had been.
            where: Where the draft had what moved; None if it stays.
            home: Where the draft has it since the move was taken back.
        """
        old, new = move.old_path or "", move.path
        reversed_by = next((key for number in undoers if (key := (number, new, old)) in self._after), None)
        moved, before = self._names.at(new), _Name() if reversed_by is None else self._after.pop(reversed_by)
        if where is not None:
            self._places.at(where).move(self._places, home)
        before.move(self._names, new)
        if where is not None and reversed_by is None:
            before.pair(self._places.at(where))
        after = self._names.at(old)
        moved.move(self._names, old)
        if reversed_by is None:
            # A move that counts as none is none that another has reversed.
            self._after[move.number, old, new] = after
