"""Commands over the tools of agents: `call`, `tools`."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Final, Literal

import typer
from rich.table import Table

from filetools.app import FileToolsFacade
from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.desk import CHANGING, Desk
from filetools.cli.exit_codes import exit_code
from filetools.cli.terminal import STDOUT, print_json, print_table
from filetools.tools import FILE_TOOLS, AnyTool, chosen
from filetools.tools.exports import ExportFormat, exported

_PANEL: Final = "Tools"
DEFAULT_GROUP: Final = "core"
"""What a model gets if nobody says more: each definition costs it attention."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=("filetools call read_file '{\"path\": \"src/app.py\"}'", "echo '{}' | filetools call list_files -"),
    )(call)  # fmt: skip
    workspace_command(
        app, (), panel=_PANEL,
        examples=("filetools tools", "filetools tools --format anthropic --tools core,batches > tools.json"),
    )(tools)  # fmt: skip


def call(
    desk: Desk,
    tool: Annotated[
        str,
        typer.Argument(
            metavar="TOOL",
            help="Name of the tool; 'filetools tools' lists them.",
            autocompletion=suggestions.tool_names,
        ),
    ],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Its arguments as a JSON object; - reads standard input.")
    ] = "{}",
) -> None:
    """Call a tool as an agent does and print its envelope.

    Paths in the arguments are relative to the root.
    """
    given = _object(sys.stdin.read() if arguments == "-" else arguments)

    async def work(files: FileToolsFacade) -> None:
        envelope = await files.call_tool(tool, given)
        if desk.options.as_json or not STDOUT.is_terminal:
            print_json(envelope)
        else:
            STDOUT.print_json(data=envelope)
        if not envelope["success"]:
            desk.note_failure(exit_code(envelope["error_code"], envelope["details"].get("cause")))

    desk.perform(work, lambda _: None)


def tools(
    desk: Desk,
    *,
    form: Annotated[
        Literal["table", "json", ExportFormat], typer.Option("--format", help="How to print them.")
    ] = "table",
    wanted: Annotated[
        str | None,
        typer.Option(
            "--tools",
            metavar="NAME,…",
            help="Groups or names of tools, separated by commas; else all, and for an interface of models the group core.",
        ),
    ] = None,
) -> None:
    """List the tools that agents get, or print their definitions for the interface of a model."""
    if form == "table":
        _print_table(_chosen(wanted, default=None))
    elif form == "json":
        _print_definitions([tool.definition() for tool in _chosen(wanted, default=None)])
    else:
        _print_definitions(exported(_chosen(wanted, default=DEFAULT_GROUP), form))


def _chosen(wanted: str | None, *, default: str | None) -> list[AnyTool]:
    named = wanted if wanted is not None else default
    if named is None:
        return list(FILE_TOOLS)
    return chosen(FILE_TOOLS, [name.strip() for name in named.split(",") if name.strip()])


def _print_definitions(definitions: object) -> None:
    print(json.dumps(definitions, indent=2, ensure_ascii=False))  # noqa: T201


def _print_table(tools: list[AnyTool]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("tool", "group", "effect"):
        table.add_column(heading, header_style="dim", no_wrap=True)
    table.add_column("what it does", header_style="dim", overflow="fold")
    for tool in tools:
        table.add_row(tool.name, tool.group, tool.effect, tool.description.partition(". ")[0].rstrip(".") + ".")
    print_table(table)


def _object(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError as exc:
        raise typer.BadParameter(f"the arguments are no JSON: {exc}") from exc
    if not isinstance(given, dict):
        raise typer.BadParameter('the arguments must be a JSON object, such as \'{"path": "notes.md"}\'')
    return given
