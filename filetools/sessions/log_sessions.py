"""The log sessions of a project: which there are, what each is about, and how fresh it is."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from filetools.errors import FileToolsError
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions.log import INTERRUPTED, LogEntry, by_instant, extract_text, format_title, is_trivial
from filetools.sessions.log_folders import START_BYTES, ProjectLogs, opened_logs
from filetools.sessions.rules import is_noise

logger = logging.getLogger(__name__)

_COMMAND: Final = re.compile(r"(?>.*?<command-name>)(.*?)</command-name>", re.DOTALL)


class SessionInfo(Struct, frozen=True, kw_only=True):
    """What is known of a log session without reading all of its log; texts are "" where nothing tells."""

    session_id: str
    title: str
    """One line of at most 80 characters."""
    timestamp: str
    """Of the first entry that has one, as it stands there."""
    last_prompt: str
    git_branch: str
    """The one that was checked out last."""
    cwd: str
    """The first working folder."""
    tag: str
    size: int
    """Of the log, in bytes."""
    modified: float
    """When the log was changed, in seconds since the epoch."""


def list_sessions(
    project: str, *, logs: str | os.PathLike[str] | None = None, worktrees: Sequence[str] = ()
) -> list[SessionInfo]:
    """Return the sessions of a project, the newest first; those without a readable time last, then by id.

    Of two logs of one session the one that was changed last counts. Empty logs, and those without a title and without an
    entry of a person or model on the main line, are left out. Of each log the first 64 KiB are read, up to 1 MiB if no
    user's entry is among them, and the last 64 KiB.

    Args:
        project: Its folder, absolute.
        logs: Folder with one folder a project; by default `projects` in `CLAUDE_CONFIG_DIR` or `~/.claude`.
        worktrees: Other work trees of its repository, whose logs count, too.

    Raises:
        ValueError: A path is relative.
        AccessDeniedError: The folder of the logs cannot be looked into.
    """
    with opened_logs(project, logs=logs, worktrees=worktrees) as opened:
        return [] if opened is None else listed(opened)


def listed(
    logs: ProjectLogs, *, failed: Callable[[WorkspacePath, FileToolsError], object] | None = None
) -> list[SessionInfo]:
    """As `list_sessions`, of logs that are held open.

    Args:
        logs: Of one project.
        failed: Told which log cannot be read, and why; by default a warning is logged.
    """
    newest = dict[str, SessionInfo]()
    for session_id, paths in logs.sessions.items():
        for path in paths:
            try:
                info = _info(logs, session_id, path)
            except FileToolsError as error:
                (failed or _warn)(path, error)
                continue
            if info is not None and (session_id not in newest or info.modified > newest[session_id].modified):
                newest[session_id] = info
    return sorted(newest.values(), key=lambda info: (_newest_first(info.timestamp), info.session_id))


def _warn(path: WorkspacePath, error: FileToolsError) -> None:
    logger.warning("%s: skipped: %s", path, error.message)


def _newest_first(timestamp: str) -> tuple[bool, float]:
    is_unreadable, seconds = by_instant(timestamp)
    return is_unreadable, -seconds


def _info(logs: ProjectLogs, session_id: str, path: WorkspacePath) -> SessionInfo | None:
    first, size, modified = logs.start(path)
    last = logs.end(path) if size > START_BYTES else first
    spoken = any(entry.type in ("user", "assistant") and not entry.is_sidechain for entry in (*first, *last))
    named = (
        _last(last, "custom_title")
        or _last(first, "custom_title")
        or _last(last, "ai_title")
        or _last(first, "ai_title")
    )
    cwd = _first(first, "cwd")
    if not logs.owns(cwd) or not (spoken or named):
        return None
    return SessionInfo(
        session_id=session_id,
        title=format_title(named or _subject(first)),
        timestamp=_first(first, "timestamp"),
        last_prompt=_last(last, "last_prompt") or _last(first, "last_prompt"),
        git_branch=_last(last, "git_branch") or _last(first, "git_branch"),
        cwd=cwd,
        tag=next((entry.tag for entry in (*reversed(last), *reversed(first)) if entry.type == "tag"), ""),
        size=size,
        modified=modified,
    )


def _last(entries: Sequence[LogEntry], name: str) -> str:
    return _first(reversed(entries), name)


def _first(entries: Iterable[LogEntry], name: str) -> str:
    return next(filter(None, (getattr(entry, name) for entry in entries)), "")


def _subject(entries: Iterable[LogEntry]) -> str:
    """Return what a person said first; else the first command, else the first text of any kind."""
    users = [entry for entry in entries if entry.type == "user"]
    own = [entry for entry in users if not (entry.is_meta or entry.is_summary or entry.is_sidechain)]
    texts = [extract_text(entry.content) for entry in own]
    commands = (found[1].strip() for found in map(_COMMAND.match, texts) if found)
    said = (text for text in texts if not (is_trivial(text) or is_noise(text, min_length=0) or INTERRUPTED in text))
    return (
        next(said, "") or next(commands, "") or next(filter(None, (extract_text(entry.content) for entry in users)), "")
    )
