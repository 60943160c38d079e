"""The command that tells what an agent would be told of a folder: `context`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from filetools.cli.command import workspace_command
from filetools.cli.desk import Desk
from filetools.cli.terminal import STDOUT, amount, print_line, printable

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade

_PANEL: Final = "Tools"
_COLUMN: Final = 14
_HIGH: Final = 34
"""Lines of a terminal that has room for more than one row of each sort."""
_STATES: Final = {
    True: ("  uncommitted changes", "yellow"),
    False: ("  clean", "green"),
    None: ("  changes unknown", "dim"),
}
_DULL: Final = ("#", "=", "<", "[!", "![")
Part = Mapping[str, Any]
Pieces = list[tuple[str, str]]
"""Texts of a row, with their styles."""


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    workspace_command(
        app, ("as_json",), panel=_PANEL,
        examples=("filetools context", "filetools context ~/api --json", "filetools context --prompt"),
    )(context)  # fmt: skip


def context(
    desk: Desk,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Any folder; by default the working folder.")] = ".",
    *,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print only the text for a prompt.")] = False,
) -> None:
    """Show what an agent is told of a folder: git, README, instructions, dependencies, and the text for a prompt.

    Nothing in the folder is run, and nothing is made in it.
    """
    from filetools.tools.overview import overview

    async def registered(files: FileToolsFacade) -> dict[str, Any]:
        return await files.projects.run(
            lambda registry: {"projects": registry.list_projects(), "instances": registry.instances()}
        )

    found = overview(path, base=str(desk.workplace.folder), **desk.peek(registered) or {})
    desk.show(found, (lambda _: print_line(found["prompt"].rstrip("\n"))) if prompt else _show)


def _show(found: Part) -> None:
    most = 3 if not STDOUT.is_terminal or STDOUT.console.height >= _HIGH else 1
    print_line((printable(found["path"]), "bold"), (printable(f"  {found.get('repo_name', '')}").rstrip(), "cyan"))
    for name, rows in (("git", _git), ("readme", _readme), ("instructions", _instructions), ("dependencies", _needs)):
        part = found[name]
        _print_rows(name, [[(part["error"], "dim")]] if "error" in part else [*rows(part, most)] or [[("none", "dim")]])
    text = filter(None, found["prompt"].split("\n"))
    _print_rows("prompt", ([(line, "green" if line.startswith("#") else "")] for line in text))


def _git(git: Part, most: int) -> Iterator[Pieces]:
    counts = "".join(f" {sign}{git[name]}" for name, sign in (("ahead", "↑"), ("behind", "↓")) if name in git)
    gone = ", which is gone" if git.get("upstream_gone") else ""
    upstream = f"{counts} of {git['upstream']}{gone}" if "upstream" in git else ""
    branch = "detached" if git.get("detached") else git["branch"]
    yield [(branch, "bold"), (upstream, ""), _STATES[git.get("dirty")]]
    for commit in git["commits"][:most]:
        yield [(commit["hash"], "cyan"), (f" {commit['msg']} ", ""), (commit["age"], "dim")]


def _readme(readme: Part, most: int) -> Iterator[Pieces]:
    if readme["content"] is None:
        return
    total = readme.get("total_chars", len(readme["content"]))
    more = "more than " if readme["truncated"] and "total_chars" not in readme else ""
    yield [(readme["path"].rpartition("/")[2], ""), (f"  {more}{amount(total, 'character')}", "dim")]
    # What stands under its headings, badges and HTML tells a person more than they do.
    lines = (line for line in readme["content"].splitlines() if line.strip() and not line.startswith(_DULL))
    yield from ([(line, "dim")] for line in islice(lines, most))


def _instructions(found: Part, most: int) -> Iterator[Pieces]:
    files = [entry for entry in found["files"] if "content" in entry]
    for entry in files[-most - 1 :]:
        size = f"{amount(len(entry['content']), 'character')}{' and more' if entry['truncated'] else ''}"
        yield [(entry["path"], ""), (f"  {size}  {entry.get('version', '').removeprefix('sha256:')[:12]}", "dim")]
    rules, skills = len(found["files"]) - len(files), len(found.get("skills", ()))
    counts = ((len(files) - most - 1, "more file"), (rules, "rule"), (skills, "skill"))
    if told := ", ".join(amount(count, name) for count, name in counts if count > 0):
        yield [(told, "dim")]


def _needs(found: Part, most: int) -> Iterator[Pieces]:
    for kind in ("runtime", "dev")[:most]:
        needs = [need for need in found["dependencies"] if need["kind"] == kind]
        if needs:
            names = ", ".join(f"{need['name']} {need.get('version', '')}".strip() for need in needs)
            yield [(f"{len(needs)} {kind}  ", "dim"), (names, "")]
    yield from ([(warning, "yellow")] for warning in found.get("warnings", ())[:1])


def _print_rows(name: str, rows: Iterable[Pieces]) -> None:
    """Print the rows of a part beside its name, cut at the edge of a terminal; a pipe gets all of each."""
    for number, pieces in enumerate(rows):
        safe = ((printable(text), style) for text, style in pieces)
        line = Text.assemble((("" if number else name).ljust(_COLUMN), "bold blue"), *safe)
        if STDOUT.is_terminal:
            line.truncate(STDOUT.width, overflow="ellipsis")
        print_line(line)
