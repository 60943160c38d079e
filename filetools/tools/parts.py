"""Long searches and lists in parts: the first rows are told before the last are found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from filetools.models.listing import ListResult
from filetools.models.searching import GrepResult, SearchResult
from filetools.tools.tool import ToolContext

Page = TypeVar("Page", GrepResult, ListResult, SearchResult)
FIRST_ROWS: Final = 20
"""Rows of the first part; each further one has twice as many, so that a search begun anew costs little."""
_ROWS: Final = ("entries", "matches", "files")


async def in_parts(
    context: ToolContext, limit: int, cursor: str | None, page: Callable[[int, str | None], Awaitable[Page]]
) -> Page:
    """Return one page of a search or list; if somebody listens, its rows are told in parts, all but the last.

    Args:
        context: The call.
        limit: Most rows of the page.
        cursor: Where it begins.
        page: Returns so many rows from a place on.
    """
    tell = context.partial
    if tell is None:
        return await page(limit, cursor)
    size, parts = FIRST_ROWS, [await page(min(FIRST_ROWS, limit), cursor)]
    left = limit - _count(parts[-1])
    while left > 0 and parts[-1].next_cursor is not None:
        tell(parts[-1])
        size *= 2
        parts.append(await page(min(size, left), parts[-1].next_cursor))
        left -= _count(parts[-1])
    return _joined(parts)


def _count(part: Page) -> int:
    return sum(len(getattr(part, name, ())) for name in _ROWS)


def _joined(parts: list[Page]) -> Page:
    names = [name for name in (*_ROWS, "warnings") if hasattr(parts[0], name)]
    whole = {name: [row for part in parts for row in getattr(part, name)] for name in names}
    return parts[-1].model_copy(update=whole)
