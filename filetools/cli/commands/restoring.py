"""Commands that keep and restore states: `checkpoint`, `checkpoints`, `undo`, `redo`, `restore`."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from itertools import chain, count
from typing import Final

import click
from rich.filesize import decimal

import filetools.models as models
from filetools.cli.command import command
from filetools.cli.parameters import ENTRY, dry_run_option, since_option, time_or_number, until_option
from filetools.cli.records import moment, print_unread
from filetools.cli.runner import CHANGING, READING, CommandRunner
from filetools.cli.terminal import (
    CONFLICT,
    STDERR,
    amount,
    print_note,
    print_row,
    print_table,
    printable,
    styled,
)
from filetools.errors import EditConflictError, InvalidArgumentError, PathNotFoundError
from filetools.facade.facade import FileToolsFacade
from filetools.models.history import CheckpointResult, CheckpointsResult, UndoneFile, UndoResult


@command(
    "checkpoint",
    CHANGING,
    examples=(
        "filetools checkpoint",
        "filetools checkpoint before-refactoring",
        "filetools checkpoint --delete old",
    ),
)
@click.argument(
    "name",
    required=False,
    help="Name of the checkpoint; by default date and time.",
)
@click.option("--replace", is_flag=True, help="Replace a checkpoint of that name.")
@click.option("--delete", is_flag=True, help="Delete the checkpoint of that name.")
async def checkpoint(
    runner: CommandRunner, files: FileToolsFacade, name: str | None, *, replace: bool, delete: bool
) -> None:
    """Save the state of the whole tree, to restore it later.

    It contains all files that ignore rules do not exclude, up to 16 MiB each. What changes after a checkpoint is kept,
    regardless of limits, until the checkpoint is deleted.
    """
    if name is None and (replace or delete):
        raise click.BadParameter("--replace and --delete go with a name")

    if name is not None and delete:
        result = await files.delete_checkpoint(name)
    else:
        result = await files.checkpoint(await _free_name(files) if name is None else name, replace=replace)
    runner.show(result, lambda result: _show_checkpoint(result, "deleted" if delete else "made"))


@command("checkpoints", READING, examples=("filetools checkpoints", "filetools checkpoints --json"))
async def checkpoints(runner: CommandRunner, files: FileToolsFacade) -> None:
    """List the checkpoints, oldest first, with time and size."""
    runner.show(await files.checkpoints(), _show_checkpoints)


async def _free_name(files: FileToolsFacade) -> str:
    """Return an unused checkpoint name from the current date and time."""
    now, taken = time.strftime("%Y-%m-%d %H:%M:%S"), {each.name for each in (await files.checkpoints()).checkpoints}
    return next(name for name in chain((now,), (f"{now} ({number})" for number in count(2))) if name not in taken)


def _show_checkpoint(result: CheckpointResult, verb: str) -> None:
    print_row(verb, result.name, detail=_held(result))
    for path in result.by_hash_alone:
        print_row("not kept", path, detail="too large: it cannot be restored")
    print_unread(result.unread)


def _show_checkpoints(result: CheckpointsResult) -> None:
    if not result.checkpoints:
        print_note("There are no checkpoints; 'filetools checkpoint' makes one.")
        return
    rows = (
        (moment(each.time), styled((printable(each.name), "dim" if each.automatic else "")), _held(each))
        for each in result.checkpoints
    )
    print_table(rows, "", "", "")


def _held(result: CheckpointResult) -> str:
    """Return the number and total size of a checkpoint's files."""
    return f"{amount(result.files, 'file')}, {decimal(result.bytes)}"


_VERBS: Final = {
    "write": "modified",
    "create": "created",
    "delete": "deleted",
    "move": "moved",
    "move_directory": "moved",
    "make_directory": "made",
    "delete_directory": "removed",
    "restore_directory": "restored",
    "set_mode": "mode",
    "link": "linked",
}
_FOLDERS: Final = ("move_directory", "make_directory", "delete_directory", "restore_directory", "set_mode")

_OTHERS: Final = " among your changes; --of NAME undoes changes of another actor, such as 'external'"
partial_option = click.option("--partial", is_flag=True, help="Undo what is possible, and list the rest.")


