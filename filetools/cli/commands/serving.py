"""Commands that serve programs: `mcp`, `serve`."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, get_args

import click
from msgspec import structs

from filetools.app.opening import Opening, open_workspace
from filetools.app.state import TOKEN_FILE, own_directory, own_token, read_token
from filetools.cli.command import command
from filetools.cli.runner import CommandRunner, SharedOptions, user_name
from filetools.cli.terminal import print_line, print_note, printable
from filetools.cli.workplace import refuse_relative
from filetools.errors import InvalidArgumentError
from filetools.models.words import Preset
from filetools.settings import Settings, named_session
from filetools.tools.dialects import DIALECTS, Dialect, dialect_named

if TYPE_CHECKING:  # `mcp` does not need HTTP
    from filetools.servers.http.application import ServerApplication
    from filetools.servers.http.serving import Listener
    from filetools.servers.mcp.options import McpOptions
    from filetools.servers.mcp.roots_server import Folder

_SEVERAL: Final = ", ".join(dialect.name for dialect in DIALECTS if dialect.takes_several_roots)
allow_roots_option = click.option(
    "--allow-root",
    multiple=True,
    metavar="DIR",
    help="Folder outside the root that tools of the group 'context' may read.",
)
groups_option = click.option("--tools", metavar="NAME,…", help="Groups or names of tools, separated by commas.")
dialect_option = click.option(
    "--dialect",
    metavar="NAME",
    help=f"Offer the tools of another product: {', '.join(each.name for each in DIALECTS)}.",
)
read_only_option = click.option("--read-only", is_flag=True, help="Offer and allow only tools that read.")
structured_option = click.option(
    "--structured", is_flag=True, help="Also return results as JSON, with an output schema."
)


@command(
    "mcp",
    ("state_dir", "mirror", "durability"),
    examples=(
        "filetools mcp .",
        "filetools mcp ~/project --tools core,files --permissions guarded",
        "filetools mcp . --dialect claude-code",
        "filetools mcp ~/project ~/notes --dialect mcp-filesystem",
    ),
)
@click.argument(
    "roots",
    nargs=-1,
    metavar="[ROOT...]",
    help=f"Root of the workspace. Only {_SEVERAL} accepts several, or those of the client.",
)
@groups_option
@dialect_option
@click.option("--permissions", type=click.Choice(get_args(Preset)), help="What agents may do where no rule applies.")
@read_only_option
@structured_option
@click.option("--deferred", is_flag=True, help="Let clients load tools only when they search for them.")
@click.option("--editor", is_flag=True, help="The client is an editor that you use; its calls count as yours.")
@allow_roots_option
def mcp(
    runner: CommandRunner,
    roots: tuple[str, ...],
    *,
    tools: str | None,
    dialect: str | None,
    permissions: Preset | None,
    read_only: bool,
    structured: bool,
    deferred: bool,
    editor: bool,
    allow_root: tuple[str, ...],
) -> None:
    """Serve agents over MCP on standard input and output.

    An MCP client starts this command itself, once per window. Any number of these servers may run on one root.
    """
    # Takes half a second to import, and only this command needs it.
    from filetools.servers.mcp.options import McpOptions
    from filetools.servers.mcp.transports import until_signal

    known_dialect = None if dialect is None else dialect_named(dialect)
    folders = _folders(roots or ())
    _refuse_number(runner, known_dialect, len(roots or ()))
    refuse_relative(roots or ())
    options = McpOptions(
        tools=named(tools),
        dialect=known_dialect,
        is_editor=editor,
        only_reads=read_only,
        structured=structured,
        is_deferred=deferred,
        session=named_session(),
        file_root=folders[0].real if folders else None,
    )
    options.selected()
    preset: Preset | None = "read_only" if read_only else permissions
    _leave(asyncio.run(until_signal(_serve(runner, folders, options, preset, allow_root or ()))))


async def _serve(
    runner: CommandRunner,
    folders: Sequence[Folder],
    options: McpOptions,
    permissions: Preset | None,
    allow_roots: Sequence[str],
) -> None:
    from filetools.servers.mcp.transports import serve_roots_stdio, serve_stdio

    def opening(place: Path) -> Opening:
        settings = allowing(_settings(runner, place, options.dialect, permissions)[0], allow_roots)
        # The mirror and the state directory belong to the folder of the command line, not to roots from a client.
        shared = runner.options if any(place == folder.given for folder in folders) else SharedOptions()
        return open_workspace(place, mirror=shared.mirror, state_dir=shared.state_dir, settings=settings)

    if options.dialect is not None and options.dialect.takes_several_roots:
        await serve_roots_stdio(opening, folders, options)
        return
    async with opening(folders[0].given) as files:
        await serve_stdio(files, options)


def named(tools: str | None) -> tuple[str, ...] | None:
    """Split a comma-separated list of names; None stays None."""
    return None if tools is None else tuple(name.strip() for name in tools.split(",") if name.strip())


def allowing(settings: Settings, allow_roots: Sequence[str] | None) -> Settings:
    """Return settings that allow the tools of the group `context` to read further folders."""
    wanted = (*settings.allow_roots, *(os.path.abspath(os.path.expanduser(each)) for each in allow_roots or ()))
    return replace(settings, allow_roots=wanted)


def _leave(received: signal.Signals | None) -> NoReturn:
    """End the process after everything is closed, by the received signal if there was one.

    Interpreter shutdown takes about a second with this many modules, and a client that closes would have to wait for it.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    if received is not None:
        signal.signal(received, signal.SIG_DFL)
        signal.raise_signal(received)
    os._exit(0)


