"""Finds the files that a run created, changed and deleted in the journal's records, and builds the metadata about them."""

from __future__ import annotations

import json
import logging
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from msgspec import Struct

from filetools.content.media import mime_type_of
from filetools.models.records import DIRECTORY_REMOVALS, ChangeRecord, Operation, RecordState
from filetools.sessions.agent_messages import LoggedCall, path_inside

logger = logging.getLogger(__name__)

KEY: Final = "x_claude_metadata"
DISCOVERY_HEADER: Final = "x-claude-file-discovery"
_ON: Final = ("enabled", "true", "1")
_UNKNOWN: Final = ("", None)
"""State of a path that existed, but of which nothing else is known."""

State = tuple[str, int | None]
"""Version and size of a file; the size is None if unknown."""
FileAction = Literal["created", "modified", "deleted", "unchanged"]
Attribution = Literal["folder", "call", "alone"]


class DiscoveredFile(Struct, frozen=True, kw_only=True):
    """One file that a run created, changed, deleted or rewrote with the same bytes, in its final state."""

    path: str
    """Relative to the root, with "/"."""
    action: FileAction
    size: int | None = None
    """In bytes; None if it was deleted or is unknown."""
    version: str | None = None
    """"sha256:" and the hash of its bytes; None if it was deleted or is unknown."""
    created: float
    """When this run first touched it, in seconds since the epoch."""
    modified: float
    """When this run last touched it, in seconds since the epoch."""
    attributed: Attribution | None = None
    """Why a change by another program counts as the run's; None if the run itself made it."""
    tool: str | None = None
    """The tool of the last call that names it."""
    turn: int | None = None
    """The agent's turn of that call, from 1."""


class RunScope(Struct, frozen=True, kw_only=True):
    """Distinguishes the changes of a run from those of others."""

    session: str
    """Session of its own records."""
    outputs: tuple[str, ...] = ()
    """Its output folders, relative to the root; "" is the root."""
    others: tuple[tuple[str, ...], ...] = ()
    """Output folders of each run that was active at the same time."""
    roots: tuple[str, ...] = ("/",)
    """Absolute paths of the root, in every spelling, for the paths in tool calls; see `Workspace.spellings`."""


class Discovery(Struct, frozen=True, kw_only=True):
    """The files found for a run."""

    files: tuple[DiscoveredFile, ...] = ()
    unattributed: int = 0
    """Changes by other programs during the run that may be the run's."""
    foreign: tuple[int, ...] = ()
    """Numbers of the records of other programs that count as the run's."""
    calls: int | None = None
    """Number of tool calls that wrote files; None if unknown."""
    error: str | None = None
    """Why the journal could not be read."""


def from_records(
    records: Iterable[ChangeRecord],
    scope: RunScope,
    calls: Sequence[LoggedCall] = (),
    *,
    before: Mapping[str, State] | None = None,
    turns: Sequence[float] = (),
    facts: Callable[[str], tuple[int, float] | None] = lambda _: None,
) -> Discovery:
    """Return the net effect of a run: for each path, the state before its first change against that after its last one.

    Changes by others do not count, even in between. Reads no files.

    Args:
        records: The records of all actors, from the run's first position to its last, oldest first.
        scope: Distinguishes the run's own records.
        calls: The run's tool calls.
        before: Files in the tree at the first position; needed only if a record moves or deletes a folder, since the record
            does not list its contents.
        turns: Start of each turn of the agent, in seconds since the epoch.
        facts: Returns a file's size and modification time in seconds since the epoch; None if it does not exist.
    """
    named = {
        path: call for call in calls
        if call.has_written and (path := path_inside(scope.roots, call.cwd, call.path or ""))
    }  # fmt: skip
    effect, foreign, unattributed = _Effect(before or {}), list[int](), 0
    for record in records:
        if record.state is not RecordState.APPLIED:
            continue
        attributed, is_runs = None, record.actor.session == scope.session and record.operation is not Operation.FOUND
        if record.actor.kind == "external" and record.operation is not Operation.FOUND:
            attributed = _attribution(record, scope, named)
            unattributed += attributed is None
            foreign += [record.number] if attributed else []
        effect.take(record, is_runs=is_runs or attributed is not None, attributed=attributed)
    found = [_discovered(path, change, named, turns) for path, change in effect.changes.items()]
    found += [_unchanged(path, call, facts(path)) for path, call in named.items() if path not in effect.changes]
    return Discovery(
        files=tuple(file for file in found if file is not None), unattributed=unattributed, foreign=tuple(foreign),
        calls=sum(call.has_written for call in calls) if calls else None,
    )  # fmt: skip


