"""Session logs of a project, for any spelling of its path and including the other work trees of its repository."""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from filetools.errors import FileToolsError
from filetools.project import git, recent
from filetools.sessions import feedback, log_folders
from filetools.sessions.feedback import FeedbackItem
from filetools.sessions.log import instant
from filetools.sessions.log_folders import SessionInfo, real_project
from filetools.sessions.rules import analyze, parse_items, rules

__all__ = [
    "FeedbackItem",
    "SessionInfo",
    "analyze",
    "collect_feedback",
    "extract_feedback",
    "list_sessions",
    "other_worktrees",
    "parse_items",
    "recent_sessions",
    "rules",
]

Folder = str | os.PathLike[str]


def list_sessions(project: Folder, *, logs: Folder | None = None, with_worktrees: bool = True) -> list[SessionInfo]:
    """As `filetools.sessions.log_folders.list_sessions`, for a path that may be relative. Blocks."""
    place, worktrees = _place(project, with_worktrees)
    return log_folders.list_sessions(place, logs=logs, worktrees=worktrees)


def extract_feedback(
    session_id: str, project: Folder, *, logs: Folder | None = None, with_worktrees: bool = True
) -> list[FeedbackItem]:
    """As `filetools.sessions.feedback.extract_feedback`, for a path that may be relative. Blocks."""
    place, worktrees = _place(project, with_worktrees)
    return feedback.extract_feedback(session_id, place, logs=logs, worktrees=worktrees)


def collect_feedback(
    project: Folder,
    *,
    logs: Folder | None = None,
    with_worktrees: bool = True,
    failed: Callable[[str, FileToolsError], object] | None = None,
) -> Iterator[FeedbackItem]:
    """As `filetools.sessions.feedback.collect_feedback`, for a path that may be relative. Blocks."""
    place, worktrees = _place(project, with_worktrees)
    return feedback.collect_feedback(place, logs=logs, worktrees=worktrees, failed=failed)


def recent_sessions(project: Folder, *, limit: int = 5) -> dict[str, Any]:
    """Return the newest log sessions of a project. Blocks.

    Args:
        project: Its folder.
        limit: Maximum number of sessions.

    Returns:
        `{"sessions": [{"id", "title", "age"}]}`, including those of other work trees. The age counts from the beginning of
        the session or, if that is not recorded, from the last change of the log.

    Raises:
        AccessDeniedError: The folder of the logs cannot be read.
    """
    now, place, rows = time.time(), real_project(os.path.abspath(project)), []
    # An untrusted repository can name any folder as its work tree; accept only work trees that name this one back.
    worktrees = [tree for tree in other_worktrees(place) if place in other_worktrees(tree)]
    for info in log_folders.list_sessions(place, worktrees=worktrees)[:limit]:
        begun = instant(info.timestamp)
        age = recent.age(now - (info.modified if begun is None else begun))
        rows.append({"id": info.session_id, "title": info.title, "age": age})
    return {"sessions": rows}


def other_worktrees(project: str) -> list[str]:
    """Return the corresponding folders of a project in the other work trees of its repository.

    Args:
        project: Absolute.
    """
    place, trees = real_project(project), git.worktrees(project)
    around = [tree for tree in trees if PurePosixPath(place).is_relative_to(tree)]
    if not around:
        return []
    own = max(around, key=len)  # work trees may be nested
    inside = posixpath.relpath(place, own)
    return [posixpath.normpath(posixpath.join(tree, inside)) for tree in trees if tree != own]


def _place(project: Folder, with_worktrees: bool) -> tuple[str, Sequence[str]]:
    place = os.path.abspath(project)
    return place, other_worktrees(place) if with_worktrees else ()
