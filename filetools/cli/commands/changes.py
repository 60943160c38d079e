"""Commands that show changes: `log`, `follow`, `versions`, `diff`, `who`."""

from __future__ import annotations

from typing import Final

import click

import filetools.models as models
from filetools.cli.command import command
from filetools.cli.parameters import (
    ENTRY,
    is_folder,
    path_argument,
    run_option,
    since_option,
    time_or_number,
    until_option,
)
from filetools.cli.records import (
    ACTOR_STYLES,
    VERBS,
    change_line,
    change_to_dict,
    checkpoint_to_compare,
    compared,
    counted,
    group_line,
    moment,
    patch_of,
    print_unread,
    together,
    tree_change_line,
)
from filetools.cli.runner import CHANGING, READING, CommandRunner
from filetools.cli.terminal import (
    DIFFERS,
    STDOUT,
    amount,
    print_diff,
    print_json,
    print_line,
    print_note,
    printable,
    printable_line,
)
from filetools.content.ends import split_lines, without_end
from filetools.errors import InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import VersionsResult
from filetools.models.history import LineRange, ProvenanceResult
from filetools.models.records import Operation

_MOST_GROUPED: Final = 1000
"""Maximum number of changes searched for groups."""


@command(
    "log",
    READING,
    examples=(
        "filetools log",
        "filetools log src -p -n 5",
        "filetools log --of alice --since 2h",
        "filetools log --run run-1a208eb102b5ff5 --json",
    ),
)
@click.argument("path", required=False, type=ENTRY, help="Only changes of this file or folder.")
@click.option("-n", "--number", type=click.IntRange(1, 1000), default=20, help="Maximum number of changes.")
@click.option("-p", "--patch", is_flag=True, help="Also show the diff of each change.")
@click.option("--of", metavar="NAME", help="Only changes by this actor.")
@click.option("--session", metavar="ID", help="Only changes of this session.")
@click.option("--run", metavar="ID", help="Only changes of this run.")
@since_option
@until_option
async def log(
    runner: CommandRunner,
    files: FileToolsFacade,
    path: str | None,
    *,
    number: int,
    patch: bool,
    of: str | None,
    session: str | None,
    run: str | None,
    since: str | None,
    until: str | None,
) -> None:
    """Print the newest changes, newest first.

    The log shows changes by agents, by people, and by programs that do not use filetools. The tree, or the file, is scanned
    first; changes made while no filetools process watched are recorded with the time of the scan. Changes that one program
    made at once are one line, unless -p or --json is given.
    """
    start, end = time_or_number(since), time_or_number(until)
    where = None if path is None else runner.path(path) or None
    seen = await files.look() if await is_folder(files, where or "") else models.LookResult()
    is_each = patch or runner.options.as_json
    records = await files.latest_changes(
        number if is_each else _MOST_GROUPED, path=where, actor=of, session=session, run=run, since=start, until=end
    )
    if not records and where is not None:
        await files.file_info(where)  # raises if the path does not exist either
    patches = [await patch_of(files, record, exact=_is_for_programs(runner)) if patch else None for record in records]
    if not runner.options.as_json:
        groups = [(record,) for record in records] if is_each else together(records)
        for group, text in zip(groups[:number], patches, strict=False):
            STDOUT.print(group_line(group))
            if text is not None:
                print_diff(text)
                print_line()
        if not is_each and len(records) == _MOST_GROUPED and len(groups) <= number:
            print_note(f"Older changes: --until {records[-1].number - 1}")
        if not records:
            print_note("No change is recorded.")
        if runner.lacks_state:
            runner.note_no_state()
        elif not seen.recorded:
            print_note("Changes made while no process watched are not recorded: the state is not writable.")
        print_unread(seen.unread)
    epoch = (await files.status())["epoch"]
    changes = [
        change_to_dict(record, epoch) | ({} if text is None else {"diff": text})
        for record, text in zip(records, patches, strict=True)
    ]
    runner.show({"changes": changes, "unread": seen.unread}, lambda _: None)


