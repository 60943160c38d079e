"""What the shell offers at the tabulator key. It opens no root that was never opened, and says nothing if it fails.

Paths are the shell's own business, which knows how to quote them; only where they are relative to a root that the working
folder lies outside of, they come from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from filetools.cli.desk import Desk, SharedOptions
from filetools.cli.records import moment, verb_of
from filetools.errors import FileToolsError
from filetools.models.records import Operation

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade

Suggested = list[tuple[str, str]]
"""Words, each with what it stands for."""

_PLAIN: Final = re.compile(r"[\w.,@%+/-]+")
"""What needs no quotes in any shell; the rest is not offered."""
_MOST: Final = 50
_DIGITS: Final = 12


def paths(ctx: typer.Context, incomplete: str) -> Suggested:
    """Return paths of a root that the shell does not stand in."""
    desk = _desk(ctx)
    if desk.is_inside():
        return []
    folder = incomplete.rpartition("/")[0]

    async def work(files: FileToolsFacade) -> Suggested:
        page = await files.list_files(folder, limit=1000)
        return [(entry.path + ("/" if entry.type == "directory" else ""), "") for entry in page.entries]

    return _fitting(desk.peek(work), incomplete)


def versions(ctx: typer.Context, incomplete: str) -> Suggested:
    """Return the versions of the path that stands on the line already."""
    path = ctx.params.get("path")
    if not isinstance(path, str):
        return []
    desk = _desk(ctx)

    async def work(files: FileToolsFacade) -> Suggested:
        found = (await files.versions(desk.path(path), limit=_MOST)).versions
        return [
            (
                each.version.removeprefix("sha256:")[:_DIGITS],
                f"{verb_of(Operation(each.operation))} by {each.actor['id']}, {moment(each.time)}",
            )
            for each in found
            if each.kept
        ]

    return _fitting(desk.peek(work), incomplete)


def checkpoints(ctx: typer.Context, incomplete: str) -> Suggested:
    """Return the names of the checkpoints."""

    async def work(files: FileToolsFacade) -> Suggested:
        return [(each.name, moment(each.time)) for each in (await files.checkpoints()).checkpoints]

    return _fitting(_desk(ctx).peek(work), incomplete)


def actors(ctx: typer.Context, incomplete: str) -> Suggested:
    """Return who has changed something lately."""

    async def work(files: FileToolsFacade) -> Suggested:
        return [(record.actor.id, record.actor.kind) for record in await files.latest_changes(_MOST)]

    return _fitting(_desk(ctx).peek(work), incomplete)


def numbers(ctx: typer.Context, incomplete: str) -> Suggested:
    """Return the numbers of the newest changes."""

    async def work(files: FileToolsFacade) -> Suggested:
        return [
            (str(record.number), f"{record.actor.id} {verb_of(record.operation)} {record.path}")
            for record in await files.latest_changes(_MOST)
        ]

    return _fitting(_desk(ctx).peek(work), incomplete)


def runs(ctx: typer.Context, incomplete: str) -> Suggested:
    """Return the newest runs of agents."""

    async def work(files: FileToolsFacade) -> Suggested:
        found = await files.runs.list(_MOST)
        return [(run.id, f"{run.status}, {moment(run.started)}: {run.prompt or run.command}") for run in found]

    return _fitting(_desk(ctx).peek(work), incomplete)


def questions(ctx: typer.Context, incomplete: str) -> Suggested:
    """Return the requests that wait for an answer."""

    async def work(files: FileToolsFacade) -> Suggested:
        return [(request.id, f"{request.actor.id}: {request.description}") for request in await files.approvals()]

    return _fitting(_desk(ctx).peek(work), incomplete)


def sessions(ctx: typer.Context, incomplete: str) -> Suggested:
    """Return the log sessions of the project on the line."""
    from filetools.tools import session_logs

    project, logs = (ctx.params.get(name) for name in ("project", "logs"))
    try:
        found = session_logs.list_sessions(project or "", logs=logs)
    except (FileToolsError, OSError):
        return []
    return _fitting([(info.session_id, info.title) for info in found], incomplete)


def tool_names(incomplete: str) -> Suggested:
    """Return the tools that can be called."""
    from filetools.tools.registry import FILE_TOOLS  # they are many, and only this needs them

    return _fitting([(tool.name, tool.group) for tool in FILE_TOOLS], incomplete)


def _desk(ctx: typer.Context) -> Desk:
    given = {**ctx.find_root().params, **{name: value for name, value in ctx.params.items() if value is not None}}
    root, state = (given.get(name) for name in ("root", "state_dir"))
    return Desk(
        SharedOptions(
            root=None if root is None else Path(str(root)), state_dir=None if state is None else Path(str(state))
        )
    )


def _fitting(found: Iterable[tuple[str, str]] | None, incomplete: str) -> Suggested:
    known = dict(reversed([*(found or ())]))
    plain = [(word, meaning) for word, meaning in known.items() if _PLAIN.fullmatch(word)]
    return [(word, meaning) for word, meaning in reversed(plain) if word.startswith(incomplete)]
