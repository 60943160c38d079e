"""The command that serves people and programs over HTTP: `serve`."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from filetools.app.opening import open_workspace
from filetools.app.token import TOKEN_FILE, own_token, read_token
from filetools.cli.command import workspace_command
from filetools.cli.commands.serving import AllowRoots, Groups, allowing, named
from filetools.cli.desk import Desk, user_name
from filetools.cli.exit_codes import FAILED
from filetools.cli.terminal import print_line, print_refusal, printable
from filetools.cli.workplace import refuse_relative
from filetools.distribution import install_command
from filetools.models.words import Preset
from filetools.settings import STATE_DIRECTORY

if TYPE_CHECKING:
    from filetools.servers.http.application import ServerApplication
    from filetools.servers.http.serving import Listener
    from filetools.settings import Settings

_PANEL: Final = "Serve programs"
Names = Annotated[
    list[str] | None,
    typer.Option(help="Name under which clients call it, such as a proxy's; they need the token.", metavar="NAME"),
]
Permissions = Annotated[
    Preset | None, typer.Option(help="What agents may do where no rule speaks. Unset: allow, with --open ask.")
]
AllowOrigins = Annotated[
    list[str] | None, typer.Option(help="Origin whose pages may call, such as http://localhost:3000.", metavar="URL")
]
AgentCommand = Annotated[
    str | None,
    typer.Option(
        help="Agent to run at /v1/chat/completions, for who has the token; speaks stream-json.", metavar="COMMAND"
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    workspace_command(
        app, ("state_dir", "mirror", "durability"), panel=_PANEL,
        examples=("filetools serve . --open", "filetools serve ~/project --host 0.0.0.0 --permissions guarded"),
    )(serve)  # fmt: skip


def serve(
    desk: Desk,
    root: Annotated[Path, typer.Argument(metavar="ROOT", exists=True, file_okay=False, help="Root of the workspace.")],
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 for any that is free.", min=0, max=65535)] = 8765,
    name: Names = None,
    allow_origin: AllowOrigins = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Log your browser in: you may edit and approve there.")
    ] = False,
    tools: Groups = None,
    permissions: Permissions = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token that callers must know.", dir_okay=False)
    ] = None,
    allow_root: AllowRoots = None,
    agent: AgentCommand = None,
    max_steps: Annotated[int, typer.Option(help="How many turns with tools it may take.", min=1)] = 200,
) -> None:
    """Serve files, tools and changes over HTTP, and MCP at /mcp.

    On this machine's own address nobody needs a token. The first line printed tells the address.
    """
    for package in ("fastapi", "uvicorn", "mcp"):
        if importlib.util.find_spec(package) is None:
            print_refusal(f"serving HTTP needs the package {package!r}", install_command("server"))
            raise typer.Exit(FAILED)
    # A second to import, and only this command needs it.
    from filetools.servers.http.hosts import is_loopback
    from filetools.servers.http.options import AgentOptions, HttpOptions
    from filetools.servers.http.serving import listen
    from filetools.servers.http.serving import serve as serve_http

    refuse_relative([str(root)])
    place = root.resolve()
    mirror, state = desk.options.mirror, desk.options.state_dir
    secrets = state or place / STATE_DIRECTORY
    settings, must_ask = _settings(desk, place, permissions, is_attended=open_page)
    settings = allowing(settings, allow_root)
    token = None if token_file is None else read_token(token_file)
    options = HttpOptions(
        host=host, port=port, names=_host_names(name), origins=tuple(allow_origin or ()), tools=named(tools),
        person=user_name(), token=token,
        agent=None if agent is None else AgentOptions(command=agent, token=token, max_steps=max_steps),
    )  # fmt: skip
    listener = listen(options)

    async def run() -> None:
        async with open_workspace(place, mirror=mirror, state_dir=state, settings=settings) as files:
            at = listener
            # By a name of its own it is called through a proxy, and so by other machines.
            if token is None and (name or not is_loopback(host)):
                at = listener.guarded_by(own_token(secrets))
            elif token is None and agent is not None:
                at = listener.guarded_by(own_token(secrets), only_agent=True)

            def announce(application: ServerApplication) -> None:
                new_code = application.shared.logins.new_code if open_page else None
                _announce(place, at, token_file or secrets / TOKEN_FILE, new_code, must_ask=must_ask)

            await serve_http(files, at, announce)

    asyncio.run(run())


def _settings(desk: Desk, root: Path, permissions: Preset | None, *, is_attended: bool) -> tuple[Settings, bool]:
    """Return the settings, and whether agents ask because a person is there and nobody has named a preset."""
    settings, sources = Desk(replace(desk.options, root=root)).settings(permissions=permissions)
    must_ask = is_attended and sources["permissions"] == "default"
    return replace(settings, permissions="ask") if must_ask else settings, must_ask


def _announce(
    place: Path, at: Listener, token_file: Path, new_code: Callable[[], str] | None, *, must_ask: bool
) -> None:
    """Tell what is served where, and log a browser in if there are codes for it."""
    here, *elsewhere = at.addresses
    print_line(f"Serving {printable(str(place))} at {here}")
    for address in elsewhere:
        print_line(f"Other machines reach it at {address}")
    whose = "Callers need" if at.options.token is not None else "Its callers need"
    if (agent := at.options.agent) is not None:
        print_line(f"The agent {printable(agent.model)} answers at {here}/v1/chat/completions")
    if at.options.token is not None or agent is not None:
        print_line(f"{whose} the token in {printable(str(token_file))}")
    if new_code is not None:
        print_line(f"Log in, once and within a minute: {at.addresses[-1]}/login#code={new_code()}")
    if must_ask:
        print_line("Agents ask you before they change files; '--permissions allow' lets them.")
    sys.stdout.flush()
    if new_code is not None:
        # A code counts once: with the printed one this browser would make that address useless to any other.
        webbrowser.open(f"{here}/login#code={new_code()}")


def _host_names(given: list[str] | None) -> tuple[str, ...]:
    from filetools.servers.http.hosts import is_host_name

    for name in given or ():
        if not is_host_name(name):
            raise typer.BadParameter(
                f"{name!r} is no name of a machine; leave scheme and port out", param_hint="--name"
            )
    return tuple(given or ())