class _Change(Struct):
    """The effect of a run on one path."""

    origin: State | None
    now: State | None
    first: float
    last: float
    attributed: Attribution | None


class _Effect:
    """The known part of the tree, and the run's changes to it."""

    def __init__(self, before: Mapping[str, State]) -> None:
        self._tree = dict(before)
        self.changes: dict[str, _Change] = {}
        """By path, in the order of the first change."""

    def take(self, record: ChangeRecord, *, is_runs: bool, attributed: Attribution | None) -> None:
        """Apply a record."""
        for path, old, new in self._steps(record):
            if new is None:
                self._tree.pop(path, None)
            else:
                self._tree[path] = new
            if is_runs:
                change = self.changes.setdefault(path, _Change(old, new, record.time, record.time, attributed))
                change.now, change.last, change.attributed = new, record.time, change.attributed and attributed

    def _steps(self, record: ChangeRecord) -> list[tuple[str, State | None, State | None]]:
        """Return the file changes of a record: path, old state, new state."""
        path, tree, left = record.path, self._tree, (record.after or "", record.size)
        source = path if record.old_path is None else record.old_path
        known = (record.before, tree.get(source, _UNKNOWN)[1]) if record.before else tree.get(source, _UNKNOWN)
        inside = (
            [each for each in tree if each.startswith(f"{source}/")] if record.operation in DIRECTORY_REMOVALS else []
        )
        match record.operation:
            case Operation.CREATE:
                return [(path, None, left)]
            case Operation.MODIFY | Operation.FOUND:
                return [(path, known, left)]
            case Operation.DELETE:
                return [(path, known, None)]
            case Operation.MOVE:
                return [(source, known, None), (path, None, left)]
            case Operation.DELETE_DIRECTORY:
                return [(each, tree[each], None) for each in inside]
            case Operation.MOVE_DIRECTORY:
                gone = [(each, tree[each], None) for each in inside]
                return [*gone, *((path + each[len(source) :], None, tree[each]) for each in inside)]
            case _:
                return []


def _discovered(
    path: str, change: _Change, named: Mapping[str, LoggedCall], turns: Sequence[float]
) -> DiscoveredFile | None:
    origin, now, call = change.origin, change.now, named.get(path)
    if (origin and origin[0]) == (now and now[0]) != "":
        return None
    version, size = now or (None, None)
    return DiscoveredFile(
        path=path, action="deleted" if now is None else "created" if origin is None else "modified", size=size,
        version=version or None, created=change.first, modified=change.last, attributed=change.attributed,
        tool=call.name if call else None, turn=(call.turn if call else None) or bisect_right(turns, change.last) or None,
    )  # fmt: skip


def _unchanged(path: str, call: LoggedCall, facts: tuple[int, float] | None) -> DiscoveredFile | None:
    if facts is None:
        return None
    size, changed = facts
    return DiscoveredFile(
        path=path, action="unchanged", size=size, created=changed, modified=changed, tool=call.name, turn=call.turn
    )


def _attribution(record: ChangeRecord, scope: RunScope, named: Mapping[str, object]) -> Attribution | None:
    paths = [path for path in (record.path, record.old_path) if path is not None]
    shared = [folder for folders in scope.others for folder in folders]
    if all(_is_in(path, scope.outputs) and not _is_in(path, shared) for path in paths):
        return "folder"
    # None of the writing tools deletes files, so a deletion does not belong to such a call.
    if record.path in named and record.operation is not Operation.DELETE:
        return "call"
    return None if scope.others else "alone"


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(folder in ("", ".", path) or path.startswith(f"{folder}/") for folder in folders)


