"""Commands about the workspace and its mirror: `status`, `sync`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import filetools.models as models
from filetools.cli.command import workspace_command
from filetools.cli.desk import CHANGING, NO_STATE, Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.records import actor_style, change_to_dict, print_unread, verb_of
from filetools.cli.terminal import STDERR, STDOUT, amount, fact_table, print_line, print_table, printable
from filetools.cli.tree_changes import MOST_LISTED, actor_lines, change_lines, compared, newest_checkpoint, unsure_lines
from filetools.models.records import Operation

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.files import SyncResult

_PANEL: Final = "Workspace"
MOST_LATEST: Final = 10
"""Changes that the status shows where there is no checkpoint."""
_INTERNAL: Final = ("epoch", "position", "pending", "durability", "permissions")
MOST_SHOWN: Final = 50
"""Paths of each sort that a synchronisation prints; JSON has all of them."""


class Told(Protocol):
    """An event, as far as a progress bar needs it."""

    def to_dict(self) -> dict[str, Any]:
        """Return its JSON form."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(app, CHANGING, panel=_PANEL, examples=("filetools status", "filetools status --json"))(status)
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=("filetools sync", "filetools sync --mirror ../backup --preview", "filetools sync --verify"),
    )(sync)  # fmt: skip


def status(
    desk: Desk,
    *,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Also what the journal holds, and settings.")
    ] = False,
) -> None:
    """Show what changed since the last checkpoint, what is unsaved, and what waits for you.

    Without a checkpoint, the newest changes; and of a mirror whether it is level.

    The whole tree is looked at first: what changed while nobody watched is recorded, and paths that nobody could look at
    are named. The changes are counted for each actor, then listed up to 20; 'filetools diff' shows all of them.
    """

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        name = await newest_checkpoint(files)
        changes = None if name is None else await files.diff_tree(name, limit=MOST_LISTED)
        unread = (await files.look()).unread if changes is None else changes.unread
        state = await files.status()
        latest = [] if changes is not None else await files.latest_changes(MOST_LATEST)
        if desk.lacks_state:
            # What the opening has for itself ends with it.
            state |= {"epoch": None, "position": None, "read_only": None}
        return state | {
            "has_state": not desk.lacks_state,
            "changes": None if changes is None else changes.to_dict(),
            "latest": [change_to_dict(record, state["epoch"]) for record in latest],
            "approvals": [request.id for request in await files.approvals()],
            "unread": unread,
        }

    desk.read(work, lambda state: _show_status(state, verbose=verbose))


def sync(
    desk: Desk,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Read and hash every file, trusting nothing.")] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Only show what would be done.")] = False,
) -> None:
    """Make the mirror equal to the workspace.

    All mirrors, if the root remembers several; with --mirror, another one, too. Foreign files that stand in the mirror are
    kept as versions before they are replaced.
    """

    async def work(files: FileToolsFacade) -> SyncResult:
        with sync_progress(files):
            result = await files.sync_all(preview, verify=verify)
        if not result.success:
            desk.note_failure(FAILED)
        return result

    desk.perform(work, _show_sync)


@contextmanager
def sync_progress(files: FileToolsFacade) -> Iterator[None]:
    """Draw a progress bar from the events of a synchronisation; only on a terminal, and gone when it is done."""
    columns = (TextColumn("syncing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=STDERR.console, transient=True, disable=not STDERR.is_terminal) as progress:
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


def _show_status(state: dict[str, Any], *, verbose: bool) -> None:
    table = fact_table()
    shown = ("root", "problem", "read_only", *(_INTERNAL if verbose else ()))
    for name, value in state.items():
        if name in shown and value is not None:
            table.add_row(name, printable(str(value)))
    if verbose or state["retention"]["held_over_limit"]:
        table.add_row("retention", printable(_retention(state["retention"])))
    if state["approvals"]:
        waiting = amount(len(state["approvals"]), "approval")
        table.add_row("waiting", f"{waiting} for your answer; see 'filetools approvals'")
    for path in state["unrestored"]:
        table.add_row("unrestored", printable(f"{path} (lost in a power cut, and tried again every second)"))
    for path in state["unread"][:MOST_SHOWN] if state["changes"] is None else ():
        table.add_row("unread", printable(f"{path} (it could not be looked at, or was changing)"))
    for document in state["documents"]:
        unsaved = "unsaved, " if document["dirty"] else ""
        table.add_row("open", printable(f"{document['path']} ({unsaved}{', '.join(document['editors'])})"))
    for name, mirror in state["mirrors"].items():
        behind = f", {amount(mirror['behind'], 'path')} behind" if mirror["behind"] else ""
        table.add_row(name, mirror["state"].replace("_", " ") + behind)
        if mirror["last_error"]:
            table.add_row("", printable(mirror["last_error"]))
    print_table(table)
    if state["changes"] is not None:
        _show_changes(models.TreeDiffResult.model_validate(state["changes"]))
    else:
        _show_latest(state["latest"], has_state=state["has_state"])


def _show_latest(latest: list[dict[str, Any]], *, has_state: bool) -> None:
    print_line()
    if not latest:
        print_line(("No change is recorded yet.", "bold"))
        if not has_state:
            print_line((f"There is {NO_STATE}.", "dim"))
        return
    print_line(
        ("The newest changes ", "bold"), ("'filetools log' shows all, 'filetools checkpoint' marks a start", "dim")
    )
    for each in latest:
        operation = Operation(each["operation"])
        origin = "" if "old_path" not in each else f"{printable(each['old_path'])} → "
        actor = each["actor"]
        print_line(
            f"{verb_of(operation):<9} {origin}{printable(each['path'])}  ",
            (printable(actor["id"]), actor_style(actor["kind"])),
        )


def _retention(held: dict[str, Any]) -> str:
    """Return what the journal holds, and why it holds more than it should."""
    size = f"{decimal(held['bytes'])} of {decimal(held['bytes_limit'])}"
    over = f"; checkpoint {held['checkpoint']!r} keeps it over its limits" if held["held_over_limit"] else ""
    return f"{size}, {held['records']:,} of {held['records_limit']:,} records{over}"


def _show_changes(result: models.TreeDiffResult) -> None:
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
