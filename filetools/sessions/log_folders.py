"""Finds the logs that coding agents keep of a project, and describes each session."""

from __future__ import annotations

import logging
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from math import inf
from pathlib import PurePath
from typing import Final

from msgspec import Struct

from filetools.errors import AccessDeniedError, DirectoryNotFoundError, FileToolsError, WorkspaceGoneError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.sessions.log import INTERRUPTED, LogEntry, entries_of, extract_text, format_title, instant, is_trivial
from filetools.sessions.rules import is_noise
from filetools.settings import MIB, session_logs_folder
from filetools.stores.folder import FolderStore

logger = logging.getLogger(__name__)

START_BYTES: Final = 64 * 1024
_MOST_START_BYTES: Final = MIB
_LONGEST_NAME: Final = 200
_SESSION: Final = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl")
_AGENT: Final = re.compile(r"agent-(.+)\.jsonl", re.DOTALL)
_UNENCODED: Final = re.compile("[^a-zA-Z0-9]")


def encode_project_path(path: str) -> str:
    """Return the name of the folder with a project's logs; of longer names, the writer keeps 200 characters and adds a hash.

    Several paths can have the same name, so it cannot be decoded.

    Args:
        path: Absolute; trailing slashes are ignored.

    Raises:
        ValueError: It is relative.

    Source: the naming of Claude Code, which counts UTF-16 units, as JavaScript does.
    """
    if not os.path.isabs(path):
        raise ValueError("project_dir must be an absolute path")
    units = "".join(char if ord(char) <= 0xFFFF else "--" for char in path.rstrip("/") or "/")
    return _UNENCODED.sub("-", units)


class ProjectLogs:
    """The open logs of one project, valid inside the `with` block of `opened_logs`.

    Args:
        reads: Reads below the folder of all projects.
        folders: The folders in it that may contain logs of the project.
        projects: Paths of the project and its other work trees, absolute, links resolved, NFC.
    """

    def __init__(self, reads: FolderStore, folders: Sequence[WorkspacePath], projects: Sequence[str]) -> None:
        self.reads: Final = reads
        self._folders = folders
        self._projects = projects

    @cached_property
    def sessions(self) -> Mapping[str, Sequence[WorkspacePath]]:
        """The logs of each session by ID, including those of other projects that share the folder."""
        found: dict[str, list[WorkspacePath]] = {}
        for folder in self._folders:
            try:
                names = sorted(entry.name for entry in self.reads.scan(folder))
            except FileToolsError as error:
                if len(self._folders) == 1:  # there is nothing else to return
                    raise
                _warn(folder, error)
                continue
            for name in names:
                if match := _SESSION.fullmatch(name):
                    found.setdefault(match[1], []).append(folder.child(name))
        return found

    def start(self, path: WorkspacePath) -> tuple[list[LogEntry], int, float]:
        """Return the first entries of a log, its size in bytes, and its modification time in seconds since the epoch.

        The entries are from the first 64 KiB or, if none of them is a user's, from up to 1 MiB.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        """
        with self.reads.opened(path, buffering=START_BYTES) as (file, size):
            chunk = file.read(START_BYTES)
            entries = entries_of(chunk)
            if size > START_BYTES and not any(entry.type == "user" for entry in entries):
                chunk += file.read(_MOST_START_BYTES - START_BYTES)
                entries = entries_of(chunk, is_cut=size > _MOST_START_BYTES)
            return entries, size, os.fstat(file.fileno()).st_mtime

    def end(self, path: WorkspacePath) -> list[LogEntry]:
        """Return the entries in the last 64 KiB of a log longer than that."""
        return entries_of(self.reads.read_end(path, START_BYTES).partition(b"\n")[2])

    def owns(self, cwd: str) -> bool:
        """Return True if a log whose first working folder is `cwd` ("" if it names none) belongs to the project."""
        place = PurePath(unicodedata.normalize("NFC", cwd))
        return not cwd or any(place.is_relative_to(project) for project in self._projects)

    def agents(self, session_id: str) -> Iterator[tuple[str, WorkspacePath]]:
        """Yield ID and log of the agents of a session, which are in its own folder, at any depth."""
        if not session_id or "/" in session_id or session_id in (".", ".."):
            return
        pending = [folder.child(session_id).child("subagents") for folder in self._folders]
        for folder in pending:
            try:
                found = sorted(self.reads.scan(folder), key=lambda entry: entry.name)
            except DirectoryNotFoundError:
                continue
            except FileToolsError as error:
                _warn(folder, error)
                continue
            pending += (folder.child(entry.name) for entry in found if entry.type == "directory")
            yield from ((match[1], folder.child(match[0])) for each in found if (match := _AGENT.fullmatch(each.name)))