@command(
    "undo",
    CHANGING,
    examples=(
        "filetools undo",
        "filetools undo --of alice --dry-run",
        "filetools undo --change 17 --change 18",
        "filetools undo --of '*' --since 10m src",
        "filetools undo --session s1 --partial",
        "filetools undo --run run-1a208eb102b5ff5",
    ),
    needs_state=True,
)
@click.argument("path", required=False, type=ENTRY, help="Only changes of this file or folder.")
@click.option(
    "--change",
    "number",
    type=int,
    multiple=True,
    help="Number of a change in the log; repeatable.",
)
@click.option(
    "--of",
    metavar="NAME",
    help="Undo the last change of this actor, or with --since, --session or PATH all of its changes; '*' means all actors.",
)
@click.option("--call", metavar="ID", help="The changes of this call.")
@click.option("--session", metavar="ID", help="The changes of this session.")
@click.option("--run", metavar="ID", help="All changes of this run.")
@since_option
@until_option
@partial_option
@dry_run_option
async def undo(
    runner: CommandRunner,
    files: FileToolsFacade,
    path: str | None,
    *,
    number: tuple[int, ...],
    of: str | None,
    call: str | None,
    session: str | None,
    run: str | None,
    since: str | None,
    until: str | None,
    partial: bool,
    dry_run: bool,
) -> None:
    """Undo changes, all or nothing.

    By default it undoes your last change, with --of that of another actor. Later changes by others stay: they are merged
    with the undo, and an overlap is a conflict (exit code 3), never an overwrite.
    """
    others = (path, number, of, call, session, since, until)
    if run is not None and any(others):
        raise click.BadParameter("--run excludes other selections: a run is undone as a whole")
    start, end = time_or_number(since), time_or_number(until)

    undone = files.undo(
        call=call, session=session, since=start, until=end, actor=of, numbers=number or None, run=run,
        path=None if path is None else runner.path(path), dry_run=dry_run, partial=partial,
    )  # fmt: skip
    try:
        await _go_back(runner, undone, "undo", "" if run is not None or any(others) else _OTHERS)
    except PathNotFoundError as error:
        if path is not None and path.isdecimal():
            raise InvalidArgumentError(
                f"No file exists or existed at {path!r}", suggested_action=f"Did you mean --change {path}?"
            ) from error
        raise


@command("redo", CHANGING, examples=("filetools redo", "filetools redo --dry-run"), needs_state=True)
@partial_option
@dry_run_option
async def redo(runner: CommandRunner, files: FileToolsFacade, *, partial: bool, dry_run: bool) -> None:
    """Revert your last undo or restore."""
    await _go_back(runner, files.redo(dry_run=dry_run, partial=partial), "redo")


@command(
    "restore",
    CHANGING,
    examples=("filetools restore before-refactoring --dry-run", "filetools restore before-refactoring src"),
    needs_state=True,
)
@click.argument("name", help="Name of the checkpoint.")
@click.argument("path", required=False, type=ENTRY, help="Only this file or folder.")
@partial_option
@dry_run_option
async def restore(
    runner: CommandRunner, files: FileToolsFacade, name: str, path: str | None, *, partial: bool, dry_run: bool
) -> None:
    """Restore the tree, or a part of it, from a checkpoint.

    Bytes, modes, links and folders become what they were, no matter who changed them. Entries that were not in the
    checkpoint and were not created since are listed as unknown and stay (exit code 3).
    """
    where = None if path is None else runner.path(path)
    await _go_back(runner, files.restore(name, where, dry_run=dry_run, partial=partial), "restore")


async def _go_back(runner: CommandRunner, work: Awaitable[UndoResult], verb: str, others: str = "") -> None:
    try:
        result = await work
    except EditConflictError as error:
        # An overlap with unsaved text has places, but no path for each.
        if not runner.options.as_json and all("path" in each for each in error.details.get("conflicts", ())):
            _show_conflicts([models.UndoConflict.model_validate(each) for each in error.details.get("conflicts", ())])
        raise
    if result.conflicts or result.unknown:
        runner.note_failure(CONFLICT)
    runner.show(result, lambda result: _show(result, verb, others))


def _show(result: UndoResult, verb: str, others: str) -> None:
    for file in result.files:
        print_row(_VERBS[file.action], file.path, file.old_path, is_folder=file.action in _FOLDERS)
    for path in result.unknown:
        print_row("unknown", path, detail="its earlier state is not recorded; it stays")
    _show_conflicts(result.conflicts)
    print_unread(result.unread)
    print_note(_summary(result, verb, others))


def _show_conflicts(conflicts: list[models.UndoConflict]) -> None:
    for conflict in conflicts:
        numbers = ", ".join(str(number) for number in conflict.numbers)
        STDERR.print(f"conflict  {printable(conflict.path)}  {printable(conflict.reason)} (change {numbers})")
        for place in conflict.conflicts:
            for mark, side in (("now   ", "current"), ("before", "yours")):
                for line in str(place[side]).splitlines():
                    STDERR.print(f"  {mark}  {printable(line)}", style="dim")


def _summary(result: UndoResult, verb: str, others: str) -> str:
    done = {"undo": "undone", "redo": "redone", "restore": "restored"}[verb]
    if not result.files and (result.conflicts or result.unknown):
        return f"Nothing {'would be' if result.dry_run else 'was'} {done}."
    if not result.files:
        already = "Nothing had to be changed: everything is in that state already."
        return already if result.changes else f"Nothing to {verb}{others}."
    if result.dry_run:
        option = " with --partial" if result.conflicts else ""
        return f"{_counted(result.files)} would be {done}{option}; nothing was changed."
    return f"{_counted(result.files)} {done}; 'filetools {'undo' if verb == 'redo' else 'redo'}' reverts this."


def _counted(files: list[UndoneFile]) -> str:
    folders = sum(file.action in _FOLDERS for file in files)
    counts = ((len(files) - folders, "file"), (folders, "folder"))
    return " and ".join(amount(count, what) for count, what in counts if count)
