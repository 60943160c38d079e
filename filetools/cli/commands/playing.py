"""The command that shows the product at work: `demo`."""

from __future__ import annotations

from typing import Final

import typer

from filetools.cli.command import workspace_command
from filetools.cli.demo import SCENES, play
from filetools.cli.desk import Desk

_PANEL: Final = "Try it"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(app, (), panel=_PANEL, examples=("filetools demo",))(demo)


def demo(desk: Desk) -> None:
    """See many writers at work, and count what is lost.

    Two agents, a shell, a mirror that goes away and a process that is killed work on a small project in a temporary
    folder, which is removed at the end. Ends with exit code 0 only if nothing was lost or torn.
    """
    desk.note_failure(play(SCENES))
    desk.end()
