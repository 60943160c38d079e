"""Matches in files as lines of text, in the form that grep made known: `path:line:text`, with `-` for lines around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def match_rows(data: Mapping[str, Any]) -> list[str]:
    """Return the rows of a search through contents."""
    rows = [row for match in data["matches"] for row in _rows_of(match)]
    return rows + [_file_row(found) for found in data.get("files", ())]


def _rows_of(match: Mapping[str, Any]) -> Iterator[str]:
    path, line = match["path"], match["line"]
    above, below = match.get("before") or [], match.get("after") or []
    for place, text in enumerate(above, line - len(above)):
        yield f"{path}-{place}-{text}"
    remark = "  (unsaved text of an editor)" if match.get("origin") == "buffer" else ""
    dots = "\u2026" if match.get("clipped") else ""
    if dots:
        remark = f"  (column {match['column']}){remark}"
    for place, text in enumerate(match["text"].split("\n"), line):
        yield f"{path}:{place}:{dots}{text}{dots}{remark}"
    for place, text in enumerate(below, (match.get("end_line") or line) + 1):
        yield f"{path}-{place}-{text}"


def _file_row(found: Mapping[str, Any]) -> str:
    count = "" if found.get("count") is None else f":{found['count']}"
    remark = "  (unsaved text of an editor)" if found.get("origin") == "buffer" else ""
    return f"{found['path']}{count}{remark}"