@command(
    "follow",
    CHANGING,
    examples=("filetools follow", "filetools follow --json | jq .path", "filetools follow --since 3f2a9c:120"),
    watch=True,
)
@click.option("--since", metavar="POSITION", help="Start after this position, such as 3f2a9c:120; default: now.")
async def follow(runner: CommandRunner, files: FileToolsFacade, *, since: str | None) -> None:
    """Print changes as they happen, until interrupted.

    With --json every change is one line with the position to pass to --since.
    """
    status = await files.status()
    epoch = status["epoch"]
    start = since or f"{epoch}:{status['position']}"
    if since is not None and (await files.changes(since, limit=1)).resync:
        print_note("Some changes since that position are no longer known: read the tree again.")

    print_note("Following: each change is printed as one line. Ctrl-C stops.")
    async for record in files.follow(start):
        if runner.options.as_json:
            print_json(change_to_dict(record, epoch))
        else:
            STDOUT.print(change_line(record))


_SHORT: Final = 12
_MOST_CHANGES: Final = 10_000


@command("versions", READING, examples=("filetools versions src/app.py",))
@path_argument
@click.option("-n", "--number", type=click.IntRange(1, 1000), default=20, help="Maximum number of versions.")
async def versions(runner: CommandRunner, files: FileToolsFacade, path: str, *, number: int) -> None:
    """List the versions that a file has had, newest first.

    The list includes versions by other programs, and replaced ones; read one with 'filetools read --version'.
    """
    where = runner.path(path)
    result = await files.versions(where, limit=number)
    if not result.versions:
        await files.file_info(where)  # raises if the file does not exist either
    runner.show(result, lambda result: _show_versions(runner, result))


@command(
    "diff",
    READING,
    examples=(
        "filetools diff",
        "filetools diff --since before-refactoring src",
        "filetools diff src/app.py",
        "filetools diff src/app.py 3f2a9c117b40",
        "filetools diff a.md 3f2a 77c1",
    ),
)
@click.argument(
    "path",
    required=False,
    type=ENTRY,
    help="A file or folder; by default the whole tree.",
)
@click.argument(
    "old",
    required=False,
    metavar="[VERSION]",
    help="A version, or its first digits.",
)
@click.argument(
    "new",
    required=False,
    metavar="[VERSION]",
    help="A version, or its first digits.",
)
@click.option("--since", metavar="NAME", help="Compare with this checkpoint.")
@click.option(
    "--until",
    metavar="NAME",
    help="Compare up to this checkpoint, not up to now.",
)
@run_option
async def diff(
    runner: CommandRunner,
    files: FileToolsFacade,
    path: str | None,
    old: str | None,
    new: str | None,
    *,
    since: str | None,
    until: str | None,
    run: str | None,
) -> None:
    """Show what changed in the whole tree, or in a file.

    The tree or a folder is compared with your last checkpoint, or with that of --since or --run. Automatic checkpoints are
    used only if you name them. A file is compared with the version before its last change, or with one VERSION, or with
    the checkpoint of --since or --run; two VERSIONs are compared with each other. Exit code 1 if they differ.
    """
    is_of_tree = since is not None or run is not None
    if (since is not None and run is not None) or (until is not None and not is_of_tree) or (old and is_of_tree):
        raise click.BadParameter("give only one of --since, --run and versions; --until goes with --since or --run")

    where = "" if path is None else runner.path(path)
    if is_of_tree or (old is None and await is_folder(files, where)):
        name = since or await checkpoint_to_compare(files, run)
        if name is None:
            raise InvalidArgumentError(
                "You have no checkpoint to compare with",
                suggested_action="Make one with 'filetools checkpoint'; name an automatic one with --since, a run with"
                " --run, or a file; 'filetools log -p' shows each change.",
            )
        tree = await files.diff_tree(
            name, until, path=where, patch=True, limit=_MOST_CHANGES, exact=_is_for_programs(runner)
        )
        if tree.total:
            runner.note_failure(DIFFERS)
        runner.show(tree, _show_tree_diff)
        return
    file = await _file_diff(runner, files, where, old, new)
    if file.diff:
        runner.note_failure(DIFFERS)
    runner.show(file, _show_diff)


def _is_for_programs(runner: CommandRunner) -> bool:
    """Return True if a diff is written to a pipe or a file, so that it must be exact and applicable."""
    return not runner.options.as_json and not STDOUT.is_terminal


