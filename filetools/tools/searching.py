"""Tools that search: names, contents, and changes as they come.

A pattern in another notation than asked for (a regex given as a glob, a list of globs, an old way to write a regex) is read
in that one only where it finds nothing as it stands, or is not valid; the answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field

from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import GrepResult, SearchResult, WatchResult
from filetools.paths.patterns import is_glob
from filetools.tools.arguments import Parameters
from filetools.tools.reading import in_parts
from filetools.tools.tool import AnyTool, Tool, ToolContext

Result = TypeVar("Result", SearchResult, GrepResult)
T = TypeVar("T")
Limit = Annotated[int, Field(ge=1, le=1000)]
Reading = tuple[Mapping[str, Any], str]
"""What to change about a search, and how its answer says so."""
_RELATIVE: Final = "paths are relative to the root: it was read as {!r}"
WATCH_LIMIT_SECONDS = 70.0
"""Time limit of watch_changes, which may wait for 50 s."""
_REGEX: Final = re.compile(r"\.[*+]|\\[.wdS/-]|^\^|\$$|\[\^/\]|\((?:\?:)?[^()]*\|")
_HIDDEN: Final = re.compile(r"(?:^|/)\.\*$")
"""Hidden files, to a glob."""
_ANYTHING: Final = re.compile(r"(\[\^/\]|\\[wdS]|\.)[*+]\??")
_CHOICE: Final = re.compile(r"\((?:\?:)?([^()]*)\)")
_ENDING: Final = re.compile(r"\.?[A-Za-z0-9]{1,5}")
_LIST: Final = re.compile(r"\s*[,|\s]\s*")
_REGEX_SIGNS: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")
_NAME_GLOB: Final = re.compile(r"[\w./*?-]*\*[\w./*?-]*\.\w+|\*\*?/.*")


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
    """Reports how much one call has searched, over all its pages and readings of the pattern."""

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


async def first_found(
    readings: Iterable[Reading], search: Callable[[Mapping[str, Any]], Awaitable[T | None]]
) -> tuple[T, str] | None:
    """Return what the first reading finds that finds anything, and how to say it.

    Args:
        readings: Other ways to read a search that found nothing.
        search: Searches with a change; returns None if it finds nothing.
    """
    for change, said in readings:
        try:
            found = await search(change)
        except FileToolsError:  # a pattern need not be valid in another reading
            continue
        if found is not None:
            return found, said
    return None


def grep_readings(
    pattern: str, glob: str | None, *, is_regex: bool = True, fits_none: bool = False
) -> Iterable[Reading]:
    """Yield the other notations in which a search through contents may be meant.

    Args:
        pattern: What it looked for.
        glob: Limits the files.
        is_regex: False if the pattern is not a valid one.
        fits_none: Whether no file fits the glob.
    """
    if not is_regex:
        yield {"literal": True}, f"{pattern!r} is not a regex; it was searched as plain text"
        if pattern.startswith("*") and (bare := pattern.strip("*")):
            regex = ".*".join(map(re.escape, bare.split("*")))
            yield {"pattern": regex}, f"{pattern!r} is not a regex; it was read as {regex!r}"
    elif fits_none:
        meant = f"*.{glob.removeprefix('.')}" if glob and _ENDING.fullmatch(glob) else glob_meant(glob or "")
        if meant is not None:
            yield {"glob": meant}, f"no file fits {glob!r}; it was read as the glob {meant!r}"
    elif "\\|" in pattern:  # as `grep` without options writes alternatives
        regex = pattern.replace("\\|", "|")
        yield {"pattern": regex}, f"nothing matches {pattern!r}; it was read as {regex!r}"


def as_glob(pattern: str) -> str:
    r"""Return the glob that somebody means who writes a regular expression, such as `*.py` for `.*\.py$`."""
    body = pattern.removeprefix("^").removesuffix("$").lstrip("/")
    ending = body.startswith("\\.")
    body = _CHOICE.sub(lambda found: "{" + found[1].replace("|", ",") + "}" if "|" in found[1] else found[1], body)
    if "|" in body:
        body = "{" + body.replace("|", ",") + "}"
    deep = "**/*" if "/" in body.replace("[^/]", "") else "*"
    body = _ANYTHING.sub(lambda found: deep if found[1] == "." else "*", body)
    body = re.sub(r"\\(\W)", r"\1", body.replace("**/*/", "**/"))
    return f"*{body}" if ending else body


def glob_meant(pattern: str) -> str | None:
    """Return the glob that a regular expression, or a list of globs, is written for; None if it looks like neither."""
    if _REGEX.search(_HIDDEN.sub("", pattern)):
        meant = as_glob(pattern)
    elif "{" not in pattern and len(parts := [part for part in _LIST.split(pattern.strip()) if part]) > 1:
        meant = "{" + ",".join(parts) + "}" if all("*" in part for part in parts) else pattern
    else:
        meant = pattern
    return meant if meant != pattern else None


def case_blind(pattern: str) -> str:
    """Return a glob that fits in any case; one with brackets stays."""
    if "[" in pattern:
        return pattern
    return "".join(f"[{each.lower()}{each.upper()}]" if each.isascii() and each.isalpha() else each for each in pattern)


async def search_files(context: ToolContext, asked: SearchFiles) -> SearchResult:
    """Return one page of the files and folders whose path fits a pattern."""
    told = SearchProgress(context, "names looked at")

    async def search(change: Mapping[str, Any]) -> SearchResult | None:
        other = await _searched(context, asked.model_copy(update=change), told)
        return other if other.total else None

    found = await _searched(context, asked, told)
    if found.total or asked.cursor is not None:
        return found
    pattern = _relative(context.files, asked.pattern)
    if (meant := glob_meant(pattern)) is not None and (other := await search({"pattern": meant})) is not None:
        return _with_hint(other, f"nothing fits {asked.pattern!r}; it was read as the glob {meant!r}")
    bare = pattern.lstrip("/")
    readings: list[Reading] = []
    if is_glob(pattern) and (blind := case_blind(pattern)) != pattern:
        readings.append(({"pattern": blind, "limit": 1}, "case counts in a glob; others fit without it"))
    if bare != pattern:
        readings.append(({"pattern": bare, "limit": 1}, f"paths have no slash before them; {bare!r} fits"))
    if not asked.all:
        readings.append(({"all": True, "limit": 1}, "found with all=true among what is ignored or hidden"))
    fits = await first_found(readings, search)
    return found if fits is None else _with_hint(found, f"{fits[1]}, such as {fits[0].entries[0].path}")


async def _searched(context: ToolContext, asked: SearchFiles, told: SearchProgress) -> SearchResult:
    pattern = _relative(context.files, asked.pattern)
    search = partial(context.files.search_files, pattern, path=asked.path, all=asked.all, abort=context.is_aborted)
    found = await in_parts(
        context, asked.limit, asked.cursor,
        lambda limit, cursor: search(limit=limit, cursor=cursor, progress=told.page()),
    )  # fmt: skip
    return found if pattern == asked.pattern else _with_hint(found, _RELATIVE.format(pattern))


async def grep_files(context: ToolContext, asked: GrepFiles) -> GrepResult:
    """Return one page of the lines in which a pattern matches."""
    told = SearchProgress(context, "files searched")

    async def search(change: Mapping[str, Any]) -> GrepResult | None:
        other = await _grepped(context, asked.model_copy(update=change), told)
        return other if other.total else None

    try:
        found = await _grepped(context, asked, told)
    except InvalidArgumentError as error:
        if "position" not in error.details or asked.literal:
            raise
        other = await first_found(grep_readings(asked.pattern, asked.glob, is_regex=False), search)
        if other is None:
            raise
        return _with_hint(*other)
    if found.total or asked.cursor is not None:
        return found
    fits_none = found.files_searched == 0
    if fits_none or not asked.literal:
        other = await first_found(grep_readings(asked.pattern, asked.glob, fits_none=fits_none), search)
        if other is not None:
            return _with_hint(*other)
    hint = await _why_nothing(asked, found, search)
    return found if hint is None else _with_hint(found, hint)


async def _why_nothing(
    asked: GrepFiles, found: GrepResult, search: Callable[[Mapping[str, Any]], Awaitable[GrepResult | None]]
) -> str | None:
    if found.files_searched == 0:
        if asked.glob is not None and found.files_below:
            return f"no file fits the glob {asked.glob!r}"
        return None if asked.all else "no file to search; all=true also searches ignored and hidden ones"
    readings: list[Reading] = []
    if not asked.ignore_case and asked.pattern.lower() != asked.pattern.upper():
        readings.append(({"ignore_case": True}, "found with ignore_case=true"))
    if _REGEX_SIGNS.search(asked.pattern):
        readings.append(({"literal": not asked.literal}, f"found with literal={str(not asked.literal).lower()}"))
    one_file = {"output_mode": "files", "limit": 1}
    fits = await first_found([({**change, **one_file}, said) for change, said in readings], search)
    if fits is not None:
        return f"{fits[1]}, such as {fits[0].files[0].path}"
    if not asked.literal and _NAME_GLOB.fullmatch(asked.pattern):
        return "the pattern looks like a glob; search_files finds names; the parameter glob limits which files are searched"
    return None


async def _grepped(context: ToolContext, asked: GrepFiles, told: SearchProgress) -> GrepResult:
    glob = None if asked.glob is None else _relative(context.files, asked.glob)
    options = asked.model_dump(exclude={"limit", "cursor"}) | {"glob": glob}
    grep = partial(context.files.grep_files, **options, abort=context.is_aborted)
    found = await in_parts(
        context, asked.limit, asked.cursor,
        lambda limit, cursor: grep(limit=limit, cursor=cursor, progress=told.page()),
    )  # fmt: skip
    return found if glob is None or glob == asked.glob else _with_hint(found, _RELATIVE.format(glob))


def _relative(files: FileToolsFacade, pattern: str) -> str:
    """Return a pattern without the root that it begins with, as paths of the workspace are."""
    for root in files.root_paths:
        if pattern.startswith(f"{root}/"):
            return pattern.removeprefix(f"{root}/")
    return pattern


def _with_hint(found: Result, hint: str) -> Result:
    """Return a result that says first how something was read; its further pages are read so at once."""
    goes_on = "; pass it with the cursor" if found.next_cursor is not None else ""
    return found.model_copy(update={"hints": [f"{hint}{goes_on}", *(found.hints or ())]})


async def watch_changes(context: ToolContext, given: WatchChanges) -> WatchResult:
    """Return changes after a position, waiting for the first one."""
    return await context.files.watch_changes(
        given.since, path=given.path, wait_seconds=given.wait_seconds, limit=given.limit
    )


SEARCHING: tuple[AnyTool, ...] = (
    Tool(
        name="search_files",
        description="Find files by part of the path, or glob (src/**/*.py). all: also ignored, hidden.",
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
