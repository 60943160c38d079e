"""Which files a run made, changed and deleted, as the records of the journal tell, and the metadata that says so."""

from __future__ import annotations

import json
import logging
import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from filetools.dataclass import dataclass
from filetools.models import ChangeRecord, Operation, RecordState
from filetools.sessions.description import Attribution, DiscoveredFile, describe
from filetools.sessions.tool_calls import LoggedCall

logger = logging.getLogger(__name__)

KEY: Final = "x_claude_metadata"
_ON: Final = ("enabled", "true", "1")
_UNKNOWN: Final = ("", None)
"""What stood at a path of which only that is known."""

State = tuple[str, int | None]
"""Version and size of a file; the size is None where nobody knows it."""
Method = Literal["event_journal", "sdk_parsing", "snapshot_diff", "directory_scan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScope:
    """What tells the changes of a run from those of others."""

    session: str
    """Session of its own records."""
    outputs: tuple[str, ...] = ()
    """Its output folders, relative to the root; "" is the root."""
    others: tuple[tuple[str, ...], ...] = ()
    """Output folders of each other run that was alive meanwhile."""
    roots: tuple[str, ...] = ()
    """Absolute paths of the root, for the paths in tool calls: `Workspace.spellings`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What was found of a run."""

    files: tuple[DiscoveredFile, ...] = ()
    method: Method = "event_journal"
    """What found them; if nothing did, what was tried last."""
    unattributed: int = 0
    """Changes by other programs meanwhile that are perhaps the run's."""
    foreign: tuple[int, ...] = ()
    """Numbers of the records of other programs that count as the run's."""
    skipped: tuple[Mapping[str, str], ...] = ()
    """What tool calls name and is not told: `path` and `reason`."""
    calls: int | None = None
    """How many tool calls that write there were; None if nobody knows."""
    sdk_failures: int | None = None
    """How many messages could not be read; None if there was none to read."""
    scan_failures: int | None = None
    """How many folders could not be scanned; None if none was to be."""
    error: str | None = None
    """Why no source could tell anything."""


def from_records(
    records: Iterable[ChangeRecord],
    scope: RunScope,
    calls: Sequence[LoggedCall] = (),
    *,
    before: Mapping[str, State] | None = None,
    turns: Sequence[float] = (),
) -> Discovery:
    """Return the net effect of a run: what stood at each path before its first change against what its last one left.

    Changes of others do not count, even where they came in between; nothing is read.

    Args:
        records: Of everybody, from the run's first position to its last, oldest first.
        scope: What tells the run's own from the others'.
        calls: The run's tool calls.
        before: Files that stood in the tree at the first position: needed only where a record moves or deletes a folder,
            since it does not tell what was in there.
        turns: When each turn of the agent began, in seconds since the epoch.
    """
    named = _named(calls, scope.roots)
    effect, foreign, unattributed = _Effect(before or {}), list[int](), 0
    for record in records:
        if record.state is not RecordState.APPLIED:
            continue
        is_own = record.actor.session == scope.session
        attributed = None
        if not is_own and record.actor.kind == "external" and record.operation is not Operation.FOUND:
            attributed = _attribution(record, scope, named)
            unattributed += attributed is None
            foreign += [record.number] if attributed else []
        effect.take(record, is_runs=is_own or attributed is not None, attributed=attributed)
    found = [_discovered(path, change, named, turns) for path, change in effect.changes.items()]
    files = tuple(file for file in found if file is not None)
    writing = sum(call.has_written for call in calls) if calls else None
    return Discovery(files=files, unattributed=unattributed, foreign=tuple(foreign), calls=writing)


@dataclass(slots=True)
class _Change:
    """What a run did to one path."""

    origin: State | None
    now: State | None
    first: float
    last: float
    attributed: Attribution | None


class _Effect:
    """The tree as far as it is known, and what a run does to it. Lives for one look at records."""

    def __init__(self, before: Mapping[str, State]) -> None:
        self._tree = dict(before)
        self.changes: dict[str, _Change] = {}
        """By path, in the order of the first change."""

    def take(self, record: ChangeRecord, *, is_runs: bool, attributed: Attribution | None) -> None:
        """Do what a record says."""
        for path, old, new in self._steps(record):
            if new is None:
                self._tree.pop(path, None)
            else:
                self._tree[path] = new
            if is_runs and record.operation is not Operation.FOUND:
                self._note(path, old, new, record, attributed)

    def _note(
        self, path: str, old: State | None, new: State | None, record: ChangeRecord, attributed: Attribution | None
    ) -> None:
        # Of what happened while nobody watched, the end is when the file was changed.
        when = record.between[1] if record.between else record.time
        change = self.changes.get(path)
        if change is None:
            self.changes[path] = _Change(old, new, when, when, attributed)
            return
        change.now, change.last = new, when
        change.attributed = change.attributed and attributed

    def _steps(self, record: ChangeRecord) -> list[tuple[str, State | None, State | None]]:
        """Return what becomes of which file: path, what stood there, and what stands there."""
        path, old_path, tree = record.path, record.old_path, self._tree
        known = (record.before, tree.get(path, _UNKNOWN)[1]) if record.before else tree.get(path, _UNKNOWN)
        left = (record.after or "", record.size)
        match record.operation:
            case Operation.CREATE:
                return [(path, None, left)]
            case Operation.MODIFY | Operation.FOUND:
                return [(path, known, left)]
            case Operation.DELETE:
                return [(path, known, None)]
            case Operation.MOVE if old_path is not None:
                source = (record.before, record.size) if record.before else tree.get(old_path, _UNKNOWN)
                return [(old_path, source, None), (path, tree.get(path) if path != old_path else source, left)]
            case Operation.DELETE_DIRECTORY:
                return [(each, tree[each], None) for each in self._below(path)]
            case Operation.MOVE_DIRECTORY if old_path is not None:
                inside = self._below(old_path)
                gone = [(each, tree[each], None) for each in inside]
                return [*gone, *((path + each[len(old_path) :], None, tree[each]) for each in inside)]
            case _:
                return []

    def _below(self, folder: str) -> list[str]:
        return [path for path in self._tree if path.startswith(f"{folder}/")]


def _discovered(
    path: str, change: _Change, named: Mapping[str, LoggedCall], turns: Sequence[float]
) -> DiscoveredFile | None:
    origin, now = change.origin, change.now
    if (origin and origin[0]) == (now and now[0]) != "":
        return None
    call = named.get(path)
    turn = (call.turn if call else None) or bisect_right(turns, change.last) or None
    version, size = now or (None, None)
    return DiscoveredFile(
        path=path, action="deleted" if now is None else "created" if origin is None else "modified", size=size,
        version=version or None, created=change.first, modified=change.last, attributed=change.attributed,
        tool=call.name if call else None, turn=turn,
    )  # fmt: skip


def _named(calls: Iterable[LoggedCall], roots: Sequence[str]) -> dict[str, LoggedCall]:
    """Return the last successful writing call of each path relative to the root."""
    found = {}
    for call in calls:
        if call.path is None or not call.has_written:
            continue
        path = posixpath.normpath(posixpath.join(roots[0] if roots else "", call.cwd, call.path))
        inside = next((path[len(root) :] for root in roots if path.startswith(f"{root.rstrip('/')}/")), path)
        found[inside.lstrip("/")] = call
    return found


def _attribution(record: ChangeRecord, scope: RunScope, named: Mapping[str, object]) -> Attribution | None:
    paths = [path for path in (record.path, record.old_path) if path is not None]
    shared = [folder for folders in scope.others for folder in folders]
    if all(_is_in(path, scope.outputs) and not _is_in(path, shared) for path in paths):
        return "folder"
    # No call of those that write takes a file away: whoever did it, it was not that call.
    if record.path in named and record.operation is not Operation.DELETE:
        return "call"
    return None if scope.others else "alone"


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(folder in ("", ".", path) or path.startswith(f"{folder}/") for folder in folders)


def metadata(discovery: Discovery, *, session: str, session_dir: str, root: str) -> dict[str, Any]:
    """Return what is told of a run, as JSON.

    Args:
        discovery: What was found.
        session: Of the run.
        session_dir: Its working folder.
        root: Absolute path of the root.
    """
    lists: dict[str, list[dict[str, Any]]] = {"created": [], "modified": [], "deleted": []}
    for file in discovery.files:
        lists[file.action].append(describe(file, root))
    told: dict[str, Any] = {f"files_{action}": files for action, files in lists.items() if files or action == "created"}
    told["session_tracking"] = {"cli_session_id": session, "session_dir": session_dir}
    told |= {"discovery_method": discovery.method, "discovery_status": _status(discovery)}
    more = {"unattributed": discovery.unattributed, "skipped": [dict(each) for each in discovery.skipped]}
    told |= {key: value for key, value in more.items() if value}
    if discovery.error is not None:
        told["error"] = discovery.error
    if told["discovery_status"] != "success":
        told["discovery_details"] = _details(discovery)
    return told


def _status(discovery: Discovery) -> str:
    has_failed = discovery.error or discovery.sdk_failures or discovery.scan_failures
    if discovery.files:
        is_unreadable = any(each["reason"] == "unreadable" for each in discovery.skipped)
        return "partial" if has_failed or is_unreadable else "success"
    return "no_files_found" if discovery.error is None else "failed"


def _details(discovery: Discovery) -> dict[str, Any]:
    sdk, scan = discovery.sdk_failures, discovery.scan_failures
    found = [words for is_so, *words in _reasons(discovery) if is_so]
    return {
        "sdk_parsing_attempted": sdk is not None, "sdk_parsing_failures": sdk or 0,
        "directory_scan_attempted": scan is not None, "directory_scan_failures": scan or 0,
        "possible_causes": [cause for cause, _ in found],
        "suggested_actions": list(dict.fromkeys(action for _, action in found)),
    }  # fmt: skip


def _reasons(discovery: Discovery) -> list[tuple[bool, str, str]]:
    """Return, of each reason for finding little, whether it holds, its words, and what to do about it."""
    outside = sum(each["reason"] == "outside_root" for each in discovery.skipped)
    others = len(discovery.skipped) - outside
    sdk, scan = discovery.sdk_failures or 0, discovery.scan_failures
    is_journal = discovery.method == "event_journal"
    known = [
        (discovery.calls == 0, "The agent answered with text only: it called no tool that writes files.",
         "Ask for a file by its name, and retry."),
        (sdk > 0, f"{sdk} messages of the agent could not be read.", "Read the log for why they could not."),
        (outside > 0, f"{outside} files were written outside of the root.", "Look at the paths in skipped."),
        (others > 0, f"{others} files that tool calls name could not be told.", "Look at the reasons in skipped."),
        (discovery.unattributed > 0, f"{discovery.unattributed} changes may be of this run or of another one.",
         "Give each run an output folder of its own."),
        (bool(scan), f"{scan} folders could not be scanned.", "Look into the output folder: it may be missing."),
        (scan == 0 and not discovery.files, "The output folders hold nothing new.",
         "Look into the output folder, and at where the agent writes."),
        (discovery.error is not None, "Finding the files failed.", "Read the log for the trace, and retry."),
    ]  # fmt: skip
    is_silent = not any(is_so for is_so, *_ in known)
    where = "in the workspace" if is_journal else "that its tool calls name"
    return [*known, (is_silent, f"The run changed no file {where}.", "Look into the output folder, and retry.")]


def sse(told: Mapping[str, Any], *, chunk: Mapping[str, Any] | None = None) -> str:
    """Return the event that carries metadata: two lines and an empty one, to be sent before `data: [DONE]`.

    Args:
        told: What `metadata` returned.
        chunk: Any chunk of the answer, whose `id`, `object`, `created` and `model` it bears: clients look for them.
    """
    like = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
    same = {key: (chunk or {}).get(key, value) for key, value in like.items()}
    # Clients take a key `error` for a failure of the answer.
    plain = {"failure" if key == "error" else key: value for key, value in told.items()}
    return f"event: {KEY}\ndata: {json.dumps({**plain, **same, 'choices': []})}\n\n"


def attach(response: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer in plain JSON with the metadata that `metadata` returned beside its `usage`."""
    return {**response, KEY: dict(told)}


def is_enabled(
    headers: Mapping[str, str], prompt: str, *, has_tools: bool = True, commands: Sequence[str] = ("/sc:research",)
) -> bool:
    """Whether a request asks for its files to be found: by a header, or by a line that starts with a command.

    Args:
        headers: Of the request; `X-Claude-File-Discovery`, in any case, asks for it with "enabled", "true" or "1".
        prompt: Of the user.
        has_tools: Whether the run has tools; one without makes no files.
        commands: Those that ask for it.
    """
    given = (value for name, value in headers.items() if name.lower() == "x-claude-file-discovery")
    if any(value.strip().lower() in _ON for value in given):
        return has_tools
    starts = "|".join(map(re.escape, commands))
    return has_tools and bool(starts) and re.search(rf"^(?:{starts})(?!\S)", prompt, re.MULTILINE) is not None
