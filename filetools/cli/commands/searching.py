"""Commands that search: `find`, `grep`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, Final, Literal

import typer
from rich.text import Text

from filetools.app import FileToolsFacade
from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.desk import READING, Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.terminal import STDOUT, print_line, print_note, printable, printable_line
from filetools.errors import InvalidArgumentError
from filetools.models import GrepMatch, GrepResult, SearchResult

_PANEL: Final = "Files"
_PAGE: Final = 1000
_MARKS: Final = {"directory": "/", "symlink": "@"}

All = Annotated[bool, typer.Option("-a", "--all", help="Also what is ignored, hidden or binary.")]
Limit = Annotated[int | None, typer.Option("-m", "--limit", min=1, help="Stop after so many; else all are printed.")]
Below = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="Where to search, relative to the working folder.", autocompletion=suggestions.paths
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, READING, panel=_PANEL, examples=("filetools find app.py", "filetools find 'src/**/*.py'", "filetools find -a .env")
    )(find)  # fmt: skip
    workspace_command(
        app, READING, panel=_PANEL,
        examples=("filetools grep 'def \\w+'", "filetools grep -F 'a[0]' src", "filetools grep -il todo -g '*.{py,js}'"),
    )(grep)  # fmt: skip


def find(
    desk: Desk,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="Part of the path in any case, or a glob.")],
    path: Below = ".",
    *,
    everything: All = False,
    limit: Limit = None,
) -> None:
    """Find files and folders by name.

    Without * ? [ any part of the path counts, in any case; else the pattern is a glob. Exit code 1 if nothing is found.
    """

    async def work(files: FileToolsFacade) -> None:
        where, cursor, found = desk.path(path), None, 0
        while True:
            wanted = min(_PAGE, _PAGE if limit is None else limit - found)
            page = await files.search_files(pattern, path=where, all=everything, limit=wanted, cursor=cursor)
            desk.show(page, _show_names)
            cursor, found = page.next_cursor, found + len(page.entries)
            if cursor is None or found == limit:
                break
        _end(desk, found, is_complete=cursor is None)

    desk.perform(work, lambda _: None)


def grep(
    desk: Desk,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="Regular expression without look-around.")],
    path: Below = ".",
    *,
    glob: Annotated[str | None, typer.Option("-g", "--glob", metavar="GLOB", help="Only files that fit.")] = None,
    ignore_case: Annotated[bool, typer.Option("-i", "--ignore-case", help="Letters match in any case.")] = False,
    literal: Annotated[bool, typer.Option("-F", "--literal", help="The pattern is a text, no expression.")] = False,
    multiline: Annotated[bool, typer.Option("-U", "--multiline", help="Matches may go over several lines.")] = False,
    context: Annotated[int, typer.Option("-C", "--context", min=0, max=20, help="Lines above and below.")] = 0,
    files_only: Annotated[bool, typer.Option("-l", "--files", help="Print only the paths of files.")] = False,
    count: Annotated[bool, typer.Option("-c", "--count", help="Print how many lines of each file match.")] = False,
    everything: All = False,
    limit: Limit = None,
) -> None:
    """Find lines in files, and in text that editors have not saved.

    At a terminal each file has its heading; a pipe gets path:line:text. Exit code 1 if nothing is found.
    """
    mode: Literal["content", "files", "count"] = "files" if files_only else "count" if count else "content"

    async def work(files: FileToolsFacade) -> None:
        if files_only and count:
            raise InvalidArgumentError("Give -l or -c, not both")
        where, cursor, found = desk.path(path), None, 0
        printer = _Printer()
        while True:
            wanted = min(_PAGE, _PAGE if limit is None else limit - found)
            page = await files.grep_files(
                pattern, path=where, glob=glob, output_mode=mode, ignore_case=ignore_case, literal=literal,
                multiline=multiline, context=context, all=everything, limit=wanted, cursor=cursor,
            )  # fmt: skip
            desk.show(page, printer.show)
            cursor, found = page.next_cursor, found + len(page.matches) + len(page.files)
            if cursor is None or found == limit:
                break
        _end(desk, found, is_complete=cursor is None)

    desk.perform(work, lambda _: None)


def _end(desk: Desk, found: int, *, is_complete: bool) -> None:
    if not found:
        desk.note_failure(FAILED)
    elif not is_complete and not desk.options.as_json:
        print_note(f"More than {found} are found; raise --limit for more.")


def _show_names(page: SearchResult) -> None:
    for entry in page.entries:
        style = "bold blue" if entry.type == "directory" else ""
        print_line((printable(entry.path), style), (_MARKS.get(entry.type, ""), "dim"))


class _Printer:
    """Prints the pages of one search as one."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._last = 0

    def show(self, page: GrepResult) -> None:
        for file in page.files:
            number = "" if file.count is None else f":{file.count}"
            print_line((printable(file.path), "magenta"), (number, "green"), _origin(file.origin))
        for path, matches in groupby(page.matches, key=lambda match: match.path):
            if STDOUT.is_terminal and path != self._path:
                self._head(path)
            for match in matches:
                self._show_match(match)

    def _head(self, path: str) -> None:
        if self._path is not None:
            print_line()
        self._path, self._last = path, 0
        print_line((printable(path), "bold magenta"))

    def _show_match(self, match: GrepMatch) -> None:
        before, after = match.before or [], match.after or []
        has_gap = self._last and match.line - len(before) > self._last + 1
        if (before or after) and has_gap and STDOUT.is_terminal:
            print_line(("--", "dim"))
        last = match.end_line or match.line
        for number, sign, text in _lines(match, before, after):
            if number > self._last or not STDOUT.is_terminal:
                self._show_line(match, number, sign, text)
        self._last = last + len(after)

    def _show_line(self, match: GrepMatch, number: int, sign: str, text: str) -> None:
        shown = Text(printable_line(text))
        is_match = sign == ":"
        origin = _origin(match.origin) if is_match else Text()
        if STDOUT.is_terminal:
            print_line((str(number), "green" if is_match else "dim"), sign, shown, origin)
        else:
            print_line(f"{printable(match.path)}{sign}{number}{sign}", shown)


def _lines(match: GrepMatch, before: list[str], after: list[str]) -> Iterator[tuple[int, str, str]]:
    rows = [("-", line) for line in before]
    rows += [(":", line) for line in match.text.split("\n")]
    rows += [("-", line) for line in after]
    for number, (sign, line) in enumerate(rows, match.line - len(before)):
        yield number, sign, line


def _origin(origin: str) -> Text:
    return Text("  (not saved)" if origin == "buffer" and STDOUT.is_terminal else "", style="yellow")
