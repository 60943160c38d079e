"""The application: every command in its place, and how the process ends."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from filetools.cli.command import shared_before_commands
from filetools.cli.commands import (
    answering,
    arranging,
    checking,
    editing,
    feed,
    going_back,
    keeping,
    looking_back,
    mirror,
    playing,
    reading,
    searching,
    serving,
    serving_http,
    tools,
    writing,
)
from filetools.cli.help_page import PagedGroup
from filetools.cli.terminal import use_terminal
from filetools.cli.usage import run
from filetools.distribution import installed_version

app: Final = typer.Typer(
    name="filetools",
    cls=PagedGroup,
    help="File tools for AI agents and editors: one tree, many writers, nothing lost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (
    playing, reading, searching, writing, editing, arranging, feed, looking_back, keeping, going_back, mirror, tools, serving,
    serving_http, answering, checking
):  # fmt: skip
    part.register(app)


def main() -> None:
    """Run the command line with the arguments of the process; ends the process with its exit code."""
    use_terminal()
    run(app)


def _start(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=lambda on: _show(on))
    ] = False,
) -> None:
    """File tools for AI agents and editors: one tree, many writers, nothing lost."""


app.callback()(shared_before_commands(_start))


def _show(wanted: bool) -> None:
    if wanted:
        typer.echo(f"filetools {installed_version() or '0'}")
        raise typer.Exit
