"""Commands that search: `find`, `grep`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from typing import Final, Literal, TypeVar

import click
from rich.text import Text

from filetools.cli.command import command
from filetools.cli.parameters import ENTRY
from filetools.cli.records import show_entries
from filetools.cli.runner import READING, CommandRunner
from filetools.cli.terminal import FAILED, STDOUT, print_line, print_note, printable, printable_line
from filetools.errors import AccessDeniedError, InvalidArgumentError, PathNotFoundError
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import GrepMatch, GrepResult, SearchResult
from filetools.tools.answers.bodies import Line, line_groups, match_lines

_PAGE: Final = 1000
P = TypeVar("P", bound=SearchResult | GrepResult)
all_option = click.option("-a", "--all", "everything", is_flag=True, help="Include ignored, hidden and binary files.")
limit_option = click.option("-m", "--limit", type=click.IntRange(1), help="Stop after this many; by default print all.")


@command("find", READING, examples=("filetools find app.py", "filetools find 'src/**/*.py'", "filetools find -a .env"))
@click.argument("pattern", help="Part of the path in any case, or a glob.")
@click.argument("path", default=".", type=ENTRY, help="Where to search, relative to the working folder.")
@all_option
@limit_option
async def find(
    runner: CommandRunner, files: FileToolsFacade, pattern: str, path: str, *, everything: bool, limit: int | None
) -> None:
    """Find files and folders by name.

    A pattern without * ? [ matches any part of the path, ignoring case; others are globs. Exit code 1 if nothing is found.
    """
    await _search(runner, files, (path,), partial(files.search_files, pattern, all=everything), limit, show_entries)


@command(
    "grep",
    READING,
    examples=(
        "filetools grep 'def \\w+'",
        "filetools grep -F 'a[0]' src",
        "filetools grep -il todo -g '*.{py,js}'",
        "filetools grep -nw -A2 class src tests",
    ),
)
@click.argument("pattern", help="Regular expression.")
@click.argument(
    "paths",
    nargs=-1,
    metavar="[PATH...]",
    type=ENTRY,
    help="Where to search, relative to the working folder.",
)
@click.option("-g", "--glob", metavar="GLOB", help="Only files that match.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-F", "--literal", is_flag=True, help="The pattern is literal text.")
@click.option("-w", "--word", "whole_words", is_flag=True, help="Match whole words only.")
@click.option("-U", "--multiline", is_flag=True, help="Matches may span lines.")
@click.option("-A", "--after", type=click.IntRange(0, 20), help="Lines after each match; default: -C.")
@click.option("-B", "--before", type=click.IntRange(0, 20), help="Lines before each match; default: -C.")
@click.option("-C", "--context", type=click.IntRange(0, 20), default=0, help="Lines before and after each match.")
@click.option("-o", "--only-matching", is_flag=True, help="Print only what matches.")
@click.option("-l", "--files", "files_only", is_flag=True, help="Print only the paths of files.")
@click.option("-c", "--count", is_flag=True, help="Print how many lines of each file match.")
@click.option("-n", "--line-number", "numbers", is_flag=True, help="No effect: line numbers are always shown.")
@click.option("-r", "-R", "-E", "-H", "-I", "habits", is_flag=True, hidden=True, help="Accepted without effect.")
@all_option
@limit_option
async def grep(
    runner: CommandRunner,
    files: FileToolsFacade,
    pattern: str,
    paths: tuple[str, ...],
    *,
    glob: str | None,
    ignore_case: bool,
    literal: bool,
    whole_words: bool,
    multiline: bool,
    after: int | None,
    before: int | None,
    context: int,
    only_matching: bool,
    files_only: bool,
    count: bool,
    numbers: bool,
    habits: bool,
    everything: bool,
    limit: int | None,
) -> None:
    """Find lines in files, and in unsaved text of editors.

    Matches are printed as path:line:text, lines around them as path-line-text. Exit code 1 if nothing is found.
    """
    mode: Literal["content", "files", "count"] = "files" if files_only else "count" if count else "content"
    above, below = (context if each is None else each for each in (before, after))
    if files_only and count:
        raise InvalidArgumentError("Give -l or -c, not both")
    search = partial(
        files.grep_files, pattern, glob=glob, output_mode=mode, ignore_case=ignore_case, literal=literal,
        multiline=multiline, whole_words=whole_words, context=0 if only_matching else max(above, below),
        only_matching=mode == "content" and only_matching, all=everything,
    )  # fmt: skip
    await _search(
        runner, files, paths or (".",), search, limit, MatchPrinter(above, below, only_matching=only_matching).show
    )


async def _search(
    runner: CommandRunner,
    files: FileToolsFacade,
    paths: Sequence[str],
    search: Callable[..., Awaitable[P]],
    limit: int | None,
    show: Callable[[P], None],
) -> None:
    """Search the paths one by one; a missing one is reported, and the search continues."""
    found, is_complete = 0, True
    for path in paths:
        if found == limit:
            is_complete = False
            break
        try:
            where, cursor = runner.path(path), None
            while True:
                wanted = min(_PAGE, _PAGE if limit is None else limit - found)
                page = await search(path=where, limit=wanted, cursor=cursor)
                runner.show(page, show)
                rows = page.entries if isinstance(page, SearchResult) else [*page.matches, *page.files]
                cursor, found = page.next_cursor, found + len(rows)
                if cursor is None or found == limit:
                    break
            is_complete = cursor is None
        except (PathNotFoundError, AccessDeniedError) as error:
            await runner.refuse(files, error)
    if not found:
        runner.note_failure(FAILED)
    elif not is_complete and not runner.options.as_json:
        print_note(f"Only the first {found} are shown; raise --limit to see more.")


class MatchPrinter:
    """Prints the pages of one search as one.

    Args:
        before: Number of lines before each match.
        after: Number of lines after each match.
        only_matching: True to print each match on a separate line, without context.
    """

    def __init__(self, before: int, after: int, *, only_matching: bool) -> None:
        self._around = before, after
        self._only_matching = only_matching
        self._has_context = bool(before or after) and not only_matching
        self._path: str | None = None
        self._last = 0
        """Path and number of the last printed line."""

    def show(self, page: GrepResult) -> None:
        """Print a page."""
        for file in page.files:
            count = "" if file.count is None else f":{file.count}"
            print_line((printable(file.path), "magenta"), (count, "green"), _origin(file.origin))
        for path, group in groupby(page.matches, key=lambda match: match.path):
            matches = list(group)
            groups = line_groups(match_lines(match, *self._around) for match in matches)
            for line in _matched(matches) if self._only_matching else chain.from_iterable(groups):
                self._show_line(path, line, matches[0].origin)

    def _show_line(self, path: str, line: Line, origin: str) -> None:
        number, (sign, text) = line
        is_same = path == self._path
        if is_same and number <= self._last and sign == "-":
            return  # the page before has it
        if self._has_context and self._path is not None and not (is_same and number <= self._last + 1):
            print_line(("--", "dim"))
        self._path, self._last = path, number
        print_line(
            (printable(path), "magenta"), sign, (str(number), "green"), sign, printable_line(text),
            _origin(origin if sign == ":" else "disk"),
        )  # fmt: skip


def _matched(matches: Sequence[GrepMatch]) -> Iterator[Line]:
    """Yield each line of each match."""
    for match in matches:
        for text in match.matched or ():
            for number, line in enumerate(text.split("\n"), match.line):
                yield number, (":", line)


def _origin(origin: str) -> Text:
    return Text("  (not saved)" if origin == "buffer" and STDOUT.is_terminal else "", style="yellow")