def describe(file: DiscoveredFile, root: str) -> dict[str, Any]:
    """Return the JSON form of a file.

    Args:
        file: The file.
        root: Absolute path of its root.
    """
    relative = file.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    path = os.path.join(root, *relative.split("/"))
    name = relative.rpartition("/")[2]
    told: dict[str, Any] = {"absolute_path": path, "relative_path": relative, "filename": name}
    if file.action != "deleted":
        told |= {
            "size_bytes": file.size, "created_at": _utc(file.created), "modified_at": _utc(file.modified),
            "checksum": file.version, "mime_type": mime_type_of(name),
        }  # fmt: skip
    told |= {"action": file.action, "path": path, "attributed": file.attributed, "tool": file.tool, "turn": file.turn}
    return {key: value for key, value in told.items() if value is not None}


def _utc(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def metadata(discovery: Discovery, *, session: str, root: str, agent_session: str = "") -> dict[str, Any]:
    """Return the metadata of a run as JSON. A run without files is also logged as a warning.

    Args:
        discovery: The files found.
        session: Session of the run.
        root: Absolute path of the root, which is the run's working folder.
        agent_session: The agent's own session ID; "" if unknown.
    """
    tracking = {"cli_session_id": session, "session_dir": root}
    lists: dict[str, list[dict[str, Any]]] = {"created": [], "modified": [], "deleted": [], "unchanged": []}
    for file in discovery.files:
        lists[file.action].append(describe(file, root))
    status = "success" if discovery.files else "no_files_found" if discovery.error is None else "failed"
    told: dict[str, Any] = {f"files_{action}": files for action, files in lists.items() if files or action == "created"}
    told |= {
        "session_tracking": tracking | ({"agent_session_id": agent_session} if agent_session else {}),
        "discovery_method": "event_journal", "discovery_status": status,
    }  # fmt: skip
    if status != "success":
        told["discovery_details"] = _details(discovery)
        logger.warning("run %s: no files were found: %s", session, told["discovery_details"]["possible_causes"])
    more = {"unattributed": discovery.unattributed, "error": discovery.error}
    return told | {key: value for key, value in more.items() if value}


def _details(found: Discovery) -> dict[str, Any]:
    reasons = (
        (found.calls == 0, "The agent answered with text only: it called no tool that writes files.",
         "Ask for a file by its name, and retry."),
        (found.unattributed, f"{found.unattributed} changes may be of this run or of another one.",
         "Give each run an output folder of its own."),
        (found.error, "Finding the files failed.", "Read the log for the trace, and retry."),
    )  # fmt: skip
    told = [words for is_so, *words in reasons if is_so] or [
        ["The run changed no file that could be found.", "Look into the output folder, and retry."]
    ]
    # Only the journal is used; readers of this format also expect the other keys.
    return {
        "sdk_parsing_attempted": False, "sdk_parsing_failures": 0,
        "directory_scan_attempted": False, "directory_scan_failures": 0,
        "possible_causes": [cause for cause, _ in told], "suggested_actions": [action for _, action in told],
    }  # fmt: skip


def sse(told: Mapping[str, Any], *, chunk: Mapping[str, Any] | None = None) -> str:
    """Return metadata as a server-sent event, two lines and an empty one, to be sent before `data: [DONE]`.

    Args:
        told: The result of `metadata`.
        chunk: Any chunk of the answer, whose `id`, `object`, `created` and `model` are copied: clients expect them.
    """
    like = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
    same = {key: (chunk or {}).get(key, value) for key, value in like.items()}
    # Clients interpret a key `error` as a failure of the answer.
    plain = {"failure" if key == "error" else key: value for key, value in told.items()}
    return f"event: {KEY}\ndata: {json.dumps({**plain, **same, 'choices': []})}\n\n"


def attach(response: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer in plain JSON with the result of `metadata` next to its `usage`."""
    return {**response, KEY: dict(told)}


def is_enabled(
    headers: Mapping[str, str], prompt: str, *, has_tools: bool = True, commands: Sequence[str] = ("/sc:research",)
) -> bool:
    """Return True if a request enables file discovery, by a header or by a line that starts with a command.

    Args:
        headers: Headers of the request; `X-Claude-File-Discovery`, in any case, enables it with "enabled", "true" or "1".
        prompt: The user's prompt.
        has_tools: True if the run has tools; a run without tools creates no files.
        commands: Commands that enable it.
    """
    given = [value.strip().lower() for name, value in headers.items() if name.lower() == DISCOVERY_HEADER]
    is_named = any(re.search(rf"^{re.escape(each)}(?!\S)", prompt, re.MULTILINE) for each in commands)
    return has_tools and (is_named or not set(given).isdisjoint(_ON))
