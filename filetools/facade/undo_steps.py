"""From the draft of an undo to the steps that make it true: whole folders and files move where they can, the rest is written.

No two steps of one transaction touch the same path, so that each may look at the tree as it is. What went into a document
that nobody has saved since is merged into its unsaved text, as every change of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise, product

from msgspec import Struct, structs

from filetools.content.facts import inspect, text_of
from filetools.content.formats import TextFormat, decode
from filetools.content.merging import merge
from filetools.editors.documents import changed
from filetools.errors import ChangedMeanwhileError, EncodingError
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.steps.decision import PutDecision
from filetools.facade.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put_back import (
    PutBack,
    RestoreFolder,
    opened,
)
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.steps.texts import PutLink, PutMode
from filetools.facade.steps.unsaved import put_beside, unsaved_text
from filetools.journal.changes import Relation, RelationKind
from filetools.journal.history import History
from filetools.models.records import ChangeRecord, RecordState
from filetools.paths.workspace_path import WorkspacePath
from filetools.versions.draft_tree import DraftNode, DraftTree, Origin, within
from filetools.versions.undo import Clash, UndoFinding


class Drafted(Struct, frozen=True, kw_only=True):
    """One path that an undo changes."""

    path: str
    now: DraftNode | None
    then: DraftNode | None

    @property
    def origin(self) -> Origin | None:
        """Where in the tree, or the trash, what comes there is now."""
        return None if self.then is None else self.then.origin

    @property
    def origin_in_tree(self) -> Origin | None:
        """The same, unless it is in the trash."""
        return None if self.origin is None or self.origin.trash is not None else self.origin


def in_phases(tree: DraftTree) -> tuple[list[list[Drafted]], list[str]]:
    """Return what a draft changes, and the paths where that is impossible.

    Where a file, a folder or a link stands in the place of another kind, that goes with all in it in a transaction before
    the others, since no two steps of one transaction touch one path.
    """
    drafted = [Drafted(path=path, now=now, then=then) for path, now, then in tree.changes()]
    swaps = [one for one in drafted if one.now is not None and one.then is not None and one.now.kind != one.then.kind]
    if not swaps:
        return [drafted], []
    impossible = {tree.key(one.path): one.path for one in swaps if not _can_go(tree, one)}
    places = {tree.key(one.path) for one in swaps} - impossible.keys()
    first, second = [], []

    def is_cleared(key: str) -> bool:
        return not places.isdisjoint(within(key))

    for one in drafted:
        key = tree.key(one.path)
        if not impossible.keys().isdisjoint(within(key)):
            continue
        if not is_cleared(key):
            second.append(structs.replace(one, then=tree.made_anew(one.then, is_cleared)))
            continue
        if one.now is not None:
            first.append(structs.replace(one, then=None))
        if one.then is not None:
            second.append(structs.replace(one, now=None, then=tree.made_anew(one.then, is_cleared)))
    return [first, second], list(impossible.values())


def _can_go(tree: DraftTree, swap: Drafted) -> bool:
    """Whether nothing is lost where another kind comes to stand: all in a folder must have been drafted to go."""
    assert swap.now is not None
    assert swap.then is not None
    if "other" in (swap.now.kind, swap.then.kind):
        return False
    return swap.now.kind != "folder" or all(tree.at(path) is None for path in tree.standing_below(swap.path))


class StepMaker:
    """Makes the steps of one transaction. Lives for one plan."""

    def __init__(
        self,
        parts: Parts,
        tree: DraftTree,
        drafted: Sequence[Drafted],
        refused: Mapping[str, Clash],
    ) -> None:
        self._parts = parts
        self._is_addressable = parts.workspace.is_addressable
        self._follows_links = parts.workspace.follow_symlinks
        self._tree = tree
        self._left = {tree.key(one.path): one for one in drafted}
        self.drafted = {one.path: one for one in drafted}
        self.steps: list[Step] = []
        self.blocked: dict[str, Clash] = {one.path: refused[one.path] for one in drafted if one.path in refused}
        """Paths whose open documents have unsaved text that is in the way, or whose change was refused."""
        for path in self.blocked:
            self._take_within(path)
        self.impossible: list[str] = []
        """Paths of what cannot come back by itself, such as a pipe."""
        self._refuse_unsaved()
        self._change_modes(one for one in self._left.values() if one.now is not None)
        self._move_folders()
        self._restore_folders()
        self._make_folders()
        self._remove_trees()
        self._move_files()
        self._put_links()
        self._write_files()
        self._remove_folders()
        self.steps.sort(key=_turn)

    def _refuse_unsaved(self) -> None:
        for key, one in list(self._left.items()):
            # What goes leaves its document the unsaved text.
            if one.now is None or one.then is None or one.now.kind != "file":
                continue
            if (clash := _unsaved_clash(self._parts, self._tree, one.path, one.now, one.then)) is not None:
                self.blocked[one.path] = clash
                del self._left[key]

    def _move_folders(self) -> None:
        for one in self._appearing("folder"):
            if (origin := one.origin_in_tree) is None or not self._is_whole(one.path, origin):
                continue
            self.steps.append(MoveFolder(WorkspacePath(origin.path), WorkspacePath(one.path)))
            key = self._tree.key(one.path)
            self._change_modes(each for other, each in self._left.items() if key in within(other))
            self._take_within(one.path)
            self._take_within(origin.path)

    def _restore_folders(self) -> None:
        for one in self._appearing("folder", "file", "link", "other"):
            origin = one.origin
            if origin is None or origin.trash is None or origin.top != one.path or not self._is_whole(one.path, origin):
                continue
            inside = [WorkspacePath(path) for path in self._tree.below(one.path) if self._is_addressable(path)]
            self.steps.append(RestoreFolder(WorkspacePath(one.path), origin.trash, inside))
            there = self._tree.trashed(one.path, origin.trash)
            if not there:
                raise ChangedMeanwhileError(one.path, 1)  # somebody has just brought it back, or emptied the trash
            self._change_modes([structs.replace(one, now=there[0][1])])
            self._take_within(one.path)

    def _make_folders(self) -> None:
        for one in self._appearing("folder"):
            mode = None if one.then is None else one.then.mode
            # Its owner has all rights until all else is done in it.
            self._do(MakeFolderStep(WorkspacePath(one.path), None if mode is None else opened(mode)), one.path)
            if mode is not None and mode != opened(mode):
                self.steps.append(PutMode(WorkspacePath(one.path), opened(mode), mode))

    def _change_modes(self, drafted: Iterable[Drafted]) -> None:
        """Have folders that stand there, or move there, get other modes."""
        for one in list(drafted):
            origin = one.origin_in_tree
            now = one.now or (None if origin is None else self._tree.standing(origin.path))
            if now is None or one.then is None or now.kind != "folder" or one.then.kind != "folder":
                continue
            if now.mode is not None and one.then.mode is not None and now.mode != one.then.mode:
                self.steps.append(PutMode(WorkspacePath(one.path), now.mode, one.then.mode))
            if self._left.get(self._tree.key(one.path)) is one and one.now is not None:
                self._left.pop(self._tree.key(one.path))

    def _put_links(self) -> None:
        for one in sorted(self._left.values(), key=lambda one: one.path):
            now, then = (node if node is not None and node.kind == "link" else None for node in (one.now, one.then))
            if now is not None or then is not None:
                texts = (None if node is None else self._tree.content(node) for node in (now, then))
                self._do(PutLink(WorkspacePath(one.path), *texts), one.path)

    def _remove_trees(self) -> None:
        """Folders that came back go as they came, into the trash: nothing else would bring links in them back once more."""
        for key in sorted(self._left):
            one = self._left.get(key)
            if one is None or one.then is not None or one.now is None or one.now.kind != "folder":
                continue
            inside = [each for other, each in self._left.items() if other.startswith(f"{key}/")]
            goes = {each.path for each in inside if each.then is None}
            if key in self._tree.wholes and goes == set(self._tree.standing_below(one.path)):
                permit = partial(_permit_tree, self._tree, one.path, inside)
                self.steps.append(
                    RemoveFolderStep(WorkspacePath(one.path), recursive=True, mode=one.now.mode, permit=permit)
                )
                self._take_within(one.path)

    def _move_files(self) -> None:
        # Where links are refused, they are made anew.
        kinds = ("file", "link", "other") if self._follows_links else ("file", "other")
        for one in self._appearing(*kinds):
            if (origin := one.origin_in_tree) is None or one.then is None or one.then.version is not None:
                continue
            source = self._left.get(self._tree.key(origin.path))
            is_free = source is not None and source.then is None and source.now is not None
            if is_free and self._is_addressable(one.path):
                step = MoveFile(WorkspacePath(origin.path), WorkspacePath(one.path), overwrite=False)
                self._do(step, one.path, origin.path)

    def _write_files(self) -> None:
        rest = sorted(self._left.values(), key=lambda one: one.path)
        for one in rest:
            if one.then is not None and one.then.kind == "file":
                self._do(PutBack(WorkspacePath(one.path), partial(_decide, self._tree, one)), one.path)
            elif one.then is not None:
                self.impossible.append(one.path)  # such as a pipe out of the trash, in a folder whose files change
                self._do(None, one.path)
        for one in rest:
            if one.then is None and one.now is not None and one.now.kind == "file":
                self._do(RemoveFile(WorkspacePath(one.path), partial(_require_planned, self._tree, one)), one.path)

    def _remove_folders(self) -> None:
        others = [one.path for one in self._left.values() if one.now is not None and one.now.kind == "other"]
        for one in sorted(self._left.values(), key=lambda one: one.path, reverse=True):
            if one.now is None or one.now.kind != "folder":
                continue
            if not any(other.startswith(f"{one.path}/") for other in others):
                self.steps.append(
                    RemoveFolderStep(WorkspacePath(one.path), recursive=False, mode=one.now.mode, permit=lambda: None)
                )

    def _appearing(self, *kinds: str) -> Iterable[Drafted]:
        """Yield what stands where nothing is, by kinds, outermost first; steps may take some of it away meanwhile."""
        for kind, key in product(kinds, sorted(self._left)):
            one = self._left.get(key)
            if one is not None and one.now is None and one.then is not None and one.then.kind == kind:
                yield one

    def _is_whole(self, path: str, origin: Origin) -> bool:
        """Whether a folder and all in it come from one place, as they are there, and all that is there comes along."""
        if origin.trash is None:
            source = self._left.get(self._tree.key(origin.path))
            if source is None or source.then is not None or next(iter(self._tree.below(origin.path)), None) is not None:
                return False
            wanted = {f"{path}{below[len(origin.path) :]}": below for below in self._tree.standing_below(origin.path)}
        elif path != origin.path:
            return False
        else:
            wanted = {
                f"{path}/{below}": f"{path}/{below}" for below, _ in self._tree.trashed(path, origin.trash) if below
            }
        return {below: self._origin_of(below, origin) for below in self._tree.below(path)} == wanted

    def _origin_of(self, path: str, top: Origin) -> str | None:
        node = self._tree.at(path)
        if node is None or node.version is not None or node.origin is None or node.origin.trash != top.trash:
            return None
        return node.origin.path

    def _do(self, step: Step | None, *paths: str) -> None:
        """Have a step, or one that is there already, do what is left to do at some paths."""
        if step is not None:
            self.steps.append(step)
        for path in paths:
            self._left.pop(self._tree.key(path), None)

    def _take_within(self, folder: str) -> None:
        key = self._tree.key(folder)
        for one in [one for one in self._left if one == key or one.startswith(f"{key}/")]:
            del self._left[one]


def _turn(step: Step) -> tuple[int, int]:
    """Folders are made first: others would make them on their way, and they be recorded twice. Modes come last, inside out."""
    if isinstance(step, PutMode):
        return 2, -step.paths[0].count("/")
    return (0 if isinstance(step, MakeFolderStep) else 1), 0


def place_of(step: Step) -> WorkspacePath:
    """Return the path that a step is about: of a move, where it goes."""
    return step.paths[1] if isinstance(step, MoveFile | MoveFolder) else step.paths[0]


def assign(steps: Sequence[Step], numbers: dict[str, list[int]], kind: RelationKind) -> None:
    """Have each step say which records it takes back, by their paths.

    The first one speaks for records that need no step; and one that only helps another, as a deletion does where a file
    comes from, is part of the undo like the rest.
    """
    left = dict(numbers)
    said = [{number for path in step.paths for number in left.pop(str(path), ())} for step in steps]
    rest = {number for several in left.values() for number in several}
    if steps and rest:
        said[0] |= rest
    first = min((number for several in said for number in several), default=0)
    for step, several in zip(steps, said, strict=True):
        step.undone = relations(sorted(several or {first}), kind)


def relations(numbers: Iterable[int], kind: RelationKind) -> tuple[Relation, ...]:
    """Return what a record says that takes these back."""
    return tuple(Relation(kind=kind, number=number) for number in numbers)


def _decide(tree: DraftTree, drafted: Drafted, parts: Parts, seen: Look) -> PutDecision:
    """Decide what was drafted, if there still stands what it was drafted for."""
    _require_planned(tree, drafted, seen)
    assert drafted.then is not None
    content = tree.content(drafted.then)
    facts, mode = inspect(content, name=seen.path)[0], drafted.then.mode
    # What was typed since a file went stays as it is, on top of what comes back.
    typed = unsaved_text(parts, seen) if seen.stat is None else None
    kept = (
        None
        if typed is None
        else changed(typed, typed.text, (), base=typed.document.base, is_dirty=True, reason="disk")
    )
    return PutDecision(content=content, facts=facts, mode=mode, document=kept)


def _permit_tree(tree: DraftTree, folder: str, inside: Sequence[Drafted]) -> None:
    planned = {one.path: one.now for one in inside}
    now = {path: tree.standing(path) for path in tree.standing_below(folder)}
    is_same = planned.keys() == now.keys() and all(
        one is not None and other is not None and one.kind == other.kind
        and (one.kind != "file" or tree.version(one) == tree.read_version(other.origin or Origin(path=path)))
        for path, one in planned.items()
        for other in [now[path]]
    )  # fmt: skip
    if not is_same:
        raise ChangedMeanwhileError(folder, 1)


def _require_planned(tree: DraftTree, drafted: Drafted, seen: Look) -> None:
    planned = None if drafted.now is None else tree.version(drafted.now)
    if seen.version != planned:
        raise ChangedMeanwhileError(seen.path, 1)


def split_buffered(
    history: History, chosen: Sequence[ChangeRecord]
) -> tuple[list[ChangeRecord], list[ChangeRecord], list[ChangeRecord]]:
    """Tell changes of documents apart: those of files, those that nobody has saved since, those whose save goes, too."""
    children = history.children(record.number for record in chosen if record.state is RecordState.BUFFER)
    numbers = {record.number for record in chosen}
    files: list[ChangeRecord] = []
    waiting: list[ChangeRecord] = []
    saved: list[ChangeRecord] = []
    for record in chosen:
        saves = children.get(record.number, ())
        if record.state is not RecordState.BUFFER or (saves and numbers.isdisjoint(saves)):
            files.append(record)
        else:
            (saved if saves else waiting).append(record)
    return files, waiting, saved


def plan_unsaved(
    parts: Parts, waiting: Sequence[ChangeRecord], taken: set[str], kind: RelationKind
) -> tuple[list[PutBack], list[UndoFinding]]:
    """Work out how changes of unsaved documents are taken back.

    Args:
        parts: The workspace.
        waiting: The changes, newest first.
        taken: Lock keys of files that the undo changes otherwise; a document cannot be changed along with its file.
        kind: What the new records are to them.
    """
    steps: list[PutBack] = []
    findings: list[UndoFinding] = []
    for path in dict.fromkeys(record.path for record in waiting):
        records = tuple(record for record in waiting if record.path == path)
        where = parts.workspace.resolve(path)
        key = parts.workspace.key(where)
        document = parts.view(key).document
        if document is None or not document.is_dirty:
            findings.append(UndoFinding(records=records, path=path, outcome="unchanged"))
        elif key in taken or any(newer.before != older.after for newer, older in pairwise(records)):
            clash = Clash(code="EDIT_CONFLICT", reason="it is in a document that is not saved yet")
            findings.append(UndoFinding(records=records, path=path, outcome="conflict", clash=clash))
        else:
            step = PutBack(where, partial(_decide_unsaved, records))
            step.undone = relations(sorted(record.number for record in records), kind)
            steps.append(step)
            findings.append(UndoFinding(records=records, path=path, outcome="undone"))
    return steps, findings


def _unsaved_clash(parts: Parts, tree: DraftTree, path: str, now: DraftNode, then: DraftNode) -> Clash | None:
    """Return why an undo cannot change a file, if the unsaved text of its document is in the way of that."""
    document = parts.view(parts.workspace.key(path)).document
    opened = parts.documents.texts.newest(document.id) if document is not None and document.is_dirty else None
    if opened is None:
        return None
    by_words = parts.settings.is_prose(path)
    base, proposed = (text_of(tree.content(node), name=path) for node in (now, then))
    if base is None or proposed is None:
        return Clash(code="EDIT_CONFLICT", reason="its document has unsaved text, and it is binary")
    # As when it is done: what the file has got since goes into the document first.
    current = merge(opened.base_text, opened.text, base, by_words=by_words).text
    merged = merge(base, opened.text if current is None else current, proposed, by_words=by_words)
    if merged.text is not None:
        return None
    places = tuple(one.to_dict() for one in merged.conflicts)
    return Clash(
        code="EDIT_CONFLICT", reason=f"its document has unsaved text (line {places[0]['line']})", places=places
    )


def _decide_unsaved(records: Sequence[ChangeRecord], parts: Parts, seen: Look) -> PutDecision:
    """Put what the document was before on top of what it is now; conflicts with what a person typed since refuse."""
    opened = unsaved_text(parts, seen)
    after, before = records[0].after, records[-1].before
    if opened is None or after is None or before is None:
        raise ChangedMeanwhileError(seen.path, 1)  # saved, or given up, since the undo was worked out
    base, proposed = (_text(parts, version, opened.document.text_format, seen.path) for version in (after, before))
    return put_beside(parts, seen, opened, base, proposed)


def _text(parts: Parts, version: str, form: TextFormat, path: str) -> str:
    content = parts.journal.contents.get(version)
    try:
        return decode(content, form, path=path)
    except EncodingError:
        return content.decode("utf-8", "surrogatepass")  # what the file's encoding could not hold
