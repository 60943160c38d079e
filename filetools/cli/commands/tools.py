"""Commands over the tools of agents: `call`, `tools`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from rich.table import Table

from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.desk import CHANGING, Desk
from filetools.cli.exit_codes import exit_code
from filetools.cli.terminal import STDOUT, print_json, print_table
from filetools.tools.dialects import DIALECTS, dialect_named
from filetools.tools.exports import ExportFormat, exported
from filetools.tools.registry import FILE_TOOLS, chosen
from filetools.tools.tool import AnyTool

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade

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
        app, ("as_json",), panel=_PANEL,
        examples=("filetools tools", "filetools tools --format anthropic --tools core,batches > tools.json",
                  "filetools tools --format openai-responses --dialect apply-patch"),
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
            STDOUT.console.print_json(data=envelope)
        if not envelope["success"]:
            desk.note_failure(exit_code(envelope["error_code"], envelope["details"].get("cause")))

    (desk.read if _only_reads(tool) else desk.perform)(work, lambda _: None)


def _only_reads(name: str) -> bool:
    """Whether a tool leaves everything as it is; one that there is not does, too."""
    found = next((tool for tool in FILE_TOOLS if tool.name == name), None)
    # Who watches wants what others do from now on, and a journal in which it is recorded.
    return found is None or (found.effect == "read" and name != "watch_changes")


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
    dialect: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The tools of another product, by their names: {', '.join(each.name for each in DIALECTS)}.",
        ),
    ] = None,
) -> None:
    """List the tools that agents get, or print their definitions for the interface of a model."""
    if desk.options.as_json and form == "table":
        form = "json"
    spoken = None if dialect is None else dialect_named(dialect)
    present = FILE_TOOLS if spoken is None else spoken.tools
    if wanted is not None:
        present = tuple(chosen(present, [name.strip() for name in wanted.split(",") if name.strip()]))
    elif spoken is None and form not in ("table", "json"):
        present = tuple(chosen(present, [DEFAULT_GROUP]))
    if form == "table":
        _print_table(present)
    elif form == "json":
        _print_definitions([tool.definition() for tool in present])
    else:
        _print_definitions(exported(present, form, hosted=None if spoken is None else spoken.hosted))


def _print_definitions(definitions: object) -> None:
    print(json.dumps(definitions, indent=2, ensure_ascii=False))  # noqa: T201


def _print_table(tools: Sequence[AnyTool]) -> None:
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
