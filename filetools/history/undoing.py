"""Plans an undo in memory, before any turn, and applies it, all or nothing.

In their turn the steps check that the tree is as it was planned for; otherwise the undo is planned again. A plan has one
transaction, or two; read-only folders are writable while they are applied.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import Final

from msgspec import Struct, structs

from filetools.changes.parts import Parts
from filetools.changes.runner import CallRunner, is_late
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.changes.steps.pipeline import Outcome
from filetools.changes.steps.put_back import PutLink, PutMode, RestoreFolder, opened
from filetools.changes.steps.step import Step
from filetools.errors import EditConflictError, FileToolsError
from filetools.history.checkpoints import RestoreTarget, completed
from filetools.history.draft_tree import Drafted, DraftTree, within
from filetools.history.undo import SETTLED, UndoFinding, Undoing
from filetools.history.undo_steps import (
    StepMaker,
    in_phases,
    place_of,
    plan_unsaved,
    possible,
    split_buffered,
    with_blocked,
)
from filetools.journal.records import History, RecordFilter, Relation, RelationKind
from filetools.models.history import UndoConflict, UndoneChange, UndoneFile, UndoResult
from filetools.models.records import Actor, ChangeRecord
from filetools.paths.protected import matches_protected
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.permissions.gatekeeper import Permit
from filetools.writer.turn_calls import FIRST_PAUSE_SECONDS, MOST_TRIES

Choose = Callable[[History], Iterable[list[ChangeRecord]]]
"""Yields records to undo, newest first, and others in case that undoing these changes nothing; at least one list."""
IsWithheld = Callable[[WorkspacePath], bool]

_log = logging.getLogger(__name__)

_REVERSE: Final[dict[RelationKind, RelationKind]] = {"undoes": "redoes", "redoes": "undoes"}
MOST_PASSED_OVER: Final = 100
"""Calls without effect that an undo passes over: beyond these it would take back what nobody has in mind any more."""
MOST_SINCE: Final = 100
"""If this many records are written during planning, they are not examined: the undo is planned again."""


class UndoPlan(Struct, frozen=True):
    """A planned undo. Lives for one try."""

    findings: Sequence[UndoFinding]
    changed: tuple[str, ...]
    """All paths that change, including those that move with their folder."""
    phases: tuple[tuple[Step, ...], ...]
    """The steps of each transaction."""
    files: tuple[UndoneFile, ...]
    """The result of each step."""
    unread: Sequence[str]
    """Paths that a look at the whole tree could not read."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all transactions."""
        return tuple(chain.from_iterable(self.phases))

    @property
    def deleted(self) -> list[WorkspacePath]:
        """Paths of the files and links that it deletes, and of folders that it deletes with all in them."""
        return [
            step.paths[0]
            for step in self.steps
            if isinstance(step, RemoveFile)
            or (isinstance(step, RemoveFolderStep) and step.is_recursive)
            or (isinstance(step, PutLink) and step.then is None)
        ]

    @property
    def is_whole(self) -> bool:
        """True if no change is left out because of a conflict."""
        return not any(isinstance(finding.outcome, FileToolsError) for finding in self.findings)

    def _conflicts(self, is_withheld: IsWithheld, *, applied: bool) -> list[UndoConflict]:
        """Return the conflicts: each path once for each reason. With `applied` it is the path after the undo, else before."""
        found: dict[tuple[str, str, str], UndoConflict] = {}
        for finding in self.findings:
            path, error = finding.places[0 if applied else -1], finding.outcome
            if not isinstance(error, FileToolsError):
                continue
            sources = {*finding.places, *(record.path for record in finding.records)}
            is_hidden = any(is_withheld(WorkspacePath(each)) for each in sources)
            places = [] if is_hidden else error.details.get("conflicts", [])
            conflict = UndoConflict(path=path, code=error.code, reason=error.message, numbers=[], conflicts=places)
            numbers = [record.number for record in finding.records]
            found.setdefault((path, error.code, error.message), conflict).numbers.extend(numbers)
        return list(found.values())

    def touched(self, protected: Sequence[str]) -> list[WorkspacePath]:
        """Return the paths that may need an approval: those of the steps, and protected ones inside moved folders."""
        inside = sorted(path for path in map(WorkspacePath, self.changed) if matches_protected(path, protected))
        return list(dict.fromkeys([*(path for step in self.steps for path in step.paths), *inside]))

    def result(self, outcome: Outcome | None, is_withheld: IsWithheld, *, dry_run: bool = False) -> UndoResult:
        """Return the result of the call.

        Args:
            outcome: None if nothing was changed.
            is_withheld: True for paths whose text must not be shown.
            dry_run: True if nothing was meant to be changed.
        """
        # The deletion of a folder has a finding for each of its files. If one is a conflict, so is the deletion.
        changes = {
            record.number: UndoneChange(
                number=record.number, operation=record.operation.value, path=record.path, old_path=record.old_path,
                actor=record.actor.to_dict(), time=record.time,
                outcome="conflict" if isinstance(one.outcome, FileToolsError) else one.outcome,
            )
            for one in sorted(self.findings, key=lambda each: isinstance(each.outcome, FileToolsError))
            for record in one.records
        }  # fmt: skip
        return UndoResult(
            changes=[changes[number] for number in sorted(changes, reverse=True)],
            files=list(self.files),
            conflicts=self._conflicts(is_withheld, applied=outcome is not None),
            unknown=sorted({one.path for one in self.findings if one.outcome == "unknown"}),
            unread=list(self.unread),
            dry_run=dry_run,
            number=None if outcome is None or not outcome.records else outcome.records[-1].number,
            mirror="off" if outcome is None else outcome.mirror,
            warnings=[] if outcome is None else list(outcome.warnings),
        )  # fmt: skip

    def error(self, is_withheld: IsWithheld) -> EditConflictError:
        """Return the error for an undo with conflicts."""
        conflicts = self._conflicts(is_withheld, applied=False)
        first = conflicts[0]
        more = f", and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
        return EditConflictError(
            f"{first.path} cannot be taken back: {first.reason}{more}; nothing was changed",
            path=first.path,
            suggested_action="Look at the conflicts and edit by hand, or undo with partial=True to leave them out.",
            details={
                "not_undone": [
                    {"path": each.path, "reason": each.reason} for each in conflicts
                ],  # not cut with the texts
                "conflicts": [conflict.to_dict() for conflict in conflicts],
            },
        )


