"""Commands that look back: `versions`, `diff`, `who`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

import filetools.models as models
from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.commands.parameters import PathArgument, whole_version
from filetools.cli.desk import READING, Desk
from filetools.cli.exit_codes import DIFFERS
from filetools.cli.records import actor_style, between, moment, verb_of
from filetools.cli.terminal import STDERR, amount, print_diff, print_line, print_note, printable, printable_line
from filetools.cli.tree_changes import change_line, compared, counted, required_checkpoint, unsure_lines
from filetools.errors import FileToolsError
from filetools.models.records import Operation

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.files import VersionEntry, VersionsResult
    from filetools.models.history import LineRange, ProvenanceResult
    from filetools.models.result import Result

_PANEL: Final = "Changes"
_SHORT: Final = 12
_MOST_VERSIONS: Final = 1000
_MOST_CHANGES: Final = 10_000

Version = Annotated[
    str | None,
    typer.Argument(metavar="VERSION", help="A version, or its first digits.", autocompletion=suggestions.versions),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(app, READING, panel=_PANEL, examples=("filetools versions src/app.py",))(versions)
    workspace_command(
        app, READING, panel=_PANEL,
        examples=(
            "filetools diff", "filetools diff --since before-refactoring src", "filetools diff src/app.py",
            "filetools diff src/app.py 3f2a9c117b40", "filetools diff a.md 3f2a 77c1",
        ),
    )(diff)  # fmt: skip
    workspace_command(app, READING, panel=_PANEL, examples=("filetools who src/app.py", "filetools who --json a.md"))(
        who
    )


def versions(
    desk: Desk,
    path: PathArgument,
    *,
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=_MOST_VERSIONS, help="Most changes.")] = 20,
) -> None:
    """List the versions that a file has had, newest first.

    Also those of other programs, and those that were displaced; read one with 'filetools read --version'.
    """

    async def work(files: FileToolsFacade) -> VersionsResult:
        where = desk.path(path)
        result = await files.versions(where, limit=number)
        if not result.versions:
            await files.file_info(where)  # raises if there is no such file either
        return result

    desk.read(work, lambda result: _show_versions(desk, result))


def diff(
    desk: Desk,
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH",
            help="A file, or a folder; without it the whole tree is compared.",
            autocompletion=suggestions.paths,
        ),
    ] = None,
    old: Version = None,
    new: Version = None,
    *,
    since: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compare with this checkpoint.", autocompletion=suggestions.checkpoints),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Compare up to this one, not up to now.", autocompletion=suggestions.checkpoints
        ),
    ] = None,
) -> None:
    """Show what changed in the whole tree, or in a file.

    The whole tree, or a folder, since the last checkpoint, or since that of --since; with it a file, too. A file alone since
    the version before its last change; since another; or between two. Exit code 1 if they differ.
    """
    if (until is not None and since is None) or (old is not None and since is not None):
        raise typer.BadParameter("--until goes with --since, and neither goes with versions")

    async def work(files: FileToolsFacade) -> Result:
        where = "" if path is None else desk.path(path)
        if since is not None or (old is None and await _is_folder(files, where)):
            tree = await _tree_diff(files, where, since, until)
            if tree.total:
                desk.note_failure(DIFFERS)
            return tree
        file = await _file_diff(files, where, old, new)
        if file.diff:
            desk.note_failure(DIFFERS)
        return file

    desk.read(work, _show)


async def _is_folder(files: FileToolsFacade, where: str) -> bool:
    if not where:
        return True
    try:
        return (await files.file_info(where)).type == "directory"
    except FileToolsError:
        return False  # what says so of a file says it better


async def _tree_diff(files: FileToolsFacade, where: str, since: str | None, until: str | None) -> models.TreeDiffResult:
    name = await required_checkpoint(files, since)
    return await files.diff_tree(name, until, path=where, patch=True, limit=_MOST_CHANGES)


async def _file_diff(files: FileToolsFacade, where: str, old: str | None, new: str | None) -> models.DiffResult:
    if old is None and not await files.latest_changes(1, path=where):
        await files.file_info(where)  # raises if there is no such file either
    first, second = await whole_version(files, where, old), await whole_version(files, where, new)
    return await files.diff(where, first, second)


def who(desk: Desk, path: PathArgument) -> None:
    """Show who wrote each line of a file last.

    With the change, the actor and the time, and below them the runs of agents that lines are from. Moves are followed.
    "external" is a program that knows nothing of filetools; lines without a name are older than what is known.
    """

    async def work(files: FileToolsFacade) -> ProvenanceResult:
        where = desk.path(path)
        result = await files.provenance(where)
        if not desk.options.as_json:
            _show_lines(result, (await files.read_file(where)).content)
        return result

    desk.read(work, lambda _: None)


def _show_versions(desk: Desk, result: VersionsResult) -> None:
    for entry in result.versions:
        print_line(*_version_parts(entry))
    if not result.versions:
        print_note(f"No version of {result.path} is recorded.")
        desk.note_no_state()


def _version_parts(entry: VersionEntry) -> list[tuple[str, str]]:
    size = "" if entry.size is None else amount(entry.size, "byte")
    return [
        (f"{entry.number:>6}  {moment(entry.time)}  ", "dim"),
        (f"{printable(str(entry.actor['id'])):<10} ", actor_style(str(entry.actor["kind"]))),
        (f"{verb_of(Operation(entry.operation)):<9}", ""),
        (f"{entry.version.removeprefix('sha256:')[:_SHORT]}  ", "" if entry.kept else "dim"),
        (size if entry.kept else f"{size}, no longer kept", "dim"),
        (between(entry.between), "dim"),
    ]


def _show(result: Result) -> None:
    if isinstance(result, models.TreeDiffResult):
        _show_tree_diff(result)
    elif isinstance(result, models.DiffResult):
        _show_diff(result)


def _show_diff(result: models.DiffResult) -> None:
    print_diff(result.diff)
    if not result.diff:
        print_note("No difference.")


def _show_tree_diff(result: models.TreeDiffResult) -> None:
    for change in result.changes:
        if change.diff is None:
            why = "" if change.diff_omitted is None else f"  no diff: {change.diff_omitted}"
            print_line(change_line(change), (why, "dim"))
        else:
            print_diff(change.diff)
    for line in unsure_lines(result):
        STDERR.print(line)
    if result.total > len(result.changes):
        print_note(f"… and {result.total - len(result.changes):,} more")
    print_note(
        f"{counted(result.counts)} {compared(result)}." if result.total else f"No difference {compared(result)}."
    )


def _show_lines(result: ProvenanceResult, content: str) -> None:
    lines = content.splitlines()
    width = len(str(result.total_lines))
    for part in result.ranges:
        for number in range(part.first, part.last + 1):
            text = printable_line(lines[number - 1]) if number <= len(lines) else ""
            print_line(*_author(part, is_first=number == part.first), (f"{number:>{width}}  ", "dim"), text)
    _show_runs(result)


def _show_runs(result: ProvenanceResult) -> None:
    """Print of each run which lines are from it, and below that what it was told."""
    places: dict[tuple[str, str], list[str]] = {}
    for part in result.ranges:
        if part.run is not None:
            turn = f" (turn {part.run['turn']})" if "turn" in part.run else ""
            span = f"{part.first}-{part.last}" if part.first < part.last else str(part.first)
            places.setdefault((part.run["id"], part.run["prompt"]), []).append(span + turn)
    for (run, prompt), spans in places.items():
        print_line((run, actor_style("agent")), (f"  lines {', '.join(spans)}", "dim"))
        if prompt:
            print_line(f"  {printable_line(prompt)}")


def _author(part: LineRange, *, is_first: bool) -> list[tuple[str, str]]:
    """Return change, actor and time for the first line of a range, and blanks for the others."""
    if not is_first:
        return [(" " * 28, "")]
    if part.actor is None:
        return [(f"  before {part.before}".ljust(28), "dim")]
    when = "" if part.time is None else moment(part.time, short=True)
    name = printable(str(part.actor["id"]))[:10]
    return [
        (f"{part.number or '':>6} ", "dim"),
        (f"{name:<10} ", actor_style(str(part.actor["kind"]))),
        (f"{when:<10}", "dim"),
    ]
