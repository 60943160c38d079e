"""Commands for the tools of agents: `call`, `tools`, `context`, `fd`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

import click

from filetools.cli.command import command
from filetools.cli.runner import CHANGING, READING, CommandRunner
from filetools.cli.terminal import (
    STDOUT,
    exit_code,
    print_facts,
    print_json,
    print_line,
    print_note,
    print_table,
    print_text,
    printable,
)
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import DIALECTS, dialect_named
from filetools.tools.exports import ExportFormat, exported
from filetools.tools.handlers import descriptors as descriptor_tools
from filetools.tools.registry import FILE_TOOLS, chosen
from filetools.tools.tool import AnyTool, ToolContext

DEFAULT_GROUP: Final = "core"
"""The default group for models; each further definition costs attention."""


@command(
    "call",
    CHANGING,
    examples=('filetools call read_file \'{"path": "src/app.py"}\'', "echo '{}' | filetools call list_files -"),
)
@click.argument("tool", help="Name of the tool; 'filetools tools' lists them.")
@click.argument(
    "arguments", default="{}", metavar="[JSON]", help="Its arguments as a JSON object; - reads standard input."
)
def call(runner: CommandRunner, tool: str, arguments: str) -> None:
    """Call a tool as an agent does and print its envelope.

    Paths in the arguments are relative to the root.
    """
    given = _object(sys.stdin.read() if arguments == "-" else arguments)

    async def work(files: FileToolsFacade) -> None:
        envelope = await files.call_tool(tool, given)
        if runner.options.as_json or not STDOUT.is_terminal:
            print_json(envelope)
        else:
            STDOUT.console.print_json(data=envelope)
        if not envelope["success"]:
            runner.note_failure(exit_code(envelope["error_code"], envelope["details"].get("cause")))

    (runner.read if _only_reads(tool) or given.get("dry_run") is True else runner.perform)(work)


def _only_reads(name: str) -> bool:
    """Return True if a tool changes nothing, or does not exist."""
    found = next((tool for tool in FILE_TOOLS if tool.name == name), None)
    # Watching needs a journal that records the changes of others.
    return found is None or (found.effect == "read" and name != "watch_changes")


@command(
    "tools",
    ("as_json",),
    examples=(
        "filetools tools",
        "filetools tools --format anthropic --tools core,batches > tools.json",
        "filetools tools --format openai-responses --dialect apply-patch",
    ),
)
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(ExportFormat)),
    help="Print definitions for this interface of a model.",
)
@click.option(
    "--tools",
    "wanted",
    metavar="NAME,…",
    help="Groups or names of tools, separated by commas; by default all, or core for a model's format.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help=f"The tools of another product: {', '.join(each.name for each in DIALECTS)}.",
)
def tools(runner: CommandRunner, *, form: ExportFormat | None, wanted: str | None, dialect: str | None) -> None:
    """List the tools that agents get, or print their definitions for a model."""
    known_dialect = None if dialect is None else dialect_named(dialect)
    present = FILE_TOOLS if known_dialect is None else known_dialect.tools
    if wanted is not None:
        present = tuple(chosen(present, [name.strip() for name in wanted.split(",") if name.strip()]))
    elif known_dialect is None and form is not None:
        present = tuple(chosen(present, [DEFAULT_GROUP]))
    if form is not None:
        _print_definitions(exported(present, form, hosted=None if known_dialect is None else known_dialect.hosted))
    elif runner.options.as_json:
        _print_definitions([tool.definition() for tool in present])
    else:
        _print_table(present)


def _print_definitions(definitions: object) -> None:
    print(json.dumps(definitions, indent=2, ensure_ascii=False))  # noqa: T201


def _print_table(tools: Sequence[AnyTool]) -> None:
    sentences = (f"{tool.description.partition('. ')[0].rstrip('.')}." for tool in tools)
    rows = ((tool.name, tool.group, tool.effect, sentence) for tool, sentence in zip(tools, sentences, strict=True))
    print_table(rows, "tool", "group", "effect", "description")


def _object(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError as exc:
        raise click.BadParameter(f"the arguments are not JSON: {exc}") from exc
    if not isinstance(given, dict):
        raise click.BadParameter('the arguments must be a JSON object, such as \'{"path": "notes.md"}\'')
    return given


_WORK_TREES: Final = {True: "uncommitted changes", False: "clean", None: "changes unknown"}
Part = Mapping[str, Any]


@command(
    "context",
    ("root", "as_json"),
    examples=("filetools context", "filetools context ~/api --json", "filetools context --prompt"),
    reads=True,
)
@click.argument("path", default=".", help="Any folder; by default the working folder.")
@click.option("--prompt", is_flag=True, help="Print only the text for a prompt.")
async def context(runner: CommandRunner, files: FileToolsFacade, path: str, *, prompt: bool) -> None:
    """Show the context that agents get about a folder, and its text for a prompt.

    Nothing in the folder is run or changed.
    """
    from filetools.tools.handlers.overview import overview

    registered: dict[str, Any] = await files.projects.run(
        lambda registry: {"projects": registry.list_projects(), "instances": registry.instances()}
    )
    place = runner.workplace
    found = overview(path, base=str(place.folder if place.is_inside else place.root), **registered)
    runner.show(found, (lambda _: print_line(found["prompt"].rstrip("\n"))) if prompt else _show_context)


def _show_context(found: Part) -> None:
    parts = {"git": _git, "readme": _readme, "instructions": _instructions, "dependencies": _needs}
    facts = [(name, found[name].get("error") or text(found[name]) or "none") for name, text in parts.items()]
    print_facts([("path", found["path"]), *facts])
    print_line()
    print_line(found["prompt"].rstrip("\n"))


def _git(git: Part) -> str:
    branch = "detached" if git.get("detached") else git["branch"]
    apart = "".join(f", {git[name]} {name}" for name in ("ahead", "behind") if name in git)
    return f"{branch}{apart}, {_WORK_TREES[git.get('dirty')]}"


def _readme(readme: Part) -> str:
    return "" if readme["content"] is None else str(readme["path"])


def _instructions(found: Part) -> str:
    return ", ".join(entry["path"] for entry in found["files"] if "content" in entry)


def _needs(found: Part) -> str:
    counts = Counter(need["kind"] for need in found["dependencies"])
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


fd = click.Group(
    "fd",
    help="Read the long tool results that are stored as descriptors.\n\nThe option --actor selects the agent.",
    epilog="\b\nExamples:\n  filetools fd list --actor claude-code\n  filetools fd read fd:1 --actor claude-code",
)
fd_argument = click.argument("fd", help="Id, such as fd:1; 'filetools fd list' lists them.")


@command("list", READING, group=fd, examples=("filetools fd list --actor claude-code",))
async def list_descriptors(runner: CommandRunner, files: FileToolsFacade) -> None:
    """List the descriptors that can be read, with their sizes."""
    from filetools.tools.arguments import NoParameters

    runner.show(await descriptor_tools.list_fds(_context(files), NoParameters()), _show_rows)


@command(
    "read",
    READING,
    group=fd,
    examples=("filetools fd read fd:1", "filetools fd read fd:1 --mode line --start 100 --count 20"),
)
@fd_argument
@click.option("--mode", type=click.Choice(["page", "line", "char"]), help="Unit of --start and --count.")
@click.option("--start", type=int, metavar="N", help="First unit; characters are counted from 0.")
@click.option("--count", type=int, metavar="N", help="Number of units; default 1.")
async def read(
    runner: CommandRunner,
    files: FileToolsFacade,
    fd: str,
    *,
    mode: Literal["page", "line", "char"] | None,
    start: int | None,
    count: int | None,
) -> None:
    """Print the text of a descriptor: all of it, or some pages, lines or characters."""

    is_whole = mode is None and start is None and count is None
    wanted = descriptor_tools.ReadFd(
        fd=fd, read_all=is_whole, mode=mode or "page", start=start, count=1 if count is None else count
    )
    found = await descriptor_tools.read_fd(_context(files), wanted)
    runner.show(found, lambda found: print_text(found["content"]))


@command(
    "search",
    READING,
    group=fd,
    examples=("filetools fd search fd:1 error -i", "filetools fd search fd:1 'E[0-9]+' --regex"),
)
@fd_argument
@click.argument("pattern", help="Text to find.")
@click.option("--regex", "-E", is_flag=True, help="PATTERN is a regular expression.")
@click.option("--ignore-case", "-i", is_flag=True, help="Ignore case.")
@click.option("--context", "-C", type=click.IntRange(0, 20), default=0, metavar="N", help="Lines around each match.")
async def search(
    runner: CommandRunner,
    files: FileToolsFacade,
    fd: str,
    pattern: str,
    *,
    regex: bool,
    ignore_case: bool,
    context: int,
) -> None:
    """Find lines in the text of a descriptor."""
    wanted = descriptor_tools.SearchFd(
        fd=fd,
        pattern=pattern,
        regex=regex,
        ignore_case=ignore_case,
        context=context,
        max_matches=descriptor_tools.MOST_MATCHES,
    )

    found = await descriptor_tools.search_fd(_context(files), wanted)
    if not found["matches"]:
        runner.note_failure(1)  # like grep
    runner.show(found, _show_rows)


@command(
    "save",
    CHANGING,
    group=fd,
    examples=("filetools fd save fd:1 result.txt", "filetools fd save fd:1 all.log --append"),
)
@fd_argument
@click.argument("path", help="File to write.")
@click.option("--append", is_flag=True, help="Add to the end of the file.")
@click.option("--new", is_flag=True, help="Fail if the file exists.")
async def save(runner: CommandRunner, files: FileToolsFacade, fd: str, path: str, *, append: bool, new: bool) -> None:
    """Write the whole text of a descriptor to a file."""
    wanted = descriptor_tools.FdToFile(
        fd=fd, file_path=runner.path(path), mode="append" if append else "write", exist_ok=not new
    )
    saved = await descriptor_tools.fd_to_file(_context(files), wanted)
    runner.show(saved, lambda saved: print_note(saved["message"]))


def _context(files: FileToolsFacade) -> ToolContext:
    return ToolContext(files=files, report=lambda *_: None)


def _show_rows(data: Mapping[str, Any]) -> None:
    from filetools.tools.answers.seen import TextLimits

    for row in descriptor_tools.present({"success": True, "data": data}, TextLimits()).text.split("\n"):
        print_line(printable(row))
