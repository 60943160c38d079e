"""Parameters shared by several commands, and their shell completion."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

import click
from click.shell_completion import CompletionItem

from filetools.cli.records import VERBS, moment
from filetools.cli.runner import CommandRunner, SharedOptions
from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Operation

Suggested = list[tuple[str, str]]
"""Words, each with its description."""
Items = list[CompletionItem]

_PLAIN: Final = re.compile(r"[\w.,@%+/-]+")
"""Words that need no quotes in any shell; others are not offered."""
_MOST: Final = 50
_DIGITS: Final = 12


def versions(ctx: click.Context, _: click.Parameter, incomplete: str) -> Items:
    """Return the versions of the path on the command line."""
    path = ctx.params.get("path")
    if not isinstance(path, str):
        return []
    runner = _runner(ctx)

    async def work(files: FileToolsFacade) -> Suggested:
        found = (await files.versions(runner.path(path), limit=_MOST)).versions
        return [
            (
                each.version.removeprefix("sha256:")[:_DIGITS],
                f"{VERBS[Operation(each.operation)]} by {each.actor['id']}, {moment(each.time)}",
            )
            for each in found
            if each.kept
        ]

    return _fitting(runner.peek(work), incomplete)


def _offering(look: Callable[[FileToolsFacade], Awaitable[Suggested]]) -> Callable[..., Items]:
    def completed(ctx: click.Context, _: click.Parameter, incomplete: str) -> Items:
        return _fitting(_runner(ctx).peek(look), incomplete)

    return completed


@_offering
async def checkpoints(files: FileToolsFacade) -> Suggested:
    """Return the names of the checkpoints."""
    return [(each.name, moment(each.time)) for each in (await files.checkpoints()).checkpoints]


@_offering
async def actors(files: FileToolsFacade) -> Suggested:
    """Return the actors of the newest changes."""
    return [(record.actor.id, record.actor.kind) for record in await files.latest_changes(_MOST)]


@_offering
async def numbers(files: FileToolsFacade) -> Suggested:
    """Return the numbers of the newest changes."""
    return [
        (str(record.number), f"{record.actor.id} {VERBS[record.operation]} {record.path}")
        for record in await files.latest_changes(_MOST)
    ]


@_offering
async def runs(files: FileToolsFacade) -> Suggested:
    """Return the newest runs of agents."""
    found = await files.runs.list(_MOST)
    return [(run.id, f"{run.status}, {moment(run.started)}: {run.prompt or run.command}") for run in found]


@_offering
async def questions(files: FileToolsFacade) -> Suggested:
    """Return the open approval requests."""
    return [(request.id, f"{request.actor.id}: {request.description}") for request in await files.approvals()]


def tool_names(_: click.Context, __: click.Parameter, incomplete: str) -> Items:
    """Return the tools that can be called."""
    from filetools.tools.registry import FILE_TOOLS  # slow to import, and only needed here

    return _fitting([(tool.name, tool.group) for tool in FILE_TOOLS], incomplete)


def _runner(ctx: click.Context) -> CommandRunner:
    given = {**ctx.find_root().params, **{name: value for name, value in ctx.params.items() if value is not None}}
    return CommandRunner(SharedOptions(root=given.get("root"), state_dir=given.get("state_dir")))


def _fitting(found: Iterable[tuple[str, str]] | None, incomplete: str) -> Items:
    known = dict(reversed([*(found or ())]))
    return [
        CompletionItem(word, help=" ".join(meaning.split()))
        for word, meaning in reversed(known.items())
        if _PLAIN.fullmatch(word) and word.startswith(incomplete)
    ]


ENTRY: Final = click.Path(readable=False)
"""A path of the workspace: the call reports an entry that cannot be read."""
path_argument = click.argument("path", type=ENTRY, help="File, relative to the working folder.")
expected_version_option = click.option(
    "--expected-version",
    metavar="VERSION",
    shell_complete=versions,
    help="Refuse with exit code 3 unless the file is at this version.",
)
force_option = click.option("-f", "--force", is_flag=True, help="Replace a file at the destination.")
run_option = click.option(
    "--run", metavar="ID", shell_complete=runs, help="Compare with the checkpoint before this run."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Only report what would happen.")


_AGO: Final = re.compile(r"(\d+)\s*([smhd])(?:\s+ago)?")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
since_option = click.option("--since", metavar="WHEN", help="A number in the log, 12:30, 2026-11-20, or 10m ago.")
until_option = click.option("--until", metavar="WHEN", help="A number in the log, 12:30, 2026-11-20, or 10m ago.")


def time_or_number(given: str | None) -> int | datetime | None:
    """Parse a number in the log or a time.

    Raises:
        InvalidArgumentError: It is neither.
    """
    if given is None or given.isdecimal():
        return None if given is None else int(given)
    now = datetime.now().astimezone()
    try:
        if ago := _AGO.fullmatch(given):
            return now - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
        if _CLOCK.fullmatch(given):
            given = f"{now:%Y-%m-%d} {given.zfill(5)}"
        return datetime.fromisoformat(given).astimezone()
    except (ValueError, OverflowError) as exc:
        raise InvalidArgumentError(
            f"{given!r} is neither a number in the log nor a time such as 12:30, 2026-11-20 or 10m ago"
        ) from exc


async def is_folder(files: FileToolsFacade, path: str) -> bool:
    """Return True if a path is a folder."""
    try:
        return (await files.file_info(path)).type == "directory"
    except FileToolsError:
        return False  # the next call reports the error
