"""Finds the recently changed files of a project."""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from filetools.errors import FileToolsError, InvalidArgumentError, require_within
from filetools.paths.names import escaped, is_state_name
from filetools.paths.workspace_path import WorkspacePath
from filetools.project.folder import ProjectFolder

_SECONDS: Final = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400,
    "w": 604_800, "week": 604_800, "month": 2_592_000, "year": 31_536_000,
}  # fmt: skip
_AGES: Final = ("year", "month", "week", "day", "hour", "minute", "second")
_SPAN: Final = re.compile(r"(\d{1,6})\s*([a-z]+?)s?(?:\s+ago)?")


def recent_files(
    folder: ProjectFolder, paths: Iterable[str], *, limit: int = 20, since: str | None = None, now: float | None = None
) -> dict[str, Any]:
    """Return the regular files among the given paths by modification time, newest first.

    Args:
        folder: The base of the paths.
        paths: Paths as on disk; deleted and inaccessible ones are omitted.
        limit: Maximum number of files, from 1.
        since: Omits older files: an ISO date or time, local unless it has a zone, or a span of seconds, minutes, hours, days,
            weeks, months (30 days) or years, such as "2 days", "3 hours ago" or "90m".
        now: Seconds since the epoch; by default the current time.

    Returns:
        `{"files": [{"path", "age", "size"}]}`; ages such as "3 hours ago", sizes in bytes, names that are not UTF-8 escaped.

    Raises:
        InvalidArgumentError: `limit` or `since` is invalid.
    """
    require_within("limit", limit, 1)
    now = time.time() if now is None else now
    oldest_ns = None if since is None else int(_moment(since, now) * 1e9)
    newest = heapq.nsmallest(limit, _facts(folder, paths, oldest_ns))
    return {"files": [{"path": escaped(path), "age": age(now + ns / 1e9), "size": size} for ns, path, size in newest]}


def age(seconds: float) -> str:
    """Return an age in the largest unit of which it has at least two, such as "3 hours ago"."""
    if seconds < 0:
        return "in the future"
    unit = next((each for each in _AGES if seconds >= 2 * _SECONDS[each]), "second")
    count = int(seconds // _SECONDS[unit])
    return f"{count} {unit}{'' if count == 1 else 's'} ago"


def _facts(folder: ProjectFolder, paths: Iterable[str], oldest_ns: int | None) -> Iterator[tuple[int, str, int]]:
    """Yield the negated modification time of each file in nanoseconds, so that the newest sorts first; path; size."""
    for path in paths:
        try:
            found = None if any(map(is_state_name, path.split("/"))) else folder.reads.stat(WorkspacePath(path))
        except FileToolsError:  # a link in the path, or an unreadable folder
            continue
        if found is not None and found.type == "file" and (oldest_ns is None or found.modified_ns >= oldest_ns):
            yield -found.modified_ns, path, found.size


def _moment(since: str, now: float) -> float:
    span = _SPAN.fullmatch(since.strip().lower())
    if span is not None and span[2] in _SECONDS:
        return now - int(span[1]) * _SECONDS[span[2]]
    try:
        return datetime.fromisoformat(since.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as exc:
        raise InvalidArgumentError(
            f"since is a date or time such as '2026-05-01' or '2026-05-01T12:30', or a span such as '2 days', not {since!r}"
        ) from exc