@contextmanager
def opened_logs(
    project: str, *, logs: str | os.PathLike[str] | None = None, worktrees: Sequence[str] = ()
) -> Iterator[ProjectLogs | None]:
    """Open the logs of a project for reading; yields None if there are none. Creates nothing.

    Args:
        project: Its folder, absolute; it need not exist any more.
        logs: Folder with one folder per project; by default `projects` in `CLAUDE_CONFIG_DIR` or `~/.claude`.
        worktrees: Other work trees of its repository, whose logs are included.

    Raises:
        ValueError: The project is a relative path.
        AccessDeniedError: The folder of the logs, or the only one of the project, cannot be read.
    """
    places = [real_project(place) for place in (project, *worktrees)]
    top = session_logs_folder() if logs is None else logs
    try:
        try:
            workspace = Workspace.open(top)
        except WorkspaceGoneError:
            yield None
            return
        with closing(workspace):
            reads = FolderStore(workspace)
            folders = list(_folders(reads, places))
            yield ProjectLogs(reads, folders, places) if folders else None
    except AccessDeniedError as error:
        # A path relative to the folder of all logs would not help the caller.
        raise AccessDeniedError(os.path.normpath(os.path.join(top, error.path or ""))) from error


def _folders(reads: FolderStore, projects: Sequence[str]) -> Iterator[WorkspacePath]:
    names = {name for project in projects for name in _names(project)}
    # The hash that follows differs between versions.
    long = tuple(f"{name[:_LONGEST_NAME]}-" for name in names if len(name) > _LONGEST_NAME)
    for entry in reads.scan(ROOT):
        if entry.type == "directory" and (entry.name in names or entry.name.startswith(long)):
            yield ROOT.child(entry.name)


def real_project(path: str) -> str:
    """Return a project's path as in the logs: links resolved, NFC.

    Raises:
        ValueError: It is relative.
    """
    if not os.path.isabs(path):
        raise ValueError("project_dir must be an absolute path")
    return unicodedata.normalize("NFC", os.path.realpath(path))


def _names(project: str) -> tuple[str, ...]:
    """Return the folder names that versions of the writer use for a project's logs."""
    # The writer's own reader in Python counts code points; the oldest versions replaced only slashes.
    return encode_project_path(project), _UNENCODED.sub("-", project), project.replace("/", "-")


_COMMAND: Final = re.compile(r"(?>.*?<command-name>)(.*?)</command-name>", re.DOTALL)


class SessionInfo(Struct, frozen=True, kw_only=True):
    """Facts about a log session, found without reading all of its log; unknown texts are ""."""

    session_id: str
    title: str
    """One line of at most 80 characters."""
    timestamp: str
    """Timestamp of the first entry that has one, unchanged."""
    last_prompt: str
    git_branch: str
    """The last recorded branch."""
    cwd: str
    """The first working folder."""
    tag: str
    size: int
    """Size of the log in bytes."""
    modified: float
    """Modification time of the log, in seconds since the epoch."""


def list_sessions(
    project: str, *, logs: str | os.PathLike[str] | None = None, worktrees: Sequence[str] = ()
) -> list[SessionInfo]:
    """Return the sessions of a project, newest first; those without a valid time last, then by ID.

    Of two logs of one session, the one modified last counts. Empty logs, and those with neither a title nor an entry of a
    person or model on the main line, are omitted. Only the first 64 KiB of each log (up to 1 MiB if they contain no user's
    entry) and the last 64 KiB are read.

    Args:
        project: Its folder, absolute.
        logs: Folder with one folder per project; by default `projects` in `CLAUDE_CONFIG_DIR` or `~/.claude`.
        worktrees: Other work trees of its repository, whose logs are included.

    Raises:
        ValueError: A path is relative.
        AccessDeniedError: The folder of the logs cannot be read.
    """
    with opened_logs(project, logs=logs, worktrees=worktrees) as opened:
        return [] if opened is None else listed(opened)


def listed(
    logs: ProjectLogs, *, failed: Callable[[WorkspacePath, FileToolsError], object] | None = None
) -> list[SessionInfo]:
    """As `list_sessions`, for open logs.

    Args:
        logs: The logs of one project.
        failed: Called with a log that cannot be read, and the error; by default a warning is logged.
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
    by_id = sorted(newest.values(), key=lambda info: info.session_id)
    return sorted(by_id, key=lambda info: instant(info.timestamp) or -inf, reverse=True)


def _warn(path: WorkspacePath, error: FileToolsError) -> None:
    logger.warning("%s: skipped: %s", path, error.message)


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
    """Return the first statement of a person, else the first command, else the first text of any kind."""
    users = [entry for entry in entries if entry.type == "user"]
    own = [entry for entry in users if not (entry.is_meta or entry.is_summary or entry.is_sidechain)]
    texts = [extract_text(entry.content) for entry in own]
    commands = (found[1].strip() for found in map(_COMMAND.match, texts) if found)
    said = (text for text in texts if not (is_trivial(text) or is_noise(text, min_length=0) or INTERRUPTED in text))
    return (
        next(said, "") or next(commands, "") or next(filter(None, (extract_text(entry.content) for entry in users)), "")
    )
