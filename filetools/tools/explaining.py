"""Why a search found nothing: what a slightly different one would find, each tried before it is said."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final

from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import GrepResult, SearchResult
from filetools.paths.patterns import is_glob
from filetools.tools.bodies import counted
from filetools.tools.rereading import case_blind, filter_meant

if TYPE_CHECKING:
    from filetools.tools.searching import GrepFiles, SearchFiles

MOST_FILES_COUNTED: Final = 100
_REGEX_SIGNS: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")
_NAME_GLOB: Final = re.compile(r"[\w./*?-]*\*[\w./*?-]*\.\w+|\*\*?/.*")


def relative_pattern(files: FileToolsFacade, pattern: str) -> str:
    """Return a pattern without the root that it begins with, as paths of the workspace are."""
    for root in files.root_paths:
        if pattern.startswith(f"{root}/"):
            return pattern.removeprefix(f"{root}/")
    return pattern


async def explain_grep(
    files: FileToolsFacade, given: GrepFiles, found: GrepResult, is_aborted: Callable[[], bool]
) -> GrepResult:
    """Return the result of a search in contents; where nothing was found, with hints why."""
    if found.total or given.cursor is not None:
        return found
    hints = [hint async for hint in _grep_hints(files, given, found, is_aborted)]
    return found.model_copy(update={"hints": hints}) if hints else found


async def _grep_hints(
    files: FileToolsFacade, given: GrepFiles, found: GrepResult, is_aborted: Callable[[], bool]
) -> AsyncIterator[str]:
    if found.files_searched == 0:
        if given.glob is not None and found.files_below:
            meant = filter_meant(given.glob)
            looks = f", and none {meant!r}, which it looks like" if meant is not None else ""
            yield f"no file fits the glob {given.glob!r}{looks}"
        elif not given.all:
            yield "there is no file to search; all=true searches ignored and hidden ones, too"
        return
    for change, says in _other_greps(given):
        asked = given.model_dump(exclude={"cursor"}) | change | {"limit": MOST_FILES_COUNTED, "output_mode": "count"}
        try:
            other = await files.grep_files(**asked, abort=is_aborted)
        except FileToolsError:  # a pattern need not be valid in another reading
            continue
        if other.total:
            count = sum(each.count or 0 for each in other.files)
            more = "" if other.total_is_complete else " or more"
            yield f"{says}: {counted(count, 'line')}{more} in {counted(other.total, 'file')}, such as {other.files[0].path}"
    if not given.literal and _NAME_GLOB.fullmatch(given.pattern):
        yield "the pattern looks like a glob; search_files finds names; the parameter glob limits which files are searched"


def _other_greps(given: GrepFiles) -> list[tuple[dict[str, Any], str]]:
    found: list[tuple[dict[str, Any], str]] = []
    if not given.ignore_case and given.pattern.lower() != given.pattern.upper():
        found.append(({"ignore_case": True}, "found with ignore_case=true"))
    if _REGEX_SIGNS.search(given.pattern):
        says = (
            "the pattern looks like a regex, found with literal=false" if given.literal else "found with literal=true"
        )
        found.append(({"literal": not given.literal}, says))
    return found


async def explain_search(
    files: FileToolsFacade, given: SearchFiles, found: SearchResult, is_aborted: Callable[[], bool]
) -> SearchResult:
    """Return the result of a search for names; where nothing was found, with hints why."""
    if found.total or given.cursor is not None:
        return found
    hints: list[str] = []
    for change, says in _other_searches(given):
        asked = given.model_dump(exclude={"cursor"}) | change | {"limit": 1}
        try:
            other = await files.search_files(**asked, abort=is_aborted)
        except FileToolsError:  # a pattern need not be valid in another reading
            continue
        if other.entries:
            hints.append(f"{says}, such as {other.entries[0].path}")
    return found.model_copy(update={"hints": hints}) if hints else found


def _other_searches(given: SearchFiles) -> list[tuple[dict[str, Any], str]]:
    pattern = given.pattern
    found: list[tuple[dict[str, Any], str]] = []
    if is_glob(pattern) and (blind := case_blind(pattern)) != pattern:
        found.append(({"pattern": blind}, "case counts in a glob; others fit without it"))
    if pattern.startswith("/"):
        bare = pattern.lstrip("/")
        found.append(({"pattern": bare}, f"paths have no slash before them; {bare!r} fits"))
    if not given.all:
        found.append(({"all": True}, "found with all=true among what is ignored or hidden"))
    return found
