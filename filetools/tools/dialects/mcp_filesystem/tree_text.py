"""A tree as JSON, a line at a time: whole, it would keep the loop for as long as it is large."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

Row = tuple[int, str, bool]
"""Depth from 0, name, and whether it is a folder."""


def tree_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a tree as JavaScript writes it with two blanks a level.

    Args:
        rows: Each folder before what is in it.
    """
    if not rows:
        yield "[]"
        return
    yield "["
    for index, (depth, name, is_folder) in enumerate(rows):
        following = rows[index + 1][0] if index + 1 < len(rows) else -1
        margin = "  " * (2 * depth + 1)
        yield f"{margin}{{"
        yield f'{margin}  "name": {json.dumps(name, ensure_ascii=False)},'
        yield f'{margin}  "type": "directory",' if is_folder else f'{margin}  "type": "file"'
        if following > depth:
            yield f'{margin}  "children": ['
            continue
        if is_folder:
            yield f'{margin}  "children": []'
        yield f"{margin}}}{',' if following == depth else ''}"
        yield from _closed(depth, following)
    yield "]"


def _closed(depth: int, following: int) -> Iterator[str]:
    """Yield the ends of the folders that a row was the last of."""
    for level in range(depth - 1, max(following, 0) - 1, -1):
        margin = "  " * (2 * level + 1)
        yield f"{margin}  ]"
        yield f"{margin}}}{',' if following == level else ''}"
