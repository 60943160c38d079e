"""Commands that search: `find`, `grep`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

import filetools.models as models
from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.desk import READING, Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.matches import MatchPrinter, RowForm, never_matches_nothing
from filetools.cli.terminal import STDOUT, print_line, print_note, printable
from filetools.errors import AccessDeniedError, InvalidArgumentError, PathNotFoundError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.searching import SearchResult

_PANEL: Final = "Files"
_PAGE: Final = 1000
Search = Callable[..., Awaitable["models.GrepResult"]]
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
        examples=("filetools grep 'def \\w+'", "filetools grep -F 'a[0]' src", "filetools grep -il todo -g '*.{py,js}'",
                  "filetools grep -nw -A2 class src tests"),
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

    desk.read(work, lambda _: None)


def grep(
    desk: Desk,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="Regular expression.")],
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", help="Where to search, relative to the working folder.", autocompletion=suggestions.paths
        ),
    ] = None,
    *,
    glob: Annotated[str | None, typer.Option("-g", "--glob", metavar="GLOB", help="Only files that fit.")] = None,
    ignore_case: Annotated[bool, typer.Option("-i", "--ignore-case", help="Letters match in any case.")] = False,
    literal: Annotated[bool, typer.Option("-F", "--literal", help="The pattern is a text, no expression.")] = False,
    whole_words: Annotated[bool, typer.Option("-w", "--word", help="Match whole words only.")] = False,
    multiline: Annotated[bool, typer.Option("-U", "--multiline", help="Matches may go over several lines.")] = False,
    after: Annotated[int | None, typer.Option("-A", "--after", min=0, max=20, help="Lines below; else -C.")] = None,
    before: Annotated[int | None, typer.Option("-B", "--before", min=0, max=20, help="Lines above; else -C.")] = None,
    context: Annotated[int, typer.Option("-C", "--context", min=0, max=20, help="Lines above and below.")] = 0,
    only_matching: Annotated[bool, typer.Option("-o", "--only-matching", help="Print only what matches.")] = False,
    files_only: Annotated[bool, typer.Option("-l", "--files", help="Print only the paths of files.")] = False,
    count: Annotated[bool, typer.Option("-c", "--count", help="Print how many lines of each file match.")] = False,
    numbers: Annotated[
        bool, typer.Option("-n", "--line-number", help="Show numbers of lines, as is done anyway.")
    ] = False,
    habits: Annotated[
        bool, typer.Option("-r", "-R", "-E", "-H", "-I", hidden=True, help="Understood; it is so anyway.")
    ] = False,
    everything: All = False,
    limit: Limit = None,
) -> None:
    """Find lines in files, and in text that editors have not saved.

    At a terminal each file has its heading; a pipe gets path:line:text. Exit code 1 if nothing is found.
    """
    mode: Literal["content", "files", "count"] = "files" if files_only else "count" if count else "content"
    above, below = (context if each is None else each for each in (before, after))
    form = RowForm(before=above, after=below, only_matching=only_matching)

    async def work(files: FileToolsFacade) -> None:
        if files_only and count:
            raise InvalidArgumentError("Give -l or -c, not both")
        is_highlighted = STDOUT.is_terminal and not multiline and never_matches_nothing(pattern, literal=literal)
        search = partial(
            files.grep_files, pattern, glob=glob, output_mode=mode, ignore_case=ignore_case, literal=literal,
            multiline=multiline, whole_words=whole_words, context=0 if only_matching else max(above, below),
            only_matching=mode == "content" and (only_matching or is_highlighted), all=everything,
        )  # fmt: skip
        await _search_all(desk, files, paths or ["."], search, limit, form)

    desk.read(work, lambda _: None)


async def _search_all(
    desk: Desk, files: FileToolsFacade, paths: list[str], search: Search, limit: int | None, form: RowForm
) -> None:
    """Search one path after the other; one that is not there is told, and keeps the others from nothing."""
    printer, found, is_complete = MatchPrinter(form), 0, True
    for path in paths:
        if found == limit:
            is_complete = False
            break
        try:
            where, cursor = desk.path(path), None
            while True:
                wanted = min(_PAGE, _PAGE if limit is None else limit - found)
                page = await search(path=where, limit=wanted, cursor=cursor)
                desk.show(page, printer.show)
                cursor, found = page.next_cursor, found + len(page.matches) + len(page.files)
                if cursor is None or found == limit:
                    break
            is_complete = cursor is None
        except (PathNotFoundError, AccessDeniedError) as error:
            await desk.refuse(files, error)
    _end(desk, found, is_complete=is_complete)


def _end(desk: Desk, found: int, *, is_complete: bool) -> None:
    if not found:
        desk.note_failure(FAILED)
    elif not is_complete and not desk.options.as_json:
        print_note(f"More than {found} are found; raise --limit for more.")


def _show_names(page: SearchResult) -> None:
    for entry in page.entries:
        style = "bold blue" if entry.type == "directory" else ""
        print_line((printable(entry.path), style), (_MARKS.get(entry.type, ""), "dim"))