def _folders(names: Sequence[str]) -> list[Folder]:
    """Return the folders of the command line; if there are several, missing ones are skipped with a warning."""
    from filetools.servers.mcp.roots_server import folder_at

    found = {name: folder_at(name) if name else None for name in names}
    missing = [name for name, folder in found.items() if folder is None]
    if missing and len(missing) == len(found):
        raise click.BadParameter(f"There is no directory {missing[0]!r}.", param_hint="ROOT")
    for name in missing:
        print_note(f"warning: {name!r} is not a folder and is not served")
    return [folder for folder in found.values() if folder is not None]


def _refuse_number(runner: CommandRunner, dialect: Dialect | None, count: int) -> None:
    """Check that the number of roots is supported.

    Raises:
        InvalidArgumentError: The dialect, a mirror or a state directory requires exactly one root.
    """
    if count == 1:
        return
    if dialect is None or not dialect.takes_several_roots:
        what = "needs a ROOT" if not count else "serves one ROOT"
        who = "This command" if dialect is None else f"The dialect {dialect.name!r}"
        raise InvalidArgumentError(f"{who} {what}; only {_SEVERAL} accepts several, or those of the client")
    for name, value in (("--mirror", runner.options.mirror), ("--state-dir", runner.options.state_dir)):
        if value is not None:
            raise InvalidArgumentError(f"{name} requires exactly one ROOT")


def _settings(
    runner: CommandRunner, root: Path, dialect: Dialect | None, permissions: Preset | None
) -> tuple[Settings, Mapping[str, str]]:
    """Return the settings of a root with their sources; settings that are not set take the dialect's default."""
    settings, sources = CommandRunner(structs.replace(runner.options, root=root)).settings(permissions=permissions)
    usual = {} if dialect is None else dialect.settings
    wanted = {name: value for name, value in usual.items() if sources[name] == "default"}
    return replace(settings, **wanted), sources


