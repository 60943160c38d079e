"""Turns the draft of an undo into steps: folders and files are moved as a whole where possible, the others are written.

No two steps of one transaction touch the same path, so that each can look at the current tree. A change of a document that
has not been saved since is undone in its unsaved text, by a merge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from msgspec import structs

from filetools.changes.decision import PutDecision
from filetools.changes.parts import Parts
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.changes.steps.look import Look
from filetools.changes.steps.put_back import PutLink, PutMode, RestoreFolder, opened
from filetools.changes.steps.step import Step
from filetools.changes.steps.unsaved import put_beside, unsaved_text
from filetools.content.facts import inspect
from filetools.content.formats import TextFormat, decode, encode
from filetools.editors.documents import changed
from filetools.errors import ChangedMeanwhileError, EditConflictError, EncodingError, FileToolsError, VersionGoneError
from filetools.history.draft_tree import Drafted, DraftNode, DraftTree, Origin, within
from filetools.history.undo import SETTLED, UndoFinding
from filetools.journal.commit import HeadMovedError
from filetools.journal.records import History
from filetools.models.records import ChangeRecord, Operation, RecordState
from filetools.paths.names import escaped
from filetools.paths.workspace_path import WorkspacePath

OF_FOLDERS: Final = frozenset((Operation.CREATE_DIRECTORY, Operation.DELETE_DIRECTORY, Operation.MOVE_DIRECTORY))
"""Changes of a folder with all in it."""
Blocked = Mapping[str, FileToolsError]
"""Paths that stay as they are with all below them, with the reason."""


def with_blocked(findings: Sequence[UndoFinding], blocked: Blocked) -> list[UndoFinding]:
    """Return the findings with a conflict for each record at a path that cannot be changed.

    Args:
        findings: The findings if all paths could be changed, newest record first.
        blocked: The paths that stay as they are with all below them, with the reason. One that no finding names gets a
            finding.
    """
    folders = {each: clash for path, clash in [*blocked.items()][::-1] for each in within(path)}
    found: list[UndoFinding] = []
    told: set[str] = set()
    for finding in findings:
        stuck = next((blocked[each] for place in finding.places for each in within(place) if each in blocked), None)
        operations = {record.operation for record in finding.records}
        touched = folders.get(finding.path, stuck) if operations & OF_FOLDERS else stuck
        is_change = finding.outcome != "unchanged" or Operation.DELETE_DIRECTORY in operations
        if touched is not None and is_change and finding.outcome in SETTLED:
            finding = structs.replace(finding, outcome=touched)
        if isinstance(finding.outcome, FileToolsError):
            told |= {*finding.places, *(record.path for record in finding.records if record.old_path is not None)}
            if stuck is not None:
                finding = structs.replace(finding, path=finding.places[-1])
        found.append(finding)
    return found + [
        UndoFinding(records=(), path=escaped(path), outcome=clash)
        for path, clash in blocked.items()
        if told.isdisjoint(within(path))
    ]


def possible(parts: Parts, tree: DraftTree, refused: Blocked) -> tuple[list[Drafted], dict[str, FileToolsError]]:
    """Return the changes of a draft that can be made.

    Both ends of a move stay if one does, or the file would be lost or exist twice. A folder in which an entry stays is not
    replaced by another kind.

    Args:
        parts: The workspace.
        tree: The draft.
        refused: Paths that stay as they are with all below them: they cannot be read, or their change was refused.

    Returns:
        The changes; and the paths that stay as they are with all below them, with the reason.
    """
    drafted, stays = tree.changes(), dict(refused)
    for one in drafted:
        if one.path not in refused and (error := _obstacle(parts, tree, one)) is not None:
            stays[one.path] = error
    others: defaultdict[str, list[str]] = defaultdict(list)
    for path, node in tree.drafted.values():
        if node is not None and node.source:
            for end, other in ((path, node.source), (node.source, path)):
                for key in within(tree.key(end)):
                    others[key].append(other)
    swaps = {tree.key(one.path): one.path for one in drafted if one.is_swap and one.now and one.now.kind == "directory"}
    keys, queue = set(map(tree.key, stays)), list(stays.items())
    for path, error in queue:  # it grows meanwhile
        key = tree.key(path)
        for each in sorted([*others[key], *(swaps[above] for above in within(key) if above in swaps)]):
            if keys.isdisjoint(within(tree.key(each))):
                keys.add(tree.key(each))
                stays[each] = error
                queue.append((each, error))
    above = {folder for key in keys for folder in within(key)}
    left = [one for one in drafted if keys.isdisjoint(within(tree.key(one.path)))]
    return [one for one in left if one.then is not None or tree.key(one.path) not in above], stays


def _obstacle(parts: Parts, tree: DraftTree, one: Drafted) -> FileToolsError | None:
    path, now, then = WorkspacePath(one.path), one.now, one.then
    if one.is_swap and not _can_go(tree, one):
        return _impossible(path)
    blocking = None if then is None or now is not None else tree.file_above(path)
    if blocking is not None:
        return EditConflictError(f"{blocking} is a file now")
    try:
        if then is not None and then.version is not None:
            tree.content(then)
        # A document keeps its unsaved text when its file goes.
        if now is not None and then is not None and now.kind == then.kind == "file":
            document = parts.view(parts.workspace.key(path)).document
            if document is not None and document.is_dirty:
                step = PutFile(path, partial(_decide, tree, one))
                step.look(parts)
                step.preview(parts, step.seen)
    except EditConflictError as exc:
        return EditConflictError("its document has unsaved text", details=exc.details)
    except (VersionGoneError, EncodingError) as exc:
        return exc
    except (HeadMovedError, FileToolsError):
        pass  # somebody is typing, or the file has changed: the step decides
    return None


def in_phases(tree: DraftTree, drafted: list[Drafted]) -> list[list[Drafted]]:
    """Divide changes into one transaction, or two.

    An entry that is replaced by one of another kind is removed, with all below it, in a first transaction, since no two
    steps of one transaction touch the same path.
    """
    places = {tree.key(one.path) for one in drafted if one.is_swap}
    if not places:
        return [drafted]

    def is_cleared(key: str) -> bool:
        return not places.isdisjoint(within(key))

    first = [
        structs.replace(one, then=None) for one in drafted if one.now is not None and is_cleared(tree.key(one.path))
    ]
    gone = {one.path for one in first}
    second = [
        Drafted(
            path=one.path,
            now=None if one.path in gone else one.now,
            then=tree.made_anew(one.then, is_cleared),
        )
        for one in drafted
    ]
    return [first, [one for one in second if one.now or one.then]]


def _can_go(tree: DraftTree, swap: Drafted) -> bool:
    """True if an entry can be replaced by one of another kind: the draft removes everything in a folder."""
    kinds = [node.kind for node in (swap.now, swap.then) if node is not None]
    return "other" not in kinds and (
        kinds[0] != "directory" or all(tree.at(path) is None for path in tree.standing_below(swap.path))
    )


class StepMaker:
    """Makes the steps of one transaction. Lives for one plan."""

    def __init__(self, parts: Parts, tree: DraftTree, drafted: Sequence[Drafted]) -> None:
        self._parts = parts
        self._tree = tree
        self._left = {tree.key(one.path): one for one in drafted}
        self.drafted = {one.path: one for one in drafted}
        self.steps: list[Step] = []
        self.blocked: dict[str, FileToolsError] = {}
        """Paths that cannot be changed, and why."""
        self._bring_wholes()
        self._move_files()
        self._remove_trees()
        self._others = [one.path for one in self._left.values() if one.now is not None and one.now.kind == "other"]
        for one in self._rest():
            self._change(one)
        self.steps.sort(key=_turn)

    def _rest(self) -> Iterator[Drafted]:
        """Yield the changes without a step, outermost first. A step that is added meanwhile may include some of them."""
        for key in sorted(self._left):
            if (one := self._left.get(key)) is not None:
                yield one

    def _take_within(self, folder: str) -> list[Drafted]:
        key = self._tree.key(folder)
        return [self._left.pop(each) for each in list(self._left) if key in within(each)]

    def _bring_wholes(self) -> None:
        """Move folders, and restore entries of the trash, with everything in them."""
        for one in self._rest():
            path, origin = WorkspacePath(one.path), one.origin
            if origin is None or not self._is_whole(one, origin):
                continue
            taken = self._take_within(path)
            if origin.trash is None:
                self.steps.append(MoveFolder(WorkspacePath(origin.path), path))
                self._take_within(origin.path)
                come = [(each, self._tree.standing(each.origin.path)) for each in taken if each.origin is not None]
            else:
                inside = [
                    WorkspacePath(each) for each in self._tree.below(path) if self._parts.workspace.is_addressable(each)
                ]
                self.steps.append(RestoreFolder(path, origin.trash, inside))
                trashed = self._tree.trashed(path, origin.trash)
                come = [(each, trashed.get(each.path)) for each in taken]
            for each, now in come:
                self._change_mode(each.path, now, each.then)

    def _is_whole(self, one: Drafted, origin: Origin) -> bool:
        """True if a change puts exactly the entries at an origin at its path, unchanged."""
        tree, path = self._tree, one.path
        if origin.trash is None:
            source = self._left.get(tree.key(origin.path))
            if source is None or source.then is not None or one.then is None or one.then.kind != "directory":
                return False
            if next(iter(tree.below(origin.path)), None) is not None:
                return False
            inside = [each[len(origin.path) :] for each in tree.standing_below(origin.path)]
        elif path == origin.path == origin.top:
            inside = [each[len(path) :] for each in tree.trashed(path, origin.trash) if each != path]
        else:
            return False
        found = {each: tree.at(each) for each in tree.below(path)}
        come = {each: None if node is None or node.version else node.origin for each, node in found.items()}
        return come == {path + each: structs.replace(origin, path=origin.path + each) for each in inside}

    def _remove_trees(self) -> None:
        """Move folders that were restored from the trash into it again: otherwise a redo would lose the links in them."""
        for one in self._rest():
            key = self._tree.key(one.path)
            if one.then is not None or one.now is None or one.now.kind != "directory" or key not in self._tree.wholes:
                continue
            inside = [each for other, each in self._left.items() if other.startswith(f"{key}/")]
            if {each.path for each in inside if each.then is None} == set(self._tree.standing_below(one.path)):
                permit = partial(_permit_tree, self._parts, self._tree, one.path, inside)
                self.steps.append(
                    RemoveFolderStep(WorkspacePath(one.path), recursive=True, mode=one.now.mode, permit=permit)
                )
                self._take_within(one.path)

    def _move_files(self) -> None:
        # Where links are refused, they are created again.
        kinds = ("file", "symlink", "other") if self._parts.workspace.follow_symlinks else ("file", "other")
        for one in self._rest():
            origin, then = one.origin, one.then
            if origin is None or origin.trash is not None or then is None or then.version or then.kind not in kinds:
                continue
            source = self._left.get(self._tree.key(origin.path))
            is_moved = (
                source is not None and source.then is None and source.now is not None and source.now.mode == then.mode
            )
            if is_moved and self._parts.workspace.is_addressable(one.path):
                self.steps.append(MoveFile(WorkspacePath(origin.path), WorkspacePath(one.path), overwrite=False))
                del self._left[self._tree.key(origin.path)], self._left[self._tree.key(one.path)]

    def _change(self, one: Drafted) -> None:
        """Add the steps of one path."""
        path, now, then = WorkspacePath(one.path), one.now, one.then
        kinds = {node.kind for node in (now, then) if node is not None}
        if "symlink" in kinds:
            texts = (None if node is None else self._tree.content(node) for node in (now, then))
            self.steps.append(PutLink(path, *texts))
        elif then is not None and then.kind == "directory":
            if now is None:
                # Its owner keeps all rights until the steps below it are done.
                mode = None if then.mode is None else opened(then.mode)
                self.steps.append(MakeFolderStep(path, mode))
                now = structs.replace(then, mode=mode)
            self._change_mode(path, now, then)
        elif then is not None and then.kind == "file":
            self.steps.append(PutFile(path, partial(_decide, self._tree, one), ignores_read_only=True))
        elif then is not None:
            # For example a pipe in the trash, in a folder that is not restored as a whole.
            self.blocked[one.path] = _impossible(one.path)
        elif "file" in kinds:
            self.steps.append(RemoveFile(path, partial(_require_planned, self._tree, one)))
        elif now is not None and not any(f"{other}/".startswith(f"{path}/") for other in self._others):
            self.steps.append(RemoveFolderStep(path, recursive=False, mode=now.mode, permit=lambda: None))

    def _change_mode(self, path: str, now: DraftNode | None, then: DraftNode | None) -> None:
        if now is None or then is None or now.mode is None or then.mode is None or now.kind != "directory":
            return
        if now.mode != then.mode:
            self.steps.append(PutMode(WorkspacePath(path), now.mode, then.mode))


_TURNS: Final[Mapping[type[Step], int]] = {MakeFolderStep: 0, RemoveFile: 2, RemoveFolderStep: 3, PutMode: 4}


def _turn(step: Step) -> tuple[int, int]:
    """Sort key: folders are made first, or other steps would make and record them too; removals and modes come last."""
    turn = _TURNS.get(type(step), 1)
    return turn, -step.paths[0].count("/") if turn > 2 else 0


def _impossible(path: str) -> FileToolsError:
    return EditConflictError(f"an entry there, or in it, cannot be removed or restored ({escaped(path)})")


def place_of(step: Step) -> WorkspacePath:
    """Return the path that a step changes; for a move the destination."""
    return step.paths[1] if isinstance(step, MoveFile | MoveFolder) else step.paths[0]


def _decide(tree: DraftTree, drafted: Drafted, parts: Parts, seen: Look) -> PutDecision:
    """Return the drafted content, if the file is still the one that it was drafted for."""
    _require_planned(tree, drafted, seen)
    assert drafted.then is not None
    content = tree.content(drafted.then)
    facts, mode = inspect(content, name=seen.path)[0], drafted.then.mode
    # Text that was typed after the file's deletion stays, on top of the restored content.
    typed = unsaved_text(parts, seen) if seen.stat is None else None
    kept = (
        None
        if typed is None
        else changed(typed, typed.text, (), base=typed.document.base, is_dirty=True, reason="disk")
    )
    return PutDecision(content=content, facts=facts, mode=mode, document=kept)


def _permit_tree(parts: Parts, tree: DraftTree, folder: str, inside: Sequence[Drafted]) -> None:
    fresh, planned = DraftTree(parts), {one.path: one.now for one in inside}
    now = {path: fresh.standing(path) for path in fresh.standing_below(folder)}
    is_same = planned.keys() == now.keys() and all(
        one is not None and other is not None and one.kind == other.kind
        and (one.kind != "file" or tree.version(one) == fresh.version(other))
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
    """Divide changes into those of files, those of documents not saved since, and those whose save is undone too."""
    children = history.related(
        (each.number for each in chosen if each.state is RecordState.BUFFER), "parent", is_later=True
    )
    numbers = {record.number for record in chosen}
    waiting = [each for each in chosen if each.state is RecordState.BUFFER and each.number not in children]
    saved = [each for each in chosen if not numbers.isdisjoint(children.get(each.number, ()))]
    others = {record.number for record in (*waiting, *saved)}
    return [each for each in chosen if each.number not in others], waiting, saved


def plan_unsaved(
    parts: Parts, waiting: Sequence[ChangeRecord], taken: set[str]
) -> tuple[list[PutFile], list[UndoFinding]]:
    """Return the steps that undo changes of unsaved documents, and a finding for each document.

    Args:
        parts: The workspace.
        waiting: The changes, newest first.
        taken: Lock keys of files that other steps change; a document cannot be changed together with its file.
    """
    steps: list[PutFile] = []
    findings: list[UndoFinding] = []
    for path in dict.fromkeys(record.path for record in waiting):
        records = tuple(record for record in waiting if record.path == path)
        where = WorkspacePath(path)
        key = parts.workspace.key(where)
        document = parts.view(key).document
        if document is None or not document.is_dirty:
            findings.append(UndoFinding(records=records, path=path, outcome="unchanged"))
        elif key in taken or any(newer.before != older.after for newer, older in pairwise(records)):
            clash = EditConflictError("it is in a document that is not saved yet")
            findings.append(UndoFinding(records=records, path=path, outcome=clash))
        else:
            steps.append(PutFile(where, partial(_decide_unsaved, records)))
            findings.append(UndoFinding(records=records, path=where, outcome="undone"))
    return steps, findings


def _decide_unsaved(records: Sequence[ChangeRecord], parts: Parts, seen: Look) -> PutDecision:
    """Merge the document's previous text into its current one.

    Raises:
        EditConflictError: It overlaps text that a person typed since.
        ChangedMeanwhileError: The document was saved or closed after the undo was planned.
    """
    opened = unsaved_text(parts, seen)
    after, before = records[0].after, records[-1].before
    if opened is None or after is None or before is None:
        raise ChangedMeanwhileError(seen.path, 1)
    contents = [parts.journal.contents.get(version) for version in (after, before)]
    base, proposed = (_text(content, opened.document.text_format, seen.path) for content in contents)
    plain = PutDecision(content=contents[1], facts=inspect(contents[1], name=seen.path)[0])
    return put_beside(parts, seen, opened, base, proposed, plain)


def _text(content: bytes, form: TextFormat, path: str) -> str:
    """Return a document's text from its bytes, which are UTF-8 only if its format lacks a character."""
    try:
        text = content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return decode(content, form, path=path)
    try:
        encode(text, form, path=path)
    except EncodingError:
        return text
    return decode(content, form, path=path)
