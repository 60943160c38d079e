"""The command that shows the product at work: `demo`."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from filetools.cli.command import workspace_command
from filetools.cli.demo import SCENES, play, play_only, scene_names
from filetools.cli.desk import Desk
from filetools.cli.exit_codes import FAILED

_PANEL: Final = "Try it"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(app, ("as_json",), panel=_PANEL, examples=("filetools demo", "filetools demo --only history"))(
        demo
    )


def demo(
    desk: Desk,
    *,
    only: Annotated[
        str | None, typer.Option(metavar="SCENE", help=f"Play one scene: {', '.join(scene_names())}.")
    ] = None,
) -> None:
    """See many writers at work, and count what is lost.

    Two agents, a shell, a mirror that goes away and a process that is killed work on a small project in a temporary
    folder, which is removed at the end. Ends with exit code 0 only if nothing was lost or torn.
    """
    if only is not None and only not in scene_names():
        raise typer.BadParameter(f"there is no scene {only!r}; there are {', '.join(scene_names())}")
    as_json = desk.options.as_json
    if not (play(SCENES, as_json=as_json) if only is None else play_only(only, as_json=as_json)):
        desk.note_failure(FAILED)
    desk.end()
