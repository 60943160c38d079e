"""How changes are taken back: worked out in memory before any turn, shown as a whole, then all or nothing.

The steps check in their turn that everything stands as the plan has seen it; if not, it is worked out anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct, structs

from filetools.content.diff import structured_patch
from filetools.content.facts import text_of
from filetools.content.version import version_of
from filetools.errors import EditConflictError, FileToolsError, VersionGoneError
from filetools.facade.parts import Parts
from filetools.facade.proposals import Preview, ShownState
from filetools.facade.restoring import RestoreTarget, completed
from filetools.facade.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.put_back import RestoreFolder
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.steps.texts import PutLink, PutMode
from filetools.facade.undo_steps import Drafted, StepMaker, assign, in_phases, place_of, plan_unsaved, split_buffered
from filetools.facade.way import Outcome
from filetools.journal.changes import RelationKind
from filetools.journal.history import History, RecordFilter
from filetools.models.history import NotUndone, UndoConflict, UndoneChange, UndoneFile, UndoResult
from filetools.models.records import ChangeRecord
from filetools.paths.protected import matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree
from filetools.versions.draft_tree import DraftNode, DraftTree, within
from filetools.versions.past import is_within
from filetools.versions.selection import MOST_NUMBER
from filetools.versions.undo import Clash, UndoFinding, Undoing
from filetools.writer.turn_calls import FIRST_PAUSE_SECONDS, MOST_TRIES

Choose = Callable[[History], list[ChangeRecord]]
"""Picks the changes to take back, newest first."""

MOST_SINCE: Final = 100
"""More records than these, written while a plan was made, are not looked through: it is made anew."""
_SETTLED: Final = ("undone", "unchanged", "kept")
_STAYS: Final = {"unknown": "nobody knows what was there before", "kept": "others use this folder now"}


class Phase(Struct, frozen=True):
    """What one transaction of an undo does."""

    steps: tuple[Step, ...]
    drafted: Mapping[str, Drafted]
    """What is drafted for each path."""


IsWithheld = Callable[[WorkspacePath], bool]


class UndoPlan(Struct, frozen=True, dict=True):
    """What an undo would do. Lives for one try."""

    findings: tuple[UndoFinding, ...]
    tree: DraftTree
    phases: tuple[Phase, ...]
    unknown: tuple[str, ...] = ()
    """Paths that stay as they are: nobody knows what was there, or where they come from."""

    @cached_property
    def planned(self) -> list[tuple[Step, Drafted | None]]:
        """The steps with what is drafted at the path that each is about."""
        return [(step, phase.drafted.get(str(place_of(step)))) for phase in self.phases for step in phase.steps]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all phases."""
        return tuple(step for phase in self.phases for step in phase.steps)

    @property
    def deleted(self) -> list[WorkspacePath]:
        """The paths of the files that it deletes, and of folders that go with all in them."""
        return [
            step.paths[0]
            for step in self.steps
            if isinstance(step, RemoveFile)
            or (isinstance(step, RemoveFolderStep) and step.is_recursive)
            or (isinstance(step, PutLink) and step.then is None)
        ]

    @cached_property
    def conflicts(self) -> list[UndoConflict]:
        """What cannot be taken back."""
        return [
            UndoConflict(
                path=finding.path,
                code=finding.clash.code,
                reason=finding.clash.reason,
                numbers=[record.number for record in finding.records],
                conflicts=[dict(place) for place in finding.clash.places],
            )
            for finding in self.findings
            if finding.clash is not None
        ]

    @cached_property
    def facts(self) -> list[tuple[str, ...]]:
        """What it does, to compare two plans by; asked for in a worker thread first."""
        done = [file_of(self.tree, *one, shown=False) for one in self.planned]
        return [(one.action, one.path, str(one.old_path), str(one.version), str(one.replaced_version)) for one in done]

    @cached_property
    def not_undone(self) -> list[NotUndone]:
        """What stays as it is, and why."""
        reasons = dict.fromkeys(sorted(self.unknown), _STAYS["unknown"])
        for finding in self.findings:
            reason = finding.clash.reason if finding.clash is not None else _STAYS.get(finding.outcome)
            if reason is not None:
                reasons[finding.path] = reason
        return [NotUndone(path=path, reason=reason) for path, reason in reasons.items()]

    def touched(self, protected: Sequence[str]) -> list[WorkspacePath]:
        """Return the paths a person may have to allow: those of the steps, and protected ones inside moved folders."""
        drafted = {WorkspacePath(path) for phase in self.phases for path in phase.drafted}
        inside = sorted(path for path in drafted if matches_protected(path, protected))
        return list(dict.fromkeys([*(path for step in self.steps for path in step.paths), *inside]))

    def previews(self, paths: Sequence[WorkspacePath]) -> list[Preview | None]:
        """Return what tells which bytes it puts at some paths; None for those at which it puts none."""
        put = {one.path: one.then for step, one in self.planned if isinstance(step, PutFile) and one is not None}
        nodes = [put.get(str(path)) for path in paths]
        return [None if node is None else partial(_put_back, self.tree, node) for node in nodes]

    def result(self, outcome: Outcome | None, is_withheld: IsWithheld | None = None) -> UndoResult:
        """Return what it did; `outcome` is None if nothing was done. Of what is withheld no text is shown."""
        changes = [change_of(record, one) for one in self.findings for record in one.records]
        return UndoResult(
            changes=sorted(changes, key=lambda one: -one.number),
            files=self._files(is_withheld),
            conflicts=self._shown(is_withheld),
            unknown=sorted({*self.unknown, *(one.path for one in self.findings if one.outcome == "unknown")}),
            not_undone=self.not_undone,
            dry_run=False,
            number=None if outcome is None or not outcome.records else outcome.records[-1].number,
            mirror="off" if outcome is None else outcome.mirror,
            warnings=[] if outcome is None else list(outcome.warnings),
        )  # fmt: skip

    def error(self, is_withheld: IsWithheld | None = None) -> EditConflictError:
        """Return the refusal of an undo with conflicts. Of what is withheld no text is shown."""
        first = self.conflicts[0]
        more = f", and {len(self.conflicts) - 1} more" if len(self.conflicts) > 1 else ""
        return EditConflictError(
            f"{first.path} cannot be taken back: {first.reason}{more}; nothing was changed",
            path=first.path,
            suggested_action="Look at the conflicts and edit by hand, or undo with partial=True to leave them out.",
            details={
                "not_undone": [each.to_dict() for each in self.not_undone],
                "conflicts": [conflict.to_dict() for conflict in self._shown(is_withheld)],
            },
        )

    def _shown(self, is_withheld: IsWithheld | None) -> list[UndoConflict]:
        return [
            conflict.model_copy(update={"conflicts": []})
            if is_withheld is not None and is_withheld(WorkspacePath(conflict.path))
            else conflict
            for conflict in self.conflicts
        ]

    def _files(self, is_withheld: IsWithheld | None) -> list[UndoneFile]:
        return [
            file_of(
                self.tree,
                *one,
                shown=place < MOST_SHOWN_FILES
                and not (is_withheld is not None and any(map(is_withheld, one[0].paths))),
            )
            for place, one in enumerate(self.planned)
        ]


