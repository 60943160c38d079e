"""The application: every command in its place, and how the process ends."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from filetools.cli.command import shared_before_commands
from filetools.cli.command_group import CommandGroup
from filetools.cli.terminal import use_terminal
from filetools.cli.usage import run
from filetools.distribution import version_line

app: Final = typer.Typer(
    name="filetools",
    cls=CommandGroup,
    help="File tools for AI agents and editors: one tree, many writers, nothing lost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        typer.echo(version_line())
        raise typer.Exit
