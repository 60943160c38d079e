"""What the watchers pass over: filetools' own names always, and whatever the workspace excludes."""

from __future__ import annotations

import os
from collections.abc import Callable

from filetools.tree.hints import is_own_name

Excluded = Callable[[str, bool], bool]
"""Gets a relative path that no excluded directory is above, and whether it is a directory; called from any thread."""


def with_own_names(excluded: Excluded) -> Excluded:
    """Return a rule that also leaves out `.filetools` and filetools' temporary files, at any depth."""

    def is_left_out(path: str, is_directory: bool) -> bool:
        return is_own_name(path[path.rfind("/") + 1 :]) or excluded(path, is_directory)

    return is_left_out


def is_left_out_below(path: str, is_directory: bool, excluded: Excluded) -> bool:
    """Whether a path or one of the directories it is in is left out."""
    return watched_depth(path, is_directory, excluded) <= path.count("/")


def watched_depth(path: str, is_directory: bool, excluded: Excluded) -> int:
    """Return how many names of a path, from the first on, are not left out."""
    depth, position = 0, path.find("/")
    while position >= 0:
        if excluded(path[:position], True):
            return depth
        depth, position = depth + 1, path.find("/", position + 1)
    return depth if excluded(path, is_directory) else depth + 1


def scan(root: str, path: str, excluded: Excluded) -> list[tuple[str, os.DirEntry[str], bool]] | None:
    """Return path, entry and whether it is a directory for what one directory holds; None if it cannot be read.

    Links are not followed: a link to a directory is no directory.
    """
    try:
        with os.scandir(f"{root}/{path}") as found:
            entries = list(found)
    except OSError:
        return None
    prefix = f"{path}/" if path else ""
    listed = [(f"{prefix}{entry.name}", entry, _is_directory(entry)) for entry in entries]
    return [one for one in listed if not excluded(one[0], one[2])]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