def make_plan(
    parts: Parts,
    pick: Choose,
    kind: RelationKind = "undoes",
    *,
    target: RestoreTarget | None = None,
    refused: Mapping[str, Clash] = MappingProxyType({}),
) -> UndoPlan:
    """Work out what taking changes back would do to what stands there now; call it in a worker thread.

    Args:
        parts: The workspace.
        pick: Chooses the changes.
        kind: What the new records are to them.
        target: Where to go back to, if these are all changes since then.
        refused: Paths that are left as they are, since changing them was refused.

    Raises:
        FileToolsError: Nothing can be chosen, or what stands there cannot be read.
    """
    for attempt in range(MOST_TRIES - 1):
        began = parts.journal.visible_position()
        try:
            plan = _make_plan(parts, pick, kind, target, refused)
        except FileToolsError:
            if parts.journal.position() == began:
                raise
        else:
            if not _is_overtaken(parts, plan, began):
                return plan
        time.sleep(FIRST_PAUSE_SECONDS * 2**attempt)
    return _make_plan(parts, pick, kind, target, refused)


def _is_overtaken(parts: Parts, plan: UndoPlan, began: int) -> bool:
    """Whether what a plan is about changed while it was made, or is changing: journal and disk may not fit together."""
    since = parts.journal.records(began, limit=MOST_SINCE, newest_first=True)
    touched = {path for record in since for path in (record.path, record.old_path) if path is not None}
    pairs = product(touched, {finding.path for finding in plan.findings})
    return len(since) == MOST_SINCE or any(is_within(one, other) or is_within(other, one) for one, other in pairs)


