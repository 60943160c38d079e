"""Glob: files by their names, the newest first."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from filetools.models.listing import Entry
from filetools.paths.patterns import glob_below, is_glob
from filetools.tools.arguments import Parameters
from filetools.tools.dialects.claude_code.places import GROUP, located, own_hints
from filetools.tools.dialects.dialect import presented, repairs_of
from filetools.tools.roots import ServedPath
from filetools.tools.searching import SearchProgress, case_blind, glob_meant
from filetools.tools.seen import TextLimits, clipped
from filetools.tools.tool import AnyTool, Tool, ToolContext

MOST_FILES: Final = 100
MOST_COMPARED: Final = 20_000
"""Files among which the newest are looked for."""
_PAGE: Final = 1000
_WILD: Final = re.compile(r"[*?\[]")


class GlobFiles(Parameters):
    """Parameters of Glob."""

    pattern: str
    path: Annotated[str | None, Field(description="Folder; the root if left out")] = None


async def glob(context: ToolContext, given: GlobFiles) -> dict[str, Any]:
    """Return the newest files whose paths match."""
    started, told = time.perf_counter(), SearchProgress(context, "names looked at")
    place = await located(context, given.path)
    found, is_complete = await _matching(context, told, given.pattern, place)
    news: dict[str, Any] = {} if found else {"hints": []}
    if not found and (meant := glob_meant(given.pattern)) is not None:
        said = f"Nothing fits {given.pattern!r}; it was read as the glob {meant!r}"
        found, is_complete = await _matching(context, told, meant, place)
        news = repairs_of([{"code": "REPAIRED", "message": said}]) if found else news
    blind = case_blind(given.pattern)
    if not found and is_glob(blind) and blind != given.pattern:
        fits, _ = await _matching(context, told, blind, place)
        news = {"hints": [f"case counts; without it {entry.path} fits" for entry in fits[:1]]}
    found.sort(key=_age)
    names = [entry.path for entry in found[:MOST_FILES]]
    return {
        "durationMs": round((time.perf_counter() - started) * 1000),
        "numFiles": len(names),
        "filenames": names,
        "truncated": len(found) > len(names),
        "totalMatches": len(found),
        "countIsComplete": is_complete,
        **news,
    }


async def _matching(
    context: ToolContext, told: SearchProgress, raw_pattern: str, place: ServedPath
) -> tuple[list[Entry], bool]:
    pattern = await _from_root(context, raw_pattern, place)
    async with own_hints(place):
        found, is_complete = await _found(context, told, place, pattern, everywhere=False)
        if not found:
            # Hidden and ignored files count where nothing else matches: then they are what is meant.
            found, is_complete = await _found(context, told, place, pattern, everywhere=True)
    return found, is_complete


async def _from_root(context: ToolContext, pattern: str, place: ServedPath) -> str:
    """Return a pattern of a folder as one from the root, which the engine compares with whole paths."""
    if pattern.startswith("/"):
        fixed = _WILD.split(pattern, maxsplit=1)[0].rpartition("/")[0]
        place, pattern = await located(context, fixed), f".{pattern[len(fixed) :]}"
    return glob_below(place.path, pattern)


async def _found(
    context: ToolContext, told: SearchProgress, place: ServedPath, pattern: str, *, everywhere: bool
) -> tuple[list[Entry], bool]:
    found: list[Entry] = []
    cursor: str | None = None
    while len(found) < MOST_COMPARED:
        page = await place.files.search_files(
            pattern, path=place.path, all=everywhere, limit=_PAGE, cursor=cursor, abort=context.is_aborted,
            progress=told.page(),
        )  # fmt: skip
        found += [entry for entry in page.entries if entry.type == "file"]
        cursor = page.next_cursor
        if cursor is None:
            break
    return found, cursor is None


def _age(entry: Entry) -> tuple[float, str]:
    """Return what sorts files by their time, the newest first."""
    return (0.0 if entry.modified is None else -entry.modified.timestamp(), entry.path)


def _shown(data: Mapping[str, Any], limits: TextLimits) -> str:
    if not data["filenames"]:
        return "No files found"
    text, kept = clipped("".join(f"{name}\n" for name in data["filenames"]), limits)
    if data["truncated"] or kept is not None:
        text += "(Results are truncated. Consider using a more specific path or pattern.)"
    return text.removesuffix("\n")


FINDING: tuple[AnyTool, ...] = (
    Tool(
        name="Glob",
        description=(
            'Find files by a pattern such as "**/*.py" or "src/**/*.{ts,tsx}", below path or the root. Returns at most 100'
            " paths, the last changed first."
        ),
        parameters=GlobFiles,
        handler=glob,
        group=GROUP,
        level="auto",
        effect="read",
        looks_at="folder",
        is_idempotent=True,
        has_body=True,
        present=presented(_shown),
    ),
)