def make_plan(
    parts: Parts,
    pick: Choose,
    kind: RelationKind = "undoes",
    *,
    target: RestoreTarget | None = None,
    refused: Mapping[str, FileToolsError],
) -> UndoPlan:
    """Plan an undo on the current tree. Call it in a worker thread.

    Args:
        parts: The workspace.
        pick: Selects the records.
        kind: Relation of the new records to them.
        target: The checkpoint to restore, if these are all records since then.
        refused: Paths that stay as they are because their change was refused, with the reason.

    Raises:
        FileToolsError: The records cannot be selected, or a current file cannot be read.
    """

    def make() -> UndoPlan:
        passed: Sequence[UndoFinding] = ()
        for chosen in islice(pick(parts.journal.history), MOST_PASSED_OVER + 1):
            plan = _plan(parts, kind, target, refused, chosen, passed)
            if plan.steps or any(finding.outcome not in SETTLED for finding in plan.findings):
                break
            passed = plan.findings  # the undo counts them as undone, too
        return plan

    for attempt in range(MOST_TRIES - 1):
        began = parts.journal.positions().visible
        try:
            plan = make()
        except FileToolsError:
            if parts.journal.positions().newest == began:
                raise
        else:
            if not _is_overtaken(parts, plan, began):
                return plan
        time.sleep(FIRST_PAUSE_SECONDS * 2**attempt)
    return make()


def _is_overtaken(parts: Parts, plan: UndoPlan, began: int) -> bool:
    """True if paths of a plan were changed during planning, so that the journal and the disk may not have matched."""
    since = parts.journal.records(began, limit=MOST_SINCE, newest_first=True)
    touched = {path for record in since for path in (record.path, record.old_path) if path is not None}
    planned = {path for one in plan.findings for path in (*one.places, *(record.path for record in one.records))}
    is_touched = any(
        not one.isdisjoint(chain.from_iterable(map(within, other)))
        for one, other in ((touched, planned), (planned, touched))
    )
    return len(since) == MOST_SINCE or is_touched


