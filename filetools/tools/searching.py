"""Tools that search: names, contents, and changes as they come."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field

from filetools.errors import InvalidArgumentError
from filetools.models.searching import GrepResult, SearchResult, WatchResult
from filetools.tools.arguments import Parameters
from filetools.tools.explaining import explain_grep, explain_search, relative_pattern
from filetools.tools.reading import in_parts
from filetools.tools.rereading import filter_meant, glob_meant, regex_meant, text_as_regex
from filetools.tools.tool import AnyTool, Tool, ToolContext

Page = TypeVar("Page", SearchResult, GrepResult)
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


class SearchProgress:
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
    found = await _searched(context, asked)
    meant = glob_meant(asked.pattern)
    if found.total or asked.cursor is not None or meant is None:
        return found
    other = await _searched(context, asked.model_copy(update={"pattern": meant}))
    return _told(other, f"nothing fits {asked.pattern!r}; it was read as the glob {meant!r}") if other.total else found


async def _searched(context: ToolContext, asked: SearchFiles) -> SearchResult:
    pattern = relative_pattern(context.files, asked.pattern)
    given = asked.model_copy(update={"pattern": pattern})
    search = partial(
        context.files.search_files, given.pattern, path=given.path, all=given.all, abort=context.is_aborted
    )
    told = SearchProgress(context, "names looked at")
    found = await in_parts(
        context, given.limit, given.cursor,
        lambda limit, cursor: search(limit=limit, cursor=cursor, progress=told.page()),
    )  # fmt: skip
    found = await explain_search(context.files, given, found, context.is_aborted)
    return found if pattern == asked.pattern else _told(found, _RELATIVE.format(pattern))


async def grep_files(context: ToolContext, asked: GrepFiles) -> GrepResult:
    """Return one page of the lines in which a pattern matches."""
    try:
        found = await _grepped(context, asked)
    except InvalidArgumentError as error:
        if "position" not in error.details or asked.literal:
            raise
        return await _reread(context, asked, error)
    if found.total or asked.cursor is not None:
        return found
    is_filtered = found.files_searched == 0 and asked.glob is not None
    glob = filter_meant(asked.glob or "") if is_filtered else None
    pattern = None if asked.literal or is_filtered else regex_meant(asked.pattern)
    if glob is not None:
        other = await _grepped(context, asked.model_copy(update={"glob": glob}))
        return _told(other, f"no file fits {asked.glob!r}; it was read as the glob {glob!r}") if _any(other) else found
    if pattern is not None:
        other = await _grepped(context, asked.model_copy(update={"pattern": pattern}))
        said = f"nothing matches {asked.pattern!r}; it was read as {pattern!r}"
        return _told(other, said) if other.total else found
    return found


def _any(found: GrepResult) -> bool:
    return bool(found.total or found.files_searched)


async def _reread(context: ToolContext, asked: GrepFiles, error: InvalidArgumentError) -> GrepResult:
    """Return what a pattern that is no regex finds in the one other reading that finds anything.

    Raises:
        InvalidArgumentError: As it is in none of them, or in several.
    """
    no_regex = f"{asked.pattern!r} is no regex; it was"
    texts: list[tuple[dict[str, Any], str]] = [({"literal": True}, f"{no_regex} searched as plain text")]
    if (regex := text_as_regex(asked.pattern)) is not None:
        texts.append(({"pattern": regex}, f"{no_regex} read as {regex!r}"))
    found: list[GrepResult] = []
    for change, said in texts:
        try:
            other = await _grepped(context, asked.model_copy(update=change))
        except InvalidArgumentError:  # of more than one line, say
            continue
        found += [_told(other, said)] if other.total else []
    if len(found) != 1:
        raise error
    return found[0]


async def _grepped(context: ToolContext, asked: GrepFiles) -> GrepResult:
    glob = None if asked.glob is None else relative_pattern(context.files, asked.glob)
    given = asked.model_copy(update={"glob": glob})
    options = given.model_dump(exclude={"limit", "cursor"})
    grep = partial(context.files.grep_files, **options, abort=context.is_aborted)
    told = SearchProgress(context, "files searched")
    found = await in_parts(
        context, given.limit, given.cursor,
        lambda limit, cursor: grep(limit=limit, cursor=cursor, progress=told.page()),
    )  # fmt: skip
    found = await explain_grep(context.files, given, found, context.is_aborted)
    return found if glob is None or glob == asked.glob else _told(found, _RELATIVE.format(glob))


def _told(found: Page, hint: str) -> Page:
    """Return a result that says first how something was read; its further pages are read so at once."""
    goes_on = "; pass that with the cursor, too" if found.next_cursor is not None else ""
    return found.model_copy(update={"hints": [f"{hint}{goes_on}", *(found.hints or ())]})


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
        looks_at="folder",
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
        looks_at="folder",
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
