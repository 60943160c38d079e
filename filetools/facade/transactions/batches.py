"""Changes of several files, all or nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from filetools.changes.deciding.files import decide_as_asked, permit_removal
from filetools.changes.deciding.outcomes import delete_result, write_result
from filetools.changes.deciding.proposals import REFUSALS
from filetools.changes.requests import refuse_many
from filetools.changes.runner import CallRunner
from filetools.changes.steps.files import PutFile, RemoveFile
from filetools.changes.steps.pipeline import ReportProgress
from filetools.changes.steps.step import Step
from filetools.changes.writing import WriteRequest, decide_write
from filetools.errors import AbortedError, BatchFailedError, FileToolsError, InvalidArgumentError
from filetools.models.files import BatchResult
from filetools.models.records import Actor
from filetools.paths.lexical import AnyPath
from filetools.permissions.gatekeeper import Permit

_WRITE_FIELDS = frozenset(
    {"path", "content", "expected_version", "encoding", "newline", "create_parents", "on_stale", "require_read"}
)


def write_steps(
    runner: CallRunner, items: Sequence[Mapping[str, Any]], actor: Actor, *, require_version: bool = False
) -> list[PutFile]:
    """Return a step for each item; with `require_version` none replaces a file without naming its version.

    Raises:
        InvalidArgumentError: An unknown or missing field, two items of one file, or too many.
    """
    refuse_many(items)
    steps = []
    for item in items:
        unknown = set(item) - _WRITE_FIELDS
        if unknown or "path" not in item or "content" not in item:
            reason = f"unknown field {sorted(unknown)[0]!r}" if unknown else "path and content are needed"
            raise InvalidArgumentError(f"An item of write_multiple is wrong: {reason}")
        options = {name: value for name, value in item.items() if name != "path"}
        request = WriteRequest(**options, require_version=require_version)
        where = runner.resolve_new(item["path"])
        decide = partial(decide_as_asked, decide=decide_write, request=request, actor=actor)
        steps.append(PutFile(where, decide, create_parents=request.create_parents))
    refuse_repeats(runner, steps)
    return steps


def delete_steps(runner: CallRunner, paths: Sequence[AnyPath], actor: Actor) -> list[RemoveFile]:
    """Return a step for each path.

    Raises:
        InvalidArgumentError: Two of one file, or too many.
    """
    refuse_many(paths)
    permit = partial(permit_removal, runner.parts, actor, None)
    steps = [RemoveFile(runner.resolve(path, as_name=True), permit) for path in paths]
    refuse_repeats(runner, steps)
    return steps


async def run(
    runner: CallRunner,
    steps: Sequence[PutFile | RemoveFile],
    actor: Actor,
    report_progress: ReportProgress,
    authorise: Awaitable[Permit | None],
) -> BatchResult:
    """Apply the steps together, once they are authorised.

    Raises:
        BatchFailedError: One was refused; nothing was changed.
        AbortedError: `report_progress` said so; nothing was changed.
    """
    try:
        allowed = await authorise
    except REFUSALS as exc:
        raise BatchFailedError(exc) from exc
    if not steps:
        return BatchResult(results=[])
    try:
        outcome = await runner.change(steps, actor, report_progress=report_progress, permits=[allowed])
    except AbortedError:
        raise
    except FileToolsError as exc:
        raise BatchFailedError(exc) from exc
    with suppress(AbortedError):  # it is done, and too late to stop it
        report_progress(1, 1)
    results = [
        write_result(step, outcome) if isinstance(step, PutFile) else delete_result(step, outcome) for step in steps
    ]
    return BatchResult(results=results, number=outcome.records[-1].number if outcome.records else None)


def refuse_repeats(runner: CallRunner, steps: Sequence[Step]) -> None:
    """Refuse steps that name one file twice, or a path inside another one's file.

    Raises:
        InvalidArgumentError
    """
    key = runner.parts.workspace.key
    paths = [path for step in steps for path in step.paths]
    seen: set[str] = set()
    for path in paths:
        if key(path) in seen:
            raise InvalidArgumentError(f"{path} is named twice; make all its changes in one place", path=path)
        seen.add(key(path))
    for path in paths:
        for parent in path.folders:
            if key(parent) in seen:
                raise InvalidArgumentError(f"{path} lies inside {parent}, which is another file", path=path)
