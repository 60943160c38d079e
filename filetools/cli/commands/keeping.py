"""Commands that keep the state of the whole tree: `checkpoint`, `checkpoints`."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.filesize import decimal
from rich.text import Text

from filetools.cli import suggestions
from filetools.cli.child import refuse_child, run_child
from filetools.cli.command import workspace_command
from filetools.cli.desk import CHANGING, READING, Desk
from filetools.cli.records import moment
from filetools.cli.terminal import STDERR, print_line, print_note, printable
from filetools.cli.tree_changes import change_lines, counted, unsure_lines
from filetools.errors import FileToolsError, InvalidArgumentError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.history import CheckpointResult, CheckpointsResult
    from filetools.models.tree_diff import TreeDiffResult

_PANEL: Final = "Changes"
_WIDEST_NAME: Final = 40
_LONGEST_PROGRAM: Final = 60


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=(
            "filetools checkpoint", "filetools checkpoint before-refactoring", "filetools checkpoint --delete old",
            "filetools checkpoint --around -- make format",
        ),
    )(checkpoint)  # fmt: skip
    workspace_command(app, READING, panel=_PANEL, examples=("filetools checkpoints", "filetools checkpoints --json"))(
        checkpoints
    )


def checkpoint(
    desk: Desk,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Name of this moment; else its date and time.", autocompletion=suggestions.checkpoints
        ),
    ] = None,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND", help="With --around: the program and its arguments.")
    ] = None,
    *,
    around: Annotated[bool, typer.Option("--around", help="Before and after a command; show what it changed.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Move a checkpoint of that name here.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Forget the checkpoint of that name.")] = False,
) -> None:
    """Keep the state of the whole tree, to restore it later.

    All files are in it that ignore rules do not leave out, whoever wrote them; up to 16 MiB a file. What changes after a
    checkpoint is kept, whatever the limits, until the checkpoint is deleted.

    With --around the command after -- runs between two checkpoints, and what it has changed is told on standard error.
    It ends with the exit code of the command: 127 if there is none of that name, 130 after Ctrl-C. Without NAME the two
    are automatic: the last 20 such ones are kept.
    """
    if name is None and (replace or delete):
        raise typer.BadParameter("--replace and --delete go with a name")
    if bool(command) != around or (around and delete):
        raise typer.BadParameter("--around goes with a command after --, and with no --delete")
    if around and command:
        _around(desk, command, name, replace=replace)
        return

    async def work(files: FileToolsFacade) -> CheckpointResult:
        if name is not None and delete:
            return await files.delete_checkpoint(name)
        free = next(_free_names(await _names(files))) if name is None else name
        return await files.checkpoint(free, replace=replace)

    desk.perform(work, lambda result: _show_checkpoint(result, "deleted" if delete else "made"))


def checkpoints(desk: Desk) -> None:
    """List the checkpoints, oldest first, with time and size."""
    desk.read(lambda files: files.checkpoints(), _show_checkpoints)


async def _names(files: FileToolsFacade) -> set[str]:
    return {each.name for each in (await files.checkpoints()).checkpoints}


def _free_names(taken: Container[str], start: str = "") -> Iterator[str]:
    """Yield names made of a beginning, the date and the time that no checkpoint has."""
    now = f"{start}{time.strftime('%Y-%m-%d %H:%M:%S')}"
    names = chain((now,), (f"{now} ({number})" for number in count(2)))
    return (name for name in names if name not in taken)


def _around(desk: Desk, command: Sequence[str], name: str | None, *, replace: bool) -> None:
    program = command[0].rpartition("/")[2][:_LONGEST_PROGRAM]
    before, after = ("", "") if name is None else (name, f"{name} (after)")

    async def begin(files: FileToolsFacade) -> None:
        nonlocal before, after
        taken = await _names(files)
        if name is None:
            before, after = (next(_free_names(taken, f"auto: {when} {program} ")) for when in ("before", "after"))
        elif after in taken and not replace:
            raise InvalidArgumentError(
                f"There is a checkpoint {after!r} already", suggested_action="Choose another name, or pass --replace."
            )
        await files.checkpoint(before, replace=replace, automatic=name is None)

    async def compare(files: FileToolsFacade) -> TreeDiffResult:
        await files.checkpoint(after, replace=replace, automatic=name is None)
        return await files.diff_tree(before, after)

    async def forget(files: FileToolsFacade) -> None:
        with suppress(FileToolsError):
            await files.delete_checkpoint(before)

    desk.perform(begin, lambda _: None)
    try:
        desk.note_failure(run_child(command))
    except OSError as error:
        desk.note_failure(refuse_child(command, error))
        desk.perform(forget, lambda _: None)
    else:
        desk.perform(compare, lambda result: _show_effect(result, program))


def _show_effect(result: TreeDiffResult, program: str) -> None:
    """Print what a command has changed, out of the way of its own output."""
    for line in (*change_lines(result), *unsure_lines(result)):
        STDERR.print(line)
    if not result.total:
        print_note(f"{program} changed nothing.")
        return
    print_note(f"{program}: {counted(result.counts)}; 'filetools restore {_quoted(result.old)}' takes it back.")


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _show_checkpoint(result: CheckpointResult, word: str) -> None:
    style = "red" if word == "deleted" else "green"
    print_line((f"{word:<9} ", style), printable(result.name), (f"  {_held(result)}", "dim"))
    for path in result.by_hash_alone:
        print_line(("not kept  ", "yellow"), printable(path), ("  too large: it cannot be restored", "dim"))
    for path in result.unread:
        print_line(("unread    ", "yellow"), printable(path), ("  it could not be read, or was changing", "dim"))


def _show_checkpoints(result: CheckpointsResult) -> None:
    names = [printable(each.name) for each in result.checkpoints]
    width = min(max(map(len, names), default=0), _WIDEST_NAME)
    when = max((len(moment(each.time)) for each in result.checkpoints), default=0)
    for each, name in zip(result.checkpoints, names, strict=True):
        style = "dim" if each.automatic else ""
        print_line(
            (f"{moment(each.time):<{when}}  ", "dim"), Text(f"{name:<{width}}", style), (f"  {_held(each)}", "dim")
        )
    if not result.checkpoints:
        print_note("There is no checkpoint; 'filetools checkpoint' makes one.")


def _held(result: CheckpointResult) -> str:
    """Return what is in a checkpoint."""
    if result.files is None or result.bytes is None:
        return f"the changes after number {result.number}"
    return f"{result.files:,} file{'' if result.files == 1 else 's'}, {decimal(result.bytes)}"
