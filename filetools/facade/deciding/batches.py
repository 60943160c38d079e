"""Calls over several files: reads that go on past failures, changes that are all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from filetools.errors import AbortedError, BatchFailedError, FileToolsError, InvalidArgumentError
from filetools.facade.deciding.outcomes import delete_result, write_result
from filetools.facade.deciding.preconditions import permit_removal
from filetools.facade.deciding.writing import decide_write, put_step
from filetools.facade.requests import MOST_FILES, WriteRequest
from filetools.facade.runner import CallRunner
from filetools.facade.steps.pipeline import Beat
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.models.files import BatchResult, ReadBatchResult, ReadItem, ReadResult
from filetools.models.records import Actor
from filetools.paths.lexical import AnyPath, plain_path
from filetools.permissions.gatekeeper import Permit

_WRITE_FIELDS = frozenset(
    {"path", "content", "expected_version", "encoding", "newline", "create_parents", "on_stale", "require_read"}
)


class Reads(Protocol):
    """What reads one file."""

    async def read_file(self, path: AnyPath, *, page: bool = False) -> ReadResult:
        """Return the file."""


async def read_multiple(files: Reads, paths: Sequence[AnyPath], beat: Beat, *, page: bool = False) -> ReadBatchResult:
    """Read files one after the other.

    Raises:
        AbortedError: `beat` said so.
        InvalidArgumentError: Too many.
    """
    _refuse_many(paths)
    items = []
    for done, path in enumerate(paths):
        beat(done, len(paths))
        try:
            items.append(ReadItem(path=plain_path(path), result=await files.read_file(path, page=page)))
        except AbortedError:
            raise
        except FileToolsError as exc:
            items.append(ReadItem(path=str(path), error={"error": exc.message, "error_code": exc.code}))
    beat(len(paths), len(paths))
    await asyncio.sleep(0)
    return ReadBatchResult(items=items, failed=sum(item.error is not None for item in items))


def write_steps(
    runner: CallRunner, items: Sequence[Mapping[str, Any]], actor: Actor, *, require_version: bool = False
) -> list[PutFile]:
    """Return a step for each item; with `require_version` none replaces a file without naming its version.

    Raises:
        InvalidArgumentError: An unknown or missing field, two items of one file, or too many.
    """
    _refuse_many(items)
    steps = []
    for item in items:
        unknown = set(item) - _WRITE_FIELDS
        if unknown or "path" not in item or "content" not in item:
            reason = f"unknown field {sorted(unknown)[0]!r}" if unknown else "path and content are needed"
            raise InvalidArgumentError(f"An item of write_multiple is wrong: {reason}")
        options = {name: value for name, value in item.items() if name != "path"}
        request = WriteRequest(**options, require_version=require_version)
        where = runner.resolve_new(item["path"])
        steps.append(put_step(where, request, actor, decide_write))
    _refuse_repeats(runner, steps)
    return steps


def delete_steps(runner: CallRunner, paths: Sequence[AnyPath], actor: Actor) -> list[RemoveFile]:
    """Return a step for each path.

    Raises:
        InvalidArgumentError: Two of one file, or too many.
    """
    _refuse_many(paths)
    permit = partial(permit_removal, runner.parts, actor, None)
    steps = [RemoveFile(runner.resolve_name(path), permit) for path in paths]
    _refuse_repeats(runner, steps)
    return steps


async def run(
    runner: CallRunner, steps: Sequence[PutFile | RemoveFile], actor: Actor, beat: Beat, allowed: Permit | None
) -> BatchResult:
    """Apply the steps together.

    Raises:
        BatchFailedError: One was refused; nothing was changed.
        AbortedError: `beat` said so; nothing was changed.
    """
    if not steps:
        return BatchResult(results=[])

    try:
        outcome = await runner.change(steps, actor, beat=beat, permits=[allowed])
    except AbortedError:
        raise
    except FileToolsError as exc:
        raise BatchFailedError(exc) from exc
    with suppress(AbortedError):  # it is done, and too late to stop it
        beat(1, 1)
    results = [
        write_result(step, outcome, index) if isinstance(step, PutFile) else delete_result(step, outcome, index)
        for index, step in enumerate(steps)
    ]
    return BatchResult(results=results, number=outcome.records[-1].number if outcome.records else None)


def _refuse_many(items: Sequence[object]) -> None:
    if len(items) > MOST_FILES:
        raise InvalidArgumentError(f"At most {MOST_FILES} files in one call, not {len(items)}")


def _refuse_repeats(runner: CallRunner, steps: Sequence[PutFile | RemoveFile]) -> None:
    seen: set[str] = set()
    for step in steps:
        key = runner.parts.workspace.key(step.path)
        if key in seen:
            raise InvalidArgumentError(f"{step.path} is named twice", path=step.path)
        seen.add(key)
    for step in steps:
        for parent in step.path.folders:
            if runner.parts.workspace.key(parent) in seen:
                raise InvalidArgumentError(f"{step.path} lies inside {parent}, which is another file", path=step.path)