def _make_plan(
    parts: Parts, pick: Choose, kind: RelationKind, target: RestoreTarget | None, refused: Mapping[str, Clash]
) -> UndoPlan:
    history = parts.journal.history
    chosen = pick(history)
    changed, waiting, saved = split_buffered(history, chosen)
    if target is not None:
        waiting, saved = ([one for one in several if target.covers_all_of(one)] for several in (waiting, saved))
    tree, findings, unknown = _take_back(parts, changed, target)
    findings += [UndoFinding(records=(record,), path=record.path, outcome="undone") for record in saved]
    drafted, impossible = in_phases(tree)
    makers = [StepMaker(parts, tree, phase, refused) for phase in drafted]
    impossible += [path for maker in makers for path in maker.impossible]
    blocked = {path: clash for maker in makers for path, clash in maker.blocked.items()}
    blocked |= {path: _impossible(path) for path in impossible if path not in blocked}
    findings = [_settled(finding, blocked) for finding in findings]
    findings += _clashes(impossible, findings)
    numbers: dict[str, list[int]] = {}
    for finding in findings:
        if finding.outcome in _SETTLED:
            numbers.setdefault(finding.path, []).extend(record.number for record in finding.records)
    assign([step for maker in makers for step in maker.steps], numbers, kind)
    taken = {parts.workspace.key(path) for maker in makers for step in maker.steps for path in step.paths}
    more, found = plan_unsaved(parts, waiting, taken, kind)
    makers[-1].steps += more
    phases = tuple(Phase(tuple(maker.steps), maker.drafted) for maker in makers if maker.steps)
    plan = UndoPlan(findings=(*findings, *found), tree=tree, phases=phases, unknown=unknown)
    _ = plan.facts  # here, where reading is allowed
    return plan


def _take_back(
    parts: Parts, chosen: Sequence[ChangeRecord], target: RestoreTarget | None
) -> tuple[DraftTree, list[UndoFinding], tuple[str, ...]]:
    """Work out the tree without some changes, what becomes of each of them, and the paths that stay as they are."""
    tree = DraftTree(
        parts.workspace, parts.store, parts.journal.contents, parts.facts,
        walk=lambda folder: (path for path, _ in walk_tree(parts.store, folder)),
        most_bytes=parts.settings.max_write_bytes,
    )  # fmt: skip
    history = parts.journal.history
    numbers = {record.number for record in chosen}
    undoing = Undoing(tree, history, chosen, is_prose=parts.settings.is_prose)
    since = RecordFilter(since=min(numbers, default=MOST_NUMBER), moves_only=True)
    moves = [record for record in history.select(since, limit=MOST_NUMBER) if record.number not in numbers]
    undoers = history.undoers(move.number for move in moves)
    for record in sorted([*chosen, *moves], key=lambda each: each.number, reverse=True):
        if record.number in numbers:
            undoing.take_back(record)
        else:
            undoing.names.passed(record, undoers=set(undoers.get(record.number, ())) - numbers)
    undoing.finish()
    if target is None:
        return tree, undoing.findings, ()
    return tree, *completed(parts, tree, undoing.findings, target)


def _settled(finding: UndoFinding, blocked: Mapping[str, Clash]) -> UndoFinding:
    """Return what becomes of a finding if some paths cannot be changed."""
    inside = f"{finding.path}/"
    touched = next((path for path in blocked if path == finding.path or path.startswith(inside)), None)
    if touched is None or finding.outcome not in _SETTLED:
        return finding
    return structs.replace(finding, outcome="conflict", clash=blocked[touched])


