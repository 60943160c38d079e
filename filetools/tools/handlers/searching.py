"""Tools that search names and contents, and watch for changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import GrepResult, SearchResult, WatchResult
from filetools.paths.patterns import is_glob
from filetools.tools.arguments import Parameters
from filetools.tools.tool import AnyTool, Tool, ToolContext

Limit = Annotated[int, Field(ge=1, le=1000)]
WATCH_LIMIT_SECONDS = 70.0
"""Time limit of watch_changes, which may wait for 50 s."""
_REGEX_SIGNS: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")


class SearchFiles(Parameters):
    """Parameters of search_files."""

    pattern: str
    path: str = ""
    all: bool = False
    limit: Limit = 100
    cursor: str | None = None


class GrepFiles(Parameters):
    """Parameters of grep_files."""

    pattern: str
    path: str = ""
    glob: str | None = None
    output_mode: Literal["content", "files", "count"] = "content"
    ignore_case: bool = False
    literal: bool = False
    multiline: bool = False
    context: Annotated[int, Field(ge=0, le=20)] = 0
    all: bool = False
    limit: Limit = 100
    cursor: str | None = None


class WatchChanges(Parameters):
    """Parameters of watch_changes."""

    since: str | None = None
    path: str = ""
    wait_seconds: Annotated[int, Field(ge=0, le=50)] = 0
    limit: Limit = 100


def progress_of(context: ToolContext, what: str) -> Callable[[int], None]:
    """Return the progress callback for all pages of one search; each page counts from the beginning."""
    before = last = 0

    def report(count: int) -> None:
        nonlocal before, last
        before += last if count < last else 0
        last = count
        context.report(before + count, None, f"{before + count:,} {what}")

    return report


async def search_files(context: ToolContext, asked: SearchFiles) -> SearchResult:
    """Return one page of the files and folders whose path fits a pattern."""
    pattern = _relative(context.files, asked.pattern)
    options = asked.model_dump(exclude={"pattern"})
    found = await context.files.search_files(
        pattern, **options, abort=context.is_aborted, progress=progress_of(context, "names checked")
    )
    if found.total:
        return found
    hints = ["the pattern is a glob, such as src/**/*.py, and case-sensitive"] if is_glob(pattern) else []
    hints += [] if asked.all else ["all=true also finds what is ignored or hidden"]
    return found.model_copy(update={"hints": hints})


async def grep_files(context: ToolContext, asked: GrepFiles) -> GrepResult:
    """Return one page of the lines in which a pattern matches."""
    glob = None if asked.glob is None else _relative(context.files, asked.glob)
    options = asked.model_dump() | {"glob": glob}
    found = await context.files.grep_files(
        **options, abort=context.is_aborted, progress=progress_of(context, "files searched")
    )
    return found if found.total else found.model_copy(update={"hints": [*_why_nothing(asked, found)]})


def _why_nothing(asked: GrepFiles, found: GrepResult) -> Iterator[str]:
    if found.files_searched == 0 and asked.glob is not None and found.files_below:
        yield f"no file fits the glob {asked.glob!r}"
    elif not asked.all:
        yield "all=true also searches ignored and hidden files"
    if found.files_searched and not asked.ignore_case and asked.pattern.lower() != asked.pattern.upper():
        yield "ignore_case=true ignores case"
    if found.files_searched and not asked.literal and _REGEX_SIGNS.search(asked.pattern):
        yield "the pattern is a regex; literal=true searches for the exact text"


def _relative(files: FileToolsFacade, pattern: str) -> str:
    """Remove the root's absolute path from the beginning of a pattern."""
    for root in files.root_paths:
        if pattern.startswith(f"{root}/"):
            return pattern.removeprefix(f"{root}/")
    return pattern


SEARCHING: tuple[AnyTool, ...] = (
    Tool(
        name="search_files",
        description="Find files by part of the path, or glob (src/**/*.py). all: also ignored, hidden.",
        parameters=SearchFiles,
        handler=search_files,
        group="core",
        effect="read",
        looks_at="folder",
        has_body=True,
        result=SearchResult,
    ),
    Tool(
        name="grep_files",
        description=(
            "Find lines by regex or literal text; glob: *.py. Returns path, line, text; pass next_cursor as cursor for more."
        ),
        parameters=GrepFiles,
        handler=grep_files,
        group="core",
        effect="read",
        looks_at="folder",
        has_body=True,
        result=GrepResult,
    ),
    Tool(
        name="watch_changes",
        description=(
            "Changes by anybody after position since (none: now), waiting for one. Returns next position; resync: reread."
        ),
        parameters=WatchChanges,
        handler=lambda context, given: context.files.watch_changes(
            given.since, path=given.path, wait_seconds=given.wait_seconds, limit=given.limit
        ),
        group="core",
        effect="read",
        result=WatchResult,
        time_limit_seconds=WATCH_LIMIT_SECONDS,
    ),
)
