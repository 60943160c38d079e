"""Commands about the workspace and its mirror: `status`, `sync`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, Protocol

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from filetools.app import FileToolsFacade
from filetools.cli.command import workspace_command
from filetools.cli.desk import CHANGING, Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.records import print_unread
from filetools.cli.terminal import STDERR, STDOUT, fact_table, print_line, print_table, printable
from filetools.cli.tree_changes import MOST_LISTED, actor_lines, change_lines, compared, newest_checkpoint, unsure_lines
from filetools.models import SyncResult, TreeDiffResult

_PANEL: Final = "Workspace"
MOST_SHOWN: Final = 50
"""Paths of each sort that a synchronisation prints; JSON has all of them."""


class Told(Protocol):
    """An event, as far as a progress bar needs it."""

    def to_dict(self) -> dict[str, Any]:
        """Return its JSON form."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL, examples=("filetools status", "filetools status --mirror ../backup --json")
    )(status)
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=("filetools sync --mirror ../backup --preview", "filetools sync --mirror ../backup --verify"),
    )(sync)  # fmt: skip


def status(desk: Desk) -> None:
    """Show the state of the workspace and its mirror, and what changed since the last checkpoint.

    The whole tree is looked at first: what changed while nobody watched is recorded, and paths that nobody could look at
    are named. The changes are counted for each actor, then listed up to 20; 'filetools diff' shows all of them.
    """

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        name = await newest_checkpoint(files)
        changes = None if name is None else await files.diff_tree(name, limit=MOST_LISTED)
        unread = (await files.look()).unread if changes is None else changes.unread
        return await files.status() | {"changes": None if changes is None else changes.to_dict(), "unread": unread}

    desk.perform(work, _show_status)


def sync(
    desk: Desk,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Read and hash every file, trusting nothing.")] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Only show what would be done.")] = False,
) -> None:
    """Make the mirror equal to the workspace.

    Foreign files that stand in the mirror are kept as versions before they are replaced.
    """
    if desk.options.mirror is None:
        raise typer.BadParameter("--mirror says which folder to synchronise")

    async def work(files: FileToolsFacade) -> SyncResult:
        with _progress(files):
            result = await files.sync_all(preview, verify=verify)
        if not result.success:
            desk.note_failure(FAILED)
        return result

    desk.perform(work, _show_sync)


@contextmanager
def _progress(files: FileToolsFacade) -> Iterator[None]:
    """Draw a progress bar from the events of a synchronisation; only on a terminal, and gone when it is done."""
    columns = (TextColumn("syncing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=STDERR, transient=True, disable=not STDERR.is_terminal) as progress:
        task = progress.add_task("sync", total=None)

        def started(event: Told) -> None:
            progress.update(task, total=event.to_dict()["file_count"])

        def advanced(event: Told) -> None:
            progress.update(task, completed=event.to_dict()["current"])

        heard = (files.on("sync:started", started), files.on("sync:progress", advanced))
        try:
            yield
        finally:
            for subscription in heard:
                subscription.unsubscribe()


def _show_status(state: dict[str, Any]) -> None:
    table = fact_table()
    for name, value in state.items():
        if name not in ("mirrors", "documents", "unrestored", "changes", "retention", "unread") and value is not None:
            table.add_row(name, printable(str(value)))
    table.add_row("retention", printable(_retention(state["retention"])))
    for path in state["unrestored"]:
        table.add_row("unrestored", printable(f"{path} (lost in a power cut, and tried again every second)"))
    for path in state["unread"][:MOST_SHOWN] if state["changes"] is None else ():
        table.add_row("unread", printable(f"{path} (it could not be looked at, or was changing)"))
    for document in state["documents"]:
        unsaved = "unsaved, " if document["dirty"] else ""
        table.add_row("open", printable(f"{document['path']} ({unsaved}{', '.join(document['editors'])})"))
    for name, mirror in state["mirrors"].items():
        behind = f", {mirror['behind']} paths behind" if mirror["behind"] else ""
        table.add_row(name, mirror["state"].replace("_", " ") + behind)
        if mirror["last_error"]:
            table.add_row("", printable(mirror["last_error"]))
    print_table(table)
    if state["changes"] is not None:
        _show_changes(TreeDiffResult.model_validate(state["changes"]))


def _retention(held: dict[str, Any]) -> str:
    """Return what the journal holds, and why it holds more than it should."""
    size = f"{decimal(held['bytes'])} of {decimal(held['bytes_limit'])}"
    over = f"; checkpoint {held['checkpoint']!r} keeps it over its limits" if held["held_over_limit"] else ""
    return f"{size}, {held['records']:,} of {held['records_limit']:,} records{over}"


def _show_changes(result: TreeDiffResult) -> None:
    print_line()
    print_line(
        (f"{result.total:,} changed " if result.total else "Nothing changed ", "bold"), (compared(result), "dim")
    )
    for line in actor_lines(result):
        print_line("  ", line)
    for line in (*change_lines(result), *unsure_lines(result)):
        print_line(line)


def _show_sync(result: SyncResult) -> None:
    for verb, style, paths in (
        ("add", "green", result.added),
        ("modify", "", result.modified),
        ("delete", "red", result.deleted),
    ):
        for path in paths[:MOST_SHOWN]:
            print_line((f"{verb:<10}", style), printable(path))
        if len(paths) > MOST_SHOWN:
            print_line((f"{verb:<10}", style), (f"… and {len(paths) - MOST_SHOWN} more", "dim"))
    for error in result.errors[:MOST_SHOWN]:
        print_line(("failed    ", "bold red"), printable(f"{error['path']}: {error['error']}"))
    if len(result.errors) > MOST_SHOWN:
        print_line(("failed    ", "bold red"), (f"… and {len(result.errors) - MOST_SHOWN} more", "dim"))
    print_unread(result.unread)
    done = "would be synchronised" if result.preview else "synchronised"
    count = result.total_files if result.preview else result.synced_files
    STDOUT.print(f"{count} {done}, {result.failed_files} failed, {result.duration_ms} ms")