def _clashes(impossible: Sequence[str], findings: Sequence[UndoFinding]) -> list[UndoFinding]:
    """Return what no record tells of and cannot be as it was all the same."""
    told = {finding.path for finding in findings if finding.outcome == "conflict"}
    return [
        UndoFinding(
            records=(),
            path=path.encode("utf-8", "backslashreplace").decode(),
            outcome="conflict",
            clash=_impossible(path),
        )
        for path in impossible
        if told.isdisjoint(within(path))
    ]


def _impossible(path: str) -> Clash:
    shown = path.encode("utf-8", "backslashreplace").decode()  # its name may be no UTF-8
    return Clash(
        code="EDIT_CONFLICT", reason=f"something stands there, or in it, that cannot go, or come back ({shown})"
    )


_ACTIONS: Final[Mapping[type[Step], str]] = {
    MoveFile: "move",
    MoveFolder: "move_directory",
    MakeFolderStep: "make_directory",
    RestoreFolder: "restore_directory",
    RemoveFolderStep: "delete_directory",
    PutMode: "set_mode",
}
MOST_SHOWN_FILES: Final = 20
"""Files whose hunks are part of a result."""
LARGEST_SHOWN_BYTES: Final = 256 * 1024


def change_of(record: ChangeRecord, finding: UndoFinding) -> UndoneChange:
    """Return a change with what became of it."""
    return UndoneChange(
        number=record.number,
        operation=record.operation.value,
        path=record.path,
        old_path=record.old_path,
        actor={name: value for name, value in structs.asdict(record.actor).items() if value is not None},
        time=record.time,
        outcome=finding.outcome,
    )


def _put_back(tree: DraftTree, node: DraftNode, _parts: Parts, _old: ShownState) -> str | bytes:
    """Return what an undo leaves at a path; a `Preview`."""
    content = _bytes_of(tree, node)
    text = text_of(content, name=".")
    return content if text is None else text


def file_of(tree: DraftTree, step: Step, drafted: Drafted | None, *, shown: bool) -> UndoneFile:
    """Return what a step does; with `shown` the hunks of a text, too."""
    now: str | None = None
    then: str | None = None
    if isinstance(step, PutLink | PutMode):
        now, then = (None if text is None else version_of(text) for text in (step.now, step.then))
    elif drafted is not None and isinstance(step, PutFile | RemoveFile):
        now, then = (None if node is None else tree.version(node) for node in (drafted.now, drafted.then))
    action = _ACTIONS.get(type(step), "delete")
    if isinstance(step, PutFile):
        # Of an open document the text is not the plan's to tell.
        action = "write" if drafted is None or now is not None else "create"
    elif isinstance(step, PutLink) and then is not None:
        action = "link"
    return UndoneFile.model_validate({
        "path": place_of(step),
        "action": action,
        "old_path": step.paths[0] if isinstance(step, MoveFile | MoveFolder) else None,
        "version": then,
        "replaced_version": now,
        "structured_patch": _hunks(tree, drafted) if shown and drafted and isinstance(step, PutFile) else [],
    })  # fmt: skip


def _hunks(tree: DraftTree, drafted: Drafted) -> list[dict[str, Any]]:
    """Return what changes in a text; nothing where it appears, goes, or cannot be shown."""
    if drafted.now is None or drafted.then is None:
        return []
    try:
        contents = [_bytes_of(tree, node) for node in (drafted.now, drafted.then)]
        if max(map(len, contents)) > LARGEST_SHOWN_BYTES:
            return []
        now, then = (text_of(content, name=drafted.path) for content in contents)
    except FileToolsError:
        return []  # the hunks only help to read the result
    return [] if now is None or then is None else [hunk.to_dict() for hunk in structured_patch(now, then)]


def _bytes_of(tree: DraftTree, node: DraftNode) -> bytes:
    """Return the bytes of a file as the plan saw it, also after it was carried out: then its version is kept."""
    try:
        return tree.contents.get(tree.version(node))
    except VersionGoneError:
        return tree.content(node)