async def _file_diff(
    runner: CommandRunner, files: FileToolsFacade, where: str, old: str | None, new: str | None
) -> models.DiffResult:
    if old is None and not await files.latest_changes(1, path=where):
        await files.file_info(where)  # raises if the file does not exist either
    return await files.diff(where, old, new, exact=_is_for_programs(runner))


@command("who", READING, examples=("filetools who src/app.py", "filetools who --json a.md"))
@path_argument
async def who(runner: CommandRunner, files: FileToolsFacade, path: str) -> None:
    """Show who last changed each line of a file.

    Each line has its change, actor and time; the runs of agents that wrote lines are listed below. Moves are followed.
    "external" is a program that does not use filetools; lines without a name are older than the known history.
    """
    where = runner.path(path)
    result = await files.provenance(where)
    if not runner.options.as_json:
        _show_lines(result, (await files.read_file(where)).content)
    runner.show(result, lambda _: None)


def _show_versions(runner: CommandRunner, result: VersionsResult) -> None:
    for entry in result.versions:
        size = "" if entry.size is None else amount(entry.size, "byte")
        print_line(
            (f"{entry.number:>6}  {moment(entry.time)}  ", "dim"),
            (f"{printable(str(entry.actor['id'])):<10} ", ACTOR_STYLES[str(entry.actor["kind"])]),
            f"{VERBS[Operation(entry.operation)]:<9}",
            (f"{entry.version.removeprefix('sha256:')[:_SHORT]}  ", "" if entry.kept else "dim"),
            (size if entry.kept else f"{size}, no longer kept", "dim"),
        )
    if not result.versions:
        print_note(f"No version of {result.path} is recorded.")
        runner.note_no_state()


def _show_diff(result: models.DiffResult) -> None:
    print_diff(result.diff)
    if not result.diff:
        print_note("No difference.")


def _show_tree_diff(result: models.TreeDiffResult) -> None:
    for change in result.changes:
        if change.diff is None:
            why = "" if change.diff_omitted is None else f"  no diff: {change.diff_omitted}"
            print_line(tree_change_line(change), (why, "dim"))
        else:
            print_diff(change.diff)
    print_unread(result.unread, result.unknown)
    if result.total > len(result.changes):
        print_note(f"… and {result.total - len(result.changes):,} more")
    print_note(
        f"{counted(result.counts)} {compared(result)}." if result.total else f"No difference {compared(result)}."
    )


def _show_lines(result: ProvenanceResult, content: str) -> None:
    lines = list(map(without_end, split_lines(content)))
    width = len(str(result.total_lines))
    for part in result.ranges:
        for number in range(part.first, part.last + 1):
            text = printable_line(lines[number - 1]) if number <= len(lines) else ""
            print_line(*_author(part, is_first=number == part.first), (f"{number:>{width}}  ", "dim"), text)
    _show_runs(result)


def _show_runs(result: ProvenanceResult) -> None:
    """Print the lines written by each run, and below them its prompt."""
    places: dict[tuple[str, str], list[str]] = {}
    for part in result.ranges:
        if part.run is not None:
            turn = f" (turn {part.run['turn']})" if "turn" in part.run else ""
            span = f"{part.first}-{part.last}" if part.first < part.last else str(part.first)
            places.setdefault((part.run["id"], part.run["prompt"]), []).append(span + turn)
    for (run, prompt), spans in places.items():
        print_line((run, ACTOR_STYLES["agent"]), (f"  lines {', '.join(spans)}", "dim"))
        if prompt:
            print_line(f"  {printable_line(prompt)}")


def _author(part: LineRange, *, is_first: bool) -> list[tuple[str, str]]:
    """Return change, actor and time for the first line of a range, blanks for the others."""
    if not is_first:
        return [(" " * 28, "")]
    if part.actor is None:
        return [(f"  before {part.before}".ljust(28), "dim")]
    when = "" if part.time is None else moment(part.time, short=True)
    name = printable(str(part.actor["id"]))[:10]
    return [
        (f"{part.number or '':>6} ", "dim"),
        (f"{name:<10} ", ACTOR_STYLES[str(part.actor["kind"])]),
        (f"{when:<10}", "dim"),
    ]
