"""How the plan of an undo is carried out: one transaction after the other, read-only folders opened meanwhile."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec.structs import replace

from filetools.errors import FileToolsError
from filetools.facade.parts import Parts
from filetools.facade.preconditions import record_steps
from filetools.facade.runner import CallRunner, is_late
from filetools.facade.steps.folders import MoveFolder, RemoveFolderStep
from filetools.facade.steps.put_back import RestoreFolder, opened
from filetools.facade.steps.step import Step
from filetools.facade.steps.texts import PutMode
from filetools.facade.undoing import UndoPlan, make_plan
from filetools.facade.way import Outcome
from filetools.journal.changes import RelationKind
from filetools.journal.history import RecordFilter
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath

_log = logging.getLogger(__name__)
_REVERSE: Final[dict[RelationKind, RelationKind]] = {"undoes": "redoes", "redoes": "undoes"}


async def carry_out(runner: CallRunner, actor: Actor, plan: UndoPlan, kind: RelationKind) -> Outcome:
    """Make a plan true. If a later transaction of it fails, the former ones are taken back.

    Args:
        runner: Leads each transaction through its stages.
        actor: Who goes back.
        plan: What to do; it has steps.
        kind: What the new records are to those that are taken back.

    Raises:
        FileToolsError: A step refused or failed; nothing was changed, or what was has been taken back.
        UnsavedQuestion: A person must decide first; as above.
    """
    if len(plan.phases) > 1 and actor.call is None:
        # What takes all of it back is chosen by the call.
        actor = replace(actor, call=f"back-{secrets.token_hex(6)}")
    work = asyncio.ensure_future(_carry_out(runner, actor, plan, kind))
    try:
        # One transaction knows what to do when the caller is cancelled; between two nobody leaves.
        return await (work if len(plan.phases) == 1 else asyncio.shield(work))
    except asyncio.CancelledError:
        await _finished(work)
        if not work.cancelled() and work.exception() is None and is_late():
            return work.result()
        raise


async def _finished(work: asyncio.Task[Outcome]) -> None:
    """Wait until work is done, however often the waiting task is cancelled."""
    while not work.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([work])


async def _carry_out(runner: CallRunner, actor: Actor, plan: UndoPlan, kind: RelationKind) -> Outcome:
    parts, outcomes = runner.parts, list[Outcome]()
    folders = await parts.crew.run(partial(_open_folders, parts, plan.steps))
    try:
        for phase in plan.phases:
            happened = partial(record_steps, parts, actor, phase.steps)
            outcomes.append(await runner.change(phase.steps, actor, happened=happened))
    except BaseException:
        if outcomes:
            await _take_back(runner, actor, outcomes, kind)
        await parts.crew.run(partial(_close_folders, parts, folders))
        raise
    await runner.afterwards(partial(_close_folders, parts, _as_left(folders, plan.steps)))
    return Outcome(
        records=tuple(record for one in outcomes for record in one.records),
        changes=tuple(change for one in outcomes for change in one.changes),
        mirror=outcomes[-1].mirror,
        warnings=tuple(warning for one in outcomes for warning in one.warnings),
    )


async def _take_back(runner: CallRunner, actor: Actor, outcomes: Sequence[Outcome], kind: RelationKind) -> None:
    """Take back the transactions that were made before one that failed."""
    made = tuple(record.number for one in outcomes for record in one.records if record.actor == actor)
    try:
        plan = await runner.parts.crew.run(
            lambda: make_plan(
                runner.parts,
                lambda history: history.select(RecordFilter(numbers=made), limit=len(made)),
                _REVERSE[kind],
            )
        )
        for phase in plan.phases:
            await runner.change(phase.steps, actor, happened=partial(record_steps, runner.parts, actor, phase.steps))
    except FileToolsError as exc:
        _log.error("an undo that failed half way could not be taken back: %s", exc)


def _open_folders(parts: Parts, steps: Sequence[Step]) -> dict[str, int]:
    """Give their owner all rights on the read-only folders in which names will change; returns the modes they had."""
    modes: dict[str, int] = {}
    for folder in sorted({folder for step in steps for folder in _folders_of(step)}):
        with suppress(FileToolsError):  # another user's: the step says what is the matter
            stat = parts.store.stat(folder)
            if stat is not None and stat.type == "directory" and stat.mode != opened(stat.mode):
                parts.store.set_directory_mode(folder, opened(stat.mode))
                modes[folder] = stat.mode
    return modes


def _folders_of(step: Step) -> Iterator[WorkspacePath]:
    paths = step.paths[:1] if isinstance(step, RestoreFolder) else step.paths
    yield from (path.parent for path in paths if not path.parent.is_root)
    if isinstance(step, MoveFolder) or (isinstance(step, RemoveFolderStep) and step.is_recursive):
        yield step.paths[0]  # its own entry for the folder above changes


def _as_left(modes: dict[str, int], steps: Sequence[Step]) -> dict[str, int]:
    """Return the modes that folders have yet to get after all steps, where they are then."""
    moved = {str(step.paths[0]): str(step.paths[1]) for step in steps if isinstance(step, MoveFolder)}
    given = {str(step.paths[0]) for step in steps if isinstance(step, PutMode)}
    left = {moved.get(path, path): mode for path, mode in modes.items()}
    return {path: mode for path, mode in left.items() if path not in given}


def _close_folders(parts: Parts, modes: dict[str, int]) -> None:
    for path in sorted(modes, reverse=True):
        with suppress(FileToolsError):  # gone with the steps
            parts.store.set_directory_mode(WorkspacePath(path), modes[path])
