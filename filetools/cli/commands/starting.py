"""The command that makes a root of a folder: `init`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from filetools.app.state import keeps_state, prepare_state
from filetools.cli.command import workspace_command
from filetools.cli.desk import Desk
from filetools.cli.terminal import print_line, print_note, printable
from filetools.cli.workplace import find_workplace, refuse_new_root
from filetools.errors import DiskFullError
from filetools.models.words import STATE_DIRECTORY

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade

_PANEL: Final = "Workspace"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    workspace_command(
        app, ("root", "state_dir", "as_json"), panel=_PANEL,
        examples=("filetools init", "filetools init ~/project", "filetools init --root ~/project/vendored"),
    )(init)  # fmt: skip


def init(
    desk: Desk,
    path: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="An existing folder; else the working folder.")
    ] = None,
) -> None:
    """Make a folder a root, with the state that keeps its history.

    The first change does it, too. The home folder, what holds it, and a folder inside another root become roots by --root
    alone, so that nobody makes them by accident. Where there is a state already, nothing is done.
    """
    named = desk.options.root
    if path is not None and named is not None:
        raise typer.BadParameter("give PATH or --root, not both")
    place = find_workplace(path).root if path is not None else named or desk.workplace.folder
    if named is None:
        refuse_new_root(place)
    there = Desk(replace(desk.options, root=place))
    root, state = there.workplace.root, desk.options.state_dir
    told = {"root": str(root), "state": os.path.abspath(state or root / STATE_DIRECTORY)}
    if keeps_state(root, state):
        there.show(told | {"created": False}, _show)
        return
    prepare_state(root, state)

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        if (await files.status())["read_only"] is not None:
            raise DiskFullError("the state directory")  # whatever else forbids it was told before
        return told | {"created": True}

    there.perform(work, _show)


def _show(told: dict[str, Any]) -> None:
    state = printable(told["state"])
    if not told["created"]:
        print_line(("unchanged ", "dim"), state, ("  it is there already", "dim"))
        return
    print_line(("made      ", "green"), state)
    print_note("From now on every change of the folder can be looked at and taken back.")
