"""What a folder contains, and what of that is protected: needed to decide whether it may be deleted or moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from filetools.changes.parts import Parts
from filetools.paths.protected import matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree

FOLDER: Final = "directory"

Contents = Mapping[WorkspacePath, str]
"""Of every file below a folder its type, size and times, by path; `FOLDER` for folders."""


class PathSurvey(Struct, frozen=True, kw_only=True):
    """What is at a path."""

    is_folder: bool
    protected: tuple[WorkspacePath, ...]
    """Protected paths inside, each of which needs an approval of its own, and hidden ones that a move would reveal."""
    count: int = 0
    """Number of entries below it."""
    is_link: bool = False


def survey(parts: Parts, path: WorkspacePath, destination: WorkspacePath | None = None) -> PathSurvey:
    """Return what is at a path and, if it is a folder, below it.

    Args:
        parts: The workspace.
        path: What may be deleted or moved.
        destination: Where it may move to; paths that are protected there count, too.
    """
    stat = parts.store.stat(path)
    if stat is None or stat.type != "directory":
        return PathSurvey(is_folder=False, protected=(), is_link=stat is not None and stat.type == "symlink")
    patterns = parts.settings.protected_paths
    inside = [below for below, _ in walk_tree(parts.store, path)]
    count = len(inside)
    if destination is not None:
        inside += [moved(below, path, destination) for below in inside]
    protected = tuple(below for below in inside if matches_protected(below, patterns))
    if destination is not None:
        # A move must not reveal a hidden path.
        is_hidden = parts.gatekeeper.policy.is_hidden
        protected += tuple(
            below for below in inside[:count] if is_hidden(below) and not is_hidden(moved(below, path, destination))
        )
    return PathSurvey(is_folder=True, protected=protected, count=count)


def moved(path: WorkspacePath, folder: WorkspacePath, destination: WorkspacePath) -> WorkspacePath:
    """Return where a path in a folder, or the folder itself, is after the folder has moved."""
    return WorkspacePath(destination + path[len(folder) :])


def contents_of(parts: Parts, path: WorkspacePath) -> Contents:
    """Return what an approval to delete or move a file or folder is bound to; empty if nothing is there."""
    top = parts.store.stat(path)
    inside = walk_tree(parts.store, path) if top is not None and top.type == "directory" else ()
    found: dict[WorkspacePath, str] = {}
    for each in (path, *(below for below, _ in inside)):
        stat = parts.store.stat(each)
        if stat is not None:
            # Without the inode, which some drivers make up; a rename and every other change set the last time.
            facts = (stat.type, stat.size, stat.modified_ns, stat.changed_ns)
            found[each] = FOLDER if stat.type == "directory" else "-".join(map(str, facts))
    return found
