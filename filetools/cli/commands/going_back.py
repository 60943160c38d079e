"""Commands that go back: `undo`, `redo`, `restore`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import filetools.models as models
from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.commands.parameters import DryRun
from filetools.cli.desk import CHANGING, Desk
from filetools.cli.exit_codes import CONFLICT
from filetools.cli.records import print_unread
from filetools.cli.terminal import STDERR, print_line, print_note, printable
from filetools.errors import EditConflictError, InvalidArgumentError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.history import UndoneFile, UndoResult

_PANEL: Final = "Changes"
_VERBS: Final = {
    "write": ("modified", ""),
    "create": ("created", "green"),
    "delete": ("deleted", "red"),
    "move": ("moved", "blue"),
    "move_directory": ("moved", "blue"),
    "make_directory": ("made", "green"),
    "delete_directory": ("removed", "red"),
    "restore_directory": ("restored", "green"),
    "set_mode": ("mode", ""),
    "link": ("linked", ""),
}
_FOLDERS: Final = ("move_directory", "make_directory", "delete_directory", "restore_directory", "set_mode")
_AGO: Final = re.compile(r"(\d+)\s*([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")

Moment = Annotated[str | None, typer.Option(metavar="WHEN", help="A number of the log, 12:30, 2026-11-20, or 10m ago.")]
Partial = Annotated[bool, typer.Option("--partial", help="Take back what can be, and list the rest.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=(
            "filetools undo", "filetools undo --of alice --dry-run", "filetools undo -n 17 -n 18",
            "filetools undo --of '*' --since 10m src", "filetools undo --session s1 --partial",
            "filetools undo --run run-1a208eb102b5ff5",
        ),
    )(undo)  # fmt: skip
    workspace_command(app, CHANGING, panel=_PANEL, examples=("filetools redo", "filetools redo --dry-run"))(redo)
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=("filetools restore before-refactoring --dry-run", "filetools restore before-refactoring src"),
    )(restore)  # fmt: skip


def undo(
    desk: Desk,
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="Only changes of this file or folder.", autocompletion=suggestions.paths),
    ] = None,
    *,
    number: Annotated[
        list[int] | None,
        typer.Option("-n", "--number", help="This change of the log; repeatable.", autocompletion=suggestions.numbers),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--of", metavar="NAME", help="Whose changes; '*' is everybody's.", autocompletion=suggestions.actors
        ),
    ] = None,
    call: Annotated[str | None, typer.Option(metavar="ID", help="The changes of this call.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="The changes of this session.")] = None,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="All changes of this run.", autocompletion=suggestions.runs)
    ] = None,
    since: Moment = None,
    until: Moment = None,
    partial: Partial = False,
    dry_run: DryRun = False,
) -> None:
    """Take changes back, all or nothing.

    Without anything else your last change; --of takes another's. What others changed since stays: their changes and the
    undo are merged, and what overlaps is a conflict (exit code 3), never an overwrite.
    """
    others = (path, number, of, call, session, since, until)
    if run is not None and any(others):
        raise typer.BadParameter("--run stands alone: a run is taken back whole")
    start, end = _moment(since), _moment(until)

    async def work(files: FileToolsFacade) -> UndoResult:
        return await files.undo(
            call=call, session=session, since=start, until=end, actor=of, numbers=number or None, run=run,
            path=None if path is None else desk.path(path), dry_run=dry_run, partial=partial,
        )  # fmt: skip

    _go_back(desk, work, "undo", dry_run=dry_run)


def redo(desk: Desk, *, partial: Partial = False, dry_run: DryRun = False) -> None:
    """Take your last undo, or your last restore, back."""

    async def work(files: FileToolsFacade) -> UndoResult:
        return await files.redo(dry_run=dry_run, partial=partial)

    _go_back(desk, work, "redo", dry_run=dry_run)


def restore(
    desk: Desk,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the checkpoint.", autocompletion=suggestions.checkpoints)
    ],
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="Only this file or folder.", autocompletion=suggestions.paths),
    ] = None,
    *,
    partial: Partial = False,
    dry_run: DryRun = False,
) -> None:
    """Have the tree, or a part of it, be as it was at a checkpoint.

    Whoever changed what, watched or not: bytes, modes, links and folders are as they were. What was not in the
    checkpoint, and was not made since, is listed as unknown and stays (exit code 3).
    """

    async def work(files: FileToolsFacade) -> UndoResult:
        where = None if path is None else desk.path(path)
        return await files.restore(name, where, dry_run=dry_run, partial=partial)

    _go_back(desk, work, "restore", dry_run=dry_run)


def _go_back(desk: Desk, work: Callable[[FileToolsFacade], Awaitable[UndoResult]], verb: str, *, dry_run: bool) -> None:
    async def told(files: FileToolsFacade) -> UndoResult:
        try:
            result = await work(files)
        except EditConflictError as error:
            # An overlap with unsaved text tells its places, and no path for each.
            if not desk.options.as_json and all("path" in each for each in error.details.get("conflicts", ())):
                _show_conflicts(
                    [models.UndoConflict.model_validate(each) for each in error.details.get("conflicts", ())]
                )
            raise
        if result.conflicts or result.unknown:
            desk.note_failure(CONFLICT)
        return result

    (desk.read if dry_run else desk.perform)(told, lambda result: _show(result, verb))


def _show(result: UndoResult, verb: str) -> None:
    for file in result.files:
        _show_file(file)
    for path in result.unknown:
        print_line(("unknown   ", "yellow"), printable(path), ("  nobody knows what was there before; it stays", "dim"))
    _show_conflicts(result.conflicts)
    print_unread(result.unread)
    print_note(_summary(result, verb))


def _show_file(file: UndoneFile) -> None:
    word, style = _VERBS[file.action]
    end = "/" if file.action in _FOLDERS else ""
    origin = "" if file.old_path is None else f"{printable(file.old_path)}{end} → "
    print_line((f"{word:<9} ", style), f"{origin}{printable(file.path)}{end}")


def _show_conflicts(conflicts: list[models.UndoConflict]) -> None:
    for conflict in conflicts:
        numbers = ", ".join(str(number) for number in conflict.numbers)
        STDERR.print(f"conflict  {printable(conflict.path)}  {printable(conflict.reason)} (change {numbers})")
        for place in conflict.conflicts:
            for mark, side in (("now   ", "ours"), ("before", "theirs")):
                for line in str(place[side]).splitlines():
                    STDERR.print(f"  {mark}  {printable(line)}", style="dim")


def _summary(result: UndoResult, verb: str) -> str:
    if not any(change.outcome not in ("conflict", "unknown") for change in result.changes):
        return f"Nothing to {verb}."
    if not result.files:
        return "Nothing had to be done: it is as it was already."
    amount = _amount(result.files)
    if result.dry_run:
        return f"{amount} would be taken back; nothing was done."
    back = "undo" if verb == "redo" else "redo"
    return f"{amount} taken back; 'filetools {back}' takes this back."


def _amount(files: list[UndoneFile]) -> str:
    """Return how many files and folders there are; folders that only lie on the way to others do not count."""
    ends = {end for file in files for end in (file.path, file.old_path) if end is not None}
    folders = [file for file in files if file.action in _FOLDERS]
    apart = sum(not any(end.startswith(f"{folder.path}/") for end in ends) for folder in folders)
    counts = ((len(files) - len(folders), "file"), (apart, "folder"))
    return " and ".join(f"{count} {what}{'s' if count > 1 else ''}" for count, what in counts if count)


def _moment(given: str | None) -> int | datetime | None:
    """Return the number or the time that a word of the command line names.

    Raises:
        InvalidArgumentError: It names none.
    """
    if given is None or given.isdecimal():
        return None if given is None else int(given)
    now = datetime.now().astimezone()
    if ago := _AGO.fullmatch(given):
        parts: dict[str, Any] = {_UNITS[ago[2]]: int(ago[1])}
        return now - timedelta(**parts)
    try:
        if _CLOCK.fullmatch(given):
            given = f"{now:%Y-%m-%d} {given.zfill(5)}"
        return datetime.fromisoformat(given).astimezone()
    except ValueError as exc:
        raise InvalidArgumentError(f"{given!r} is no number of the log and no time") from exc
