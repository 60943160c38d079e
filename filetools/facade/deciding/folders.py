"""What a folder contains, and what of that is protected: needed to decide whether it may be deleted or moved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from filetools.content.facts import inspect
from filetools.content.version import stat_version
from filetools.errors import FileTooLargeError, FileToolsError
from filetools.facade.parts import Parts
from filetools.paths.protected import matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree
from filetools.stores.store import FileStat

LARGEST_HASHED_BYTES: Final = 1024 * 1024
"""Larger files are identified by their inode and times."""
FOLDER: Final = "directory"

Contents = Mapping[WorkspacePath, str]
"""Version of every file below a folder, by path; `FOLDER` for folders."""


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
    stat = parts.store.stat(path)
    if stat is None:
        return {}
    if stat.type != "directory":
        return {path: _version(parts, path, stat)}
    found = {path: FOLDER}
    for below, entry in walk_tree(parts.store, path):
        inner = parts.store.stat(below)
        if entry.type == "directory":
            found[below] = FOLDER
        elif inner is not None:
            found[below] = _version(parts, below, inner)
    return found


def _version(parts: Parts, path: WorkspacePath, stat: FileStat) -> str:
    # A large file may be hashed between two calls of this; its version must be the same in both.
    known = None if stat.size > LARGEST_HASHED_BYTES else parts.facts.get(stat.identity)
    if known is not None:
        return known.version
    if stat.type == "file":
        taken_ns = time.time_ns()
        try:
            content, stat = parts.store.read(path, limit=LARGEST_HASHED_BYTES)
        except FileTooLargeError:
            return stat_version(stat.identity)
        except FileToolsError as exc:
            return exc.code  # unreadable or gone: the approval is bound to that
        facts = inspect(content, name=path)[0]
        parts.facts.put(stat.identity, facts, taken_ns=taken_ns)
        return facts.version
    return stat_version(stat.identity)