@command(
    "serve",
    ("state_dir", "mirror", "durability"),
    examples=("filetools serve . --open", "filetools serve ~/project --host 0.0.0.0 --permissions guarded"),
)
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Root of the workspace.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, help="Port to listen on; 0 selects a free one.")
@click.option(
    "--name",
    multiple=True,
    metavar="NAME",
    help="Host name that clients use, such as a proxy's.",
)
@click.option(
    "--allow-origin", multiple=True, metavar="URL", help="Origin whose pages may call, such as http://localhost:3000."
)
@click.option("--open", "open_page", is_flag=True, help="Log your browser in: you may edit and approve there.")
@groups_option
@dialect_option
@click.option(
    "--permissions",
    type=click.Choice(get_args(Preset)),
    help="What agents may do where no rule applies. Default: allow, or ask with --open.",
)
@read_only_option
@structured_option
@click.option(
    "--token-file", type=click.Path(dir_okay=False, path_type=Path), help="File with the token that callers must send."
)
@allow_roots_option
@click.option(
    "--agent",
    metavar="COMMAND",
    help="Agent to run at /v1/chat/completions; must speak stream-json.",
)
@click.option(
    "--max-steps", type=click.IntRange(1), default=200, help="Maximum number of turns with tool calls of the agent."
)
@click.option(
    "--max-seconds",
    type=click.IntRange(1),
    default=1200,
    help="Maximum time of the agent for one response, in seconds.",
)
def serve(
    runner: CommandRunner,
    root: Path,
    *,
    host: str,
    port: int,
    name: tuple[str, ...],
    allow_origin: tuple[str, ...],
    open_page: bool,
    tools: str | None,
    dialect: str | None,
    permissions: Preset | None,
    read_only: bool,
    structured: bool,
    token_file: Path | None,
    allow_root: tuple[str, ...],
    agent: str | None,
    max_steps: int,
    max_seconds: int,
) -> None:
    """Serve files, tools and changes over HTTP, and MCP at /mcp.

    Callers need the token, browsers a login. The first printed line is the address; the second names the file with the
    token, which only you can read.
    """
    # Takes a second to import, and only this command needs it.
    from filetools.servers.http.options import AgentOptions, HttpOptions
    from filetools.servers.http.serving import listen
    from filetools.servers.http.serving import serve as serve_http
    from filetools.servers.mcp.options import McpOptions
    from filetools.sessions.agent_process import AgentLimits

    refuse_relative([str(root)])
    place = root.resolve()
    mirror, state = runner.options.mirror, runner.options.state_dir
    known_dialect = None if dialect is None else dialect_named(dialect)
    mcp_options = McpOptions(tools=named(tools), dialect=known_dialect, only_reads=read_only, structured=structured)
    mcp_options.selected()
    settings, sources = _settings(runner, place, known_dialect, "read_only" if read_only else permissions)
    must_ask = open_page and sources["permissions"] == "default"  # a person is present, and no preset was chosen
    settings = allowing(replace(settings, permissions="ask") if must_ask else settings, allow_root)
    token = None if token_file is None else read_token(token_file)
    options = HttpOptions(
        host=host, port=port, names=tuple(name), origins=tuple(allow_origin), mcp=mcp_options,
        person=user_name(),
        agent=None if agent is None
        else AgentOptions(command=agent, max_steps=max_steps, limits=AgentLimits(seconds=max_seconds)),
    )  # fmt: skip
    listener = listen(options)

    async def run() -> None:
        async with open_workspace(place, mirror=mirror, state_dir=state, settings=settings) as files:
            secrets = own_directory(place, state) or files.state_directory
            if open_page and settings.permissions == "ask":
                await files.require_approvals()  # also for agents that connect by other interfaces
            # Also on the loopback address: every user and every sandboxed program of this machine can reach it.
            at = listener.guarded_by(own_token(secrets) if token is None else token)

            def announce(application: ServerApplication) -> None:
                new_code = application.shared.logins.new_code if open_page else None
                _announce(place, at, token_file or secrets / TOKEN_FILE, new_code, must_ask=must_ask)

            await serve_http(files, at, announce)

    asyncio.run(run())


def _announce(
    place: Path, at: Listener, token_file: Path, new_code: Callable[[], str] | None, *, must_ask: bool
) -> None:
    """Print what is served at which address, and log a browser in if login codes are available."""
    here, *elsewhere = at.addresses
    print_line(f"Serving {printable(str(place))} at {here}")
    file = printable(shlex.quote(str(token_file)))
    print_line(f'Callers need the token: curl -H "Authorization: Bearer $(cat {file})" {here}/v1/list')
    for address in elsewhere:
        print_line(f"Other machines reach it at {address}")
    if (agent := at.options.agent) is not None:
        print_line(f"The agent {printable(agent.model)} answers at {here}/v1/chat/completions")
    if new_code is not None:
        print_line(f"Log in, once and within a minute: {at.addresses[-1]}/login#code={new_code()}")
    if must_ask:
        print_line("Agents need your approval to change files; '--permissions allow' turns that off.")
    sys.stdout.flush()
    if new_code is not None:
        # A code is valid once: if this browser used the printed one, the printed address would not work elsewhere.
        webbrowser.open(f"{here}/login#code={new_code()}")
