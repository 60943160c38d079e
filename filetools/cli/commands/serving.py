"""Commands that serve programs: `mcp`."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from filetools.app.folders import folder_at
from filetools.app.opening import open_workspace
from filetools.cli.command import workspace_command
from filetools.cli.desk import Desk, SharedOptions
from filetools.cli.exit_codes import FAILED
from filetools.cli.terminal import print_note, print_refusal
from filetools.cli.workplace import refuse_relative
from filetools.distribution import install_command
from filetools.errors import InvalidArgumentError
from filetools.models.words import Preset
from filetools.tools.dialects import DIALECTS, Dialect, dialect_named

if TYPE_CHECKING:
    from filetools.app.folders import Folder
    from filetools.app.opening import Opening
    from filetools.servers.mcp.options import DoorOptions
    from filetools.settings import Settings

_PANEL: Final = "Serve programs"
_SEVERAL: Final = ", ".join(dialect.name for dialect in DIALECTS if dialect.takes_several_roots)
AllowRoots = Annotated[
    list[str] | None,
    typer.Option(help="Folder outside that the tools of the group 'context' may look into.", metavar="DIR"),
]
Groups = Annotated[
    str | None, typer.Option("--tools", help="Groups or names of tools, separated by commas.", metavar="NAME,…")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, ("state_dir", "mirror", "durability"), panel=_PANEL,
        examples=(
            "filetools mcp .",
            "filetools mcp ~/project --tools core,files --permissions guarded",
            "filetools mcp . --dialect claude-code",
            "filetools mcp ~/project ~/notes --dialect mcp-filesystem",
        ),
    )(mcp)  # fmt: skip


def mcp(
    desk: Desk,
    roots: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ROOT",
            help=f"Root of the workspace. Several, or those of the client: {_SEVERAL} only.",
            show_default=False,
        ),
    ] = None,
    *,
    tools: Groups = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            help=f"Offer the tools of another product, by their names: {', '.join(each.name for each in DIALECTS)}.",
            metavar="NAME",
        ),
    ] = None,
    permissions: Annotated[Preset | None, typer.Option(help="What agents may do where no rule speaks.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer and allow only what reads.")] = False,
    structured: Annotated[
        bool, typer.Option("--structured", help="Give results to programs, too, as JSON with an output schema.")
    ] = False,
    editor: Annotated[
        bool, typer.Option("--editor", help="The client is an editor that you use: its calls are yours.")
    ] = False,
    allow_root: AllowRoots = None,
) -> None:
    """Serve agents over MCP on standard input and output.

    A client starts this command by itself, once for each of its windows; any number may serve one root.
    """
    if importlib.util.find_spec("mcp") is None:
        print_refusal("serving MCP needs the package 'mcp'", install_command("mcp"))
        raise typer.Exit(FAILED)
    # Half a second to import, and only this command needs it.
    from filetools.servers.mcp.options import DoorOptions
    from filetools.servers.mcp.transports import until_signal
    from filetools.settings import named_session

    spoken = None if dialect is None else dialect_named(dialect)
    folders = _folders(roots or ())
    _refuse_number(desk, spoken, len(roots or ()))
    refuse_relative(roots or ())
    options = DoorOptions(
        tools=named(tools),
        dialect=spoken,
        is_editor=editor,
        only_reads=read_only,
        structured=structured,
        session=named_session(),
        file_root=folders[0].real if folders else None,
    )
    options.selected()
    preset: Preset | None = "read_only" if read_only else permissions
    _leave(asyncio.run(until_signal(_serve(desk, folders, options, preset, allow_root or ()))))


async def _serve(
    desk: Desk, folders: Sequence[Folder], options: DoorOptions, permissions: Preset | None, allow_roots: Sequence[str]
) -> None:
    from filetools.servers.mcp.transports import serve_roots_stdio, serve_stdio

    def opening(place: Path) -> Opening:
        settings = allowing(_settings(desk, place, options.dialect, permissions), allow_roots)
        # Roots that a client tells are other folders than the one that a mirror and a state directory were given for.
        shared = desk.options if any(place == folder.given for folder in folders) else SharedOptions()
        return open_workspace(place, mirror=shared.mirror, state_dir=shared.state_dir, settings=settings)

    if options.dialect is not None and options.dialect.takes_several_roots:
        await serve_roots_stdio(opening, folders, options)
        return
    async with opening(folders[0].given) as files:
        await serve_stdio(files, options)


def named(tools: str | None) -> tuple[str, ...] | None:
    """Return the names in a list with commas; None for no list."""
    return None if tools is None else tuple(name.strip() for name in tools.split(",") if name.strip())


def allowing(settings: Settings, allow_roots: Sequence[str] | None) -> Settings:
    """Return settings by which the tools of the group `context` may look into further folders."""
    wanted = (*settings.allow_roots, *(os.path.abspath(os.path.expanduser(each)) for each in allow_roots or ()))
    return replace(settings, allow_roots=wanted)


def _leave(received: signal.Signals | None) -> NoReturn:
    """End the process now that everything is closed, by the signal that was received, if there was one.

    Taking an interpreter with so many modules apart takes a second, for which a client that closes would have to wait.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    if received is not None:
        signal.signal(received, signal.SIG_DFL)
        signal.raise_signal(received)
    os._exit(0)


def _folders(names: Sequence[str]) -> list[Folder]:
    """Return the folders of the command line; of several, those that are missing are left out with a warning."""
    found = {name: folder_at(name) for name in names}
    missing = [name for name, folder in found.items() if folder is None]
    if missing and len(missing) == len(found):
        raise typer.BadParameter(f"There is no directory {missing[0]!r}.", param_hint="ROOT")
    for name in missing:
        print_note(f"warning: {name!r} is no folder and is not served")
    return [folder for folder in found.values() if folder is not None]


def _refuse_number(desk: Desk, dialect: Dialect | None, count: int) -> None:
    """Refuse no root, or several, where that is not served.

    Raises:
        InvalidArgumentError: The dialect, a mirror or a state directory goes with one root only.
    """
    if count == 1:
        return
    if dialect is None or not dialect.takes_several_roots:
        what = "needs a ROOT" if not count else "serves one ROOT"
        who = "This command" if dialect is None else f"The dialect {dialect.name!r}"
        raise InvalidArgumentError(f"{who} {what}; only {_SEVERAL} serves several, or those that a client tells")
    for name, value in (("--mirror", desk.options.mirror), ("--state-dir", desk.options.state_dir)):
        if value is not None:
            raise InvalidArgumentError(f"{name} goes with one ROOT only")


def _settings(desk: Desk, root: Path, dialect: Dialect | None, permissions: Preset | None) -> Settings:
    """Return the settings of a root; where nobody has set one, that of the dialect holds."""
    settings, sources = Desk(replace(desk.options, root=root)).settings(permissions=permissions)
    usual = {} if dialect is None else dialect.settings
    wanted = {name: value for name, value in usual.items() if sources[name] == "default"}
    return replace(settings, **wanted)
