"""Commands that serve programs: `mcp`."""

from __future__ import annotations

import asyncio
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from filetools.app import open_workspace
from filetools.cli.command import workspace_command
from filetools.cli.desk import Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.terminal import print_note
from filetools.models import Preset
from filetools.tools.dialects import dialect_named

_PANEL: Final = "Serve programs"
Groups = Annotated[
    str | None, typer.Option("--tools", help="Groups or names of tools, separated by commas.", metavar="NAME,…")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, ("state_dir", "mirror", "durability"), panel=_PANEL,
        examples=("filetools mcp .", "filetools mcp ~/project --tools core,files --permissions guarded"),
    )(mcp)  # fmt: skip


def mcp(
    desk: Desk,
    root: Annotated[Path, typer.Argument(metavar="ROOT", exists=True, file_okay=False, help="Root of the workspace.")],
    *,
    tools: Groups = None,
    dialect: Annotated[
        str | None, typer.Option(help="Offer the tools of another product, by their names.", metavar="NAME")
    ] = None,
    permissions: Annotated[Preset | None, typer.Option(help="What agents may do where no rule speaks.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer and allow only what reads.")] = False,
    structured: Annotated[
        bool, typer.Option("--structured", help="Give bodies to programs, too, with an output schema.")
    ] = False,
    editor: Annotated[
        bool, typer.Option("--editor", help="The client is an editor that you use: its calls are yours.")
    ] = False,
) -> None:
    """Serve agents over MCP on standard input and output.

    A client starts this command by itself, once for each of its windows; any number may serve one root.
    """
    if importlib.util.find_spec("mcp") is None:
        print_note("error: serving MCP needs the package 'mcp'\nhint: pip install 'filetools[mcp]'")
        raise typer.Exit(FAILED)
    # Half a second to import, and only this command needs it.
    from filetools.servers.mcp import DoorOptions, serve_stdio

    place = root.resolve()
    options = DoorOptions(
        tools=None if tools is None else tuple(name.strip() for name in tools.split(",") if name.strip()),
        dialect=None if dialect is None else dialect_named(dialect),
        is_editor=editor,
        only_reads=read_only,
        structured=structured,
        file_root=place,
    )
    options.selected()
    at_root = Desk(replace(desk.options, root=place))
    settings, _ = at_root.settings(permissions="read_only" if read_only else permissions)

    mirror, state = desk.options.mirror, desk.options.state_dir

    async def serve() -> None:
        async with open_workspace(place, mirror=mirror, state_dir=state, settings=settings) as files:
            await serve_stdio(files, options)

    asyncio.run(serve())