def _plan(
    parts: Parts,
    kind: RelationKind,
    target: RestoreTarget | None,
    refused: Mapping[str, FileToolsError],
    chosen: Sequence[ChangeRecord],
    passed: Sequence[UndoFinding],
) -> UndoPlan:
    history = parts.journal.history
    changed, waiting, saved = split_buffered(history, chosen)
    tree = DraftTree(parts)
    findings = Undoing(tree, history, changed, is_prose=parts.settings.is_prose).invert()
    closed: Mapping[str, FileToolsError] = {}
    if target is not None:
        findings, closed = completed(parts, tree, findings, target)
        waiting, saved = (
            [one for one in several if target.covers(one.path, one.old_path)] for several in (waiting, saved)
        )
    findings += [UndoFinding(records=(record,), path=record.path, outcome="undone") for record in saved]
    drafted, blocked = possible(parts, tree, {**closed, **refused})
    makers = [StepMaker(parts, tree, phase) for phase in in_phases(tree, drafted)]
    for maker in makers:
        blocked |= maker.blocked
    findings = with_blocked(findings, blocked)
    taken = {parts.workspace.key(path) for maker in makers for step in maker.steps for path in step.paths}
    more, found = plan_unsaved(parts, waiting, taken)
    makers[-1].steps += more
    findings += [*found, *passed]
    planned = [(step, maker.drafted.get(place_of(step))) for maker in makers for step in maker.steps]
    _assign([step for step, _ in planned], findings, kind)
    return UndoPlan(
        findings=findings,
        changed=tuple(path for maker in makers for path in maker.drafted),
        phases=tuple(tuple(maker.steps) for maker in makers if maker.steps),
        files=tuple(_file_of(tree, step, drafted) for step, drafted in planned),
        unread=() if target is None else target.seen.unread,
    )


def _assign(steps: Sequence[Step], findings: Sequence[UndoFinding], kind: RelationKind) -> None:
    """Give each step the numbers of the records that it undoes, by their paths.

    The first step also gets the records that need no step. A step without records, such as the deletion of a moved file's
    old name, gets the lowest number, so that it counts as part of the undo.
    """
    left: dict[str, list[int]] = {}
    for finding in findings:
        if finding.outcome in SETTLED:
            left.setdefault(finding.path, []).extend(record.number for record in finding.records)
    said = [{number for path in step.paths for number in left.pop(str(path), ())} for step in steps]
    if steps:
        said[0].update(*left.values())
    first = min((number for several in said for number in several), default=0)
    for step, several in zip(steps, said, strict=True):
        step.undone = [Relation(kind=kind, number=number) for number in sorted(several or {first})]


_ACTIONS: Final[Mapping[type[Step], str]] = {
    MoveFile: "move",
    MoveFolder: "move_directory",
    MakeFolderStep: "make_directory",
    RestoreFolder: "restore_directory",
    RemoveFolderStep: "delete_directory",
    PutMode: "set_mode",
}


def _file_of(tree: DraftTree, step: Step, drafted: Drafted | None) -> UndoneFile:
    """Return the result of a step."""
    # Folders have no versions, and those of moved files need not be known.
    is_text = isinstance(step, PutFile | RemoveFile | PutLink)
    nodes = (drafted.now, drafted.then) if drafted is not None and is_text else (None, None)
    now, then = (None if node is None else tree.version(node) for node in nodes)
    action = _ACTIONS.get(type(step), "delete")
    if isinstance(step, PutFile):
        # For a step of an open document nothing is drafted.
        action = "write" if drafted is None or now is not None else "create"
    elif isinstance(step, PutLink) and then is not None:
        action = "link"
    return UndoneFile.model_validate({
        "path": place_of(step),
        "action": action,
        "old_path": step.paths[0] if isinstance(step, MoveFile | MoveFolder) else None,
        "version": then,
        "replaced_version": now,
    })  # fmt: skip


