"""The command about the mirrors that a root remembers: `mirror`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from filetools.app.mirrors import add_mirror, list_mirrors, remove_mirror
from filetools.cli.command import workspace_command
from filetools.cli.commands.mirror import sync_progress
from filetools.cli.desk import Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.terminal import amount, print_line, print_note, printable

if TYPE_CHECKING:
    from filetools.app.mirrors import ListedMirror
    from filetools.facade.facade import FileToolsFacade

_PANEL: Final = "Workspace"
_ALL_OF_IT: Final = ("root", "state_dir", "as_json")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    workspace_command(
        app, _ALL_OF_IT, panel=_PANEL,
        examples=("filetools mirror add ../backup", "filetools mirror list --json", "filetools mirror remove ../backup"),
    )(mirror)  # fmt: skip


def mirror(
    desk: Desk,
    action: Annotated[
        Literal["list", "add", "remove"], typer.Argument(metavar="ACTION", help="list, add or remove.")
    ] = "list",
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder of the mirror.", show_default=False)
    ] = None,
    *,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="With add: take a folder that holds something else; it becomes equal.")
    ] = False,
) -> None:
    """List, add or remove the mirrors that the root remembers.

    A mirror that was added gets a copy of every change, whichever command, server or program makes it. While its folder is
    away, changes wait for it. 'add' fills it, and ends with exit code 1 if something could not be copied; 'remove' forgets
    it and leaves its files alone.
    """
    if (action == "list") != (folder is None) or (adopt and action != "add"):
        raise typer.BadParameter("'add' and 'remove' go with a DIR, '--adopt' with 'add'")
    root, state = desk.workplace.root, desk.options.state_dir
    if folder is None:
        listed = [asdict(each) for each in list_mirrors(root, state_directory=state)]
        desk.show({"mirrors": listed}, _show_list)
        return
    desk.workplace.refuse_accident()
    if action == "remove":
        desk.show(asdict(remove_mirror(root, folder, state_directory=state)), _show_removed)
    else:
        _fill(desk, add_mirror(root, folder, state_directory=state, adopt=adopt))


def _fill(desk: Desk, added: ListedMirror) -> None:
    async def work(files: FileToolsFacade) -> dict[str, Any]:
        with sync_progress(files):
            result = await files.sync_all()
        if not result.success:
            desk.note_failure(FAILED)
        return {"path": added.path, "synced_files": result.synced_files, "errors": result.errors}

    desk.perform(work, _show_added)


def _show_added(told: dict[str, Any]) -> None:
    print_line(("added     ", "green"), printable(told["path"]), (f"  {told['synced_files']} synchronised", "dim"))
    for error in told["errors"]:
        print_line(("failed    ", "bold red"), printable(f"{error['path']}: {error['error']}"))


def _show_removed(told: dict[str, Any]) -> None:
    forgotten = f"; {amount(told['behind'], 'path')} it lacked" if told["behind"] else ""
    print_line(("removed   ", "red"), printable(told["path"]), (f"  its files stay{forgotten}", "dim"))


def _show_list(told: dict[str, Any]) -> None:
    for each in told["mirrors"]:
        behind = amount(each["behind"], "path") + " behind" if each["behind"] else ""
        named = "" if each["added"] else "only where it is named with --mirror"
        facts = ", ".join(filter(None, (behind, each["reason"], named)))
        style = "yellow" if each["state"] == "away" else ""
        print_line((f"{each['state']:<9} ", style), printable(each["path"]), (f"  {facts}" if facts else "", "dim"))
    if not told["mirrors"]:
        print_note("There is no mirror; 'filetools mirror add DIR' adds one.")
