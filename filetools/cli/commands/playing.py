"""The command that shows the product at work: `demo`."""

from __future__ import annotations

import importlib.util
from typing import Annotated, Final

import typer

from filetools.cli.command import workspace_command
from filetools.cli.demo import ALONE, SCENES, play, play_only, scene_names
from filetools.cli.desk import Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.terminal import print_refusal
from filetools.distribution import install_command

_PANEL: Final = "Try it"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, ("as_json",), panel=_PANEL,
        examples=("filetools demo", "filetools demo --open", "filetools demo --only history"),
    )(demo)  # fmt: skip


def demo(
    desk: Desk,
    *,
    only: Annotated[
        str | None, typer.Option(metavar="SCENE", help=f"Play one scene: {', '.join(scene_names())}.")
    ] = None,
    on_page: Annotated[
        bool, typer.Option("--open", help="Play it, slowly, in the editor page in your browser, too.")
    ] = False,
) -> None:
    """See many writers at work, and count what is lost.

    Two agents, a shell, a mirror that goes away and a process that is killed work on a small project in a temporary
    folder, which is removed at the end. Ends with exit code 0 only if nothing was lost or torn.
    """
    if only is not None and only not in scene_names():
        raise typer.BadParameter(f"there is no scene {only!r}; there are {', '.join(scene_names())}")
    if on_page:
        _refuse_page(only)
    how = {"as_json": desk.options.as_json, "on_page": on_page}
    if not (play(SCENES, **how) if only is None else play_only(only, **how)):
        desk.note_failure(FAILED)
    desk.end()


def _refuse_page(only: str | None) -> None:
    if only in ALONE:
        raise typer.BadParameter(f"the scene {only!r} has no page", param_hint="--open")
    for package in ("rocher", "fastapi", "uvicorn", "mcp"):
        if importlib.util.find_spec(package) is None:
            print_refusal(f"the editor page needs the package {package!r}", install_command("editor"))
            raise typer.Exit(FAILED)