async def carry_out(
    runner: CallRunner, actor: Actor, plan: UndoPlan, kind: RelationKind, allowed: Permit | None
) -> Outcome:
    """Apply a plan. If its second transaction fails, the first one is undone.

    Args:
        runner: Applies each transaction.
        actor: The actor of the new records.
        plan: The plan; it has steps.
        kind: Relation of the new records to those that they undo.
        allowed: What people have allowed.

    Raises:
        FileToolsError: A step refused or failed; nothing was changed, or all changes are undone.
        UnsavedQuestion: A person must decide first; as above.
    """
    if len(plan.phases) > 1 and actor.call is None:
        # Both transactions are undone together because they belong to one call.
        actor = structs.replace(actor, call=f"back-{secrets.token_hex(6)}")
    work = asyncio.ensure_future(_carry_out(runner, actor, plan, kind, allowed))
    try:
        # A single transaction handles the caller's cancellation itself. Two must not be separated by it.
        return await (work if len(plan.phases) == 1 else asyncio.shield(work))
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):  # the caller may be cancelled more than once
                await asyncio.wait([work])
        if not work.cancelled() and work.exception() is None and is_late():
            return work.result()
        raise


async def _carry_out(
    runner: CallRunner, actor: Actor, plan: UndoPlan, kind: RelationKind, allowed: Permit | None
) -> Outcome:
    parts, outcomes = runner.parts, list[Outcome]()
    folders = await parts.workers.run(partial(_open_folders, parts, plan.steps))
    try:
        for phase in plan.phases:
            # The approval is checked before anything is changed.
            outcomes.append(await runner.change(phase, actor, permits=[] if outcomes else [allowed]))
    except BaseException:
        await _set_back(runner, actor, outcomes, kind, folders)
        raise
    await runner.afterwards(partial(_close_folders, parts, folders, plan.steps))
    return Outcome(
        records=tuple(record for one in outcomes for record in one.records),
        mirror=outcomes[-1].mirror,
        warnings=tuple(warning for one in outcomes for warning in one.warnings),
    )


async def _set_back(
    runner: CallRunner, actor: Actor, outcomes: Sequence[Outcome], kind: RelationKind, folders: dict[str, int]
) -> None:
    """Undo the transactions that were applied before one that failed, and close the folders."""
    parts = runner.parts
    made = tuple(record.number for one in outcomes for record in one.records if record.actor == actor)
    wanted = RecordFilter(numbers=made)
    make = partial(
        make_plan, parts, lambda history: [history.select(wanted, limit=len(made))], _REVERSE[kind], refused={}
    )
    try:
        for phase in (await parts.workers.run(make)).phases if made else ():
            await runner.change(phase, actor)
    except FileToolsError as exc:
        _log.error("the first half of a failed undo could not be undone: %s", exc)
    await parts.workers.run(partial(_close_folders, parts, folders))


def _open_folders(parts: Parts, steps: Sequence[Step]) -> dict[str, int]:
    """Give the owner all rights on the folders whose entries will change; returns the previous modes."""
    paths = {path for step in steps for path in (step.paths[:1] if isinstance(step, RestoreFolder) else step.paths)}
    # The entry ".." of a folder that moves changes.
    moving = {
        step.path
        for step in steps
        if isinstance(step, MoveFolder) or (isinstance(step, RemoveFolderStep) and step.is_recursive)
    }
    modes: dict[str, int] = {}
    for folder in sorted({path.parent for path in paths} - {ROOT} | moving):
        with suppress(FileToolsError):  # it belongs to another user; the step reports the error
            stat = parts.store.stat(folder)
            if stat is not None and stat.type == "directory" and stat.mode != opened(stat.mode):
                parts.store.set_mode(folder, opened(stat.mode), directory=True)
                modes[folder] = stat.mode
    return modes


def _close_folders(parts: Parts, modes: dict[str, int], steps: Sequence[Step] = ()) -> None:
    """Set the previous modes, except where the steps have set others, at the paths that the steps gave to the folders."""
    moved = {str(step.paths[0]): step.paths[1] for step in steps if isinstance(step, MoveFolder)}
    given = {step.path for step in steps if isinstance(step, PutMode)}
    for path in sorted(modes, reverse=True):
        folder = moved.get(path, WorkspacePath(path))
        with suppress(FileToolsError):  # the steps have removed it
            if folder not in given:
                parts.store.set_mode(folder, modes[path], directory=True)
