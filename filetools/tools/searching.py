"""Tools that search: names, contents, and changes as they come."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final, Literal

from pydantic import Field

from filetools.models import GrepResult, SearchResult, WatchResult
from filetools.tools.arguments import Parameters
from filetools.tools.explaining import explain_grep, explain_search, relative_pattern
from filetools.tools.parts import in_parts
from filetools.tools.tool import AnyTool, Tool, ToolContext

Limit = Annotated[int, Field(ge=1, le=1000)]
_RELATIVE: Final = "paths are relative to the root: it was read as {!r}"
WATCH_LIMIT_SECONDS = 70.0
"""Time limit of watch_changes, which may wait for 50 s."""


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


class Told:
    """Tells how much a search in several pages has looked at; lives as long as its call."""

    def __init__(self, context: ToolContext, what: str) -> None:
        self._context = context
        self._what = what
        self._count = 0

    def page(self) -> Callable[[int], None]:
        """Return what the next page tells its count."""
        before = self._count

        def tell(count: int) -> None:
            self._count = before + count
            self._context.report(self._count, None, f"{self._count:,} {self._what}")

        return tell


async def search_files(context: ToolContext, asked: SearchFiles) -> SearchResult:
    """Return one page of the files and folders whose path fits a pattern."""
    pattern = relative_pattern(context.files, asked.pattern)
    given = asked.model_copy(update={"pattern": pattern})
    search = partial(
        context.files.search_files, given.pattern, path=given.path, all=given.all, abort=context.is_aborted
    )
    told = Told(context, "names looked at")
    found = await in_parts(
        context, given.limit, given.cursor,
        lambda limit, cursor: search(limit=limit, cursor=cursor, progress=told.page()),
    )  # fmt: skip
    found = await explain_search(context.files, given, found, context.is_aborted)
    if pattern == asked.pattern:
        return found
    return found.model_copy(update={"hints": [_RELATIVE.format(pattern), *(found.hints or ())]})


async def grep_files(context: ToolContext, asked: GrepFiles) -> GrepResult:
    """Return one page of the lines in which a pattern matches."""
    glob = None if asked.glob is None else relative_pattern(context.files, asked.glob)
    given = asked.model_copy(update={"glob": glob})
    options = given.model_dump(exclude={"limit", "cursor"})
    grep = partial(context.files.grep_files, **options, abort=context.is_aborted)
    told = Told(context, "files searched")
    found = await in_parts(
        context, given.limit, given.cursor,
        lambda limit, cursor: grep(limit=limit, cursor=cursor, progress=told.page()),
    )  # fmt: skip
    found = await explain_grep(context.files, given, found, context.is_aborted)
    if glob == asked.glob:
        return found
    return found.model_copy(update={"hints": [_RELATIVE.format(glob), *(found.hints or ())]})


async def watch_changes(context: ToolContext, given: WatchChanges) -> WatchResult:
    """Return changes after a position, waiting for the first one."""
    return await context.files.watch_changes(
        given.since, path=given.path, wait_seconds=given.wait_seconds, limit=given.limit
    )


SEARCHING: tuple[AnyTool, ...] = (
    Tool(
        name="search_files",
        description="Find files by part of the path, or glob (src/**/*.py). all: ignored, hidden too.",
        parameters=SearchFiles,
        handler=search_files,
        group="core",
        level="auto",
        effect="read",
        is_idempotent=True,
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
        level="auto",
        effect="read",
        is_idempotent=True,
        has_body=True,
        result=GrepResult,
    ),
    Tool(
        name="watch_changes",
        description=(
            "Changes by anybody after position since (none: now), waiting for one. Returns next position; resync: reread."
        ),
        parameters=WatchChanges,
        handler=watch_changes,
        group="core",
        level="auto",
        effect="read",
        result=WatchResult,
        time_limit_seconds=WATCH_LIMIT_SECONDS,
    ),
)
