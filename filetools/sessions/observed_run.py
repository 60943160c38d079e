"""The files of a run outside of a workspace: from its tool calls, and from what is new in its output folders."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from filetools.content.media import mime_type_of
from filetools.errors import (
    DirectoryScanError,
    FileMetadataError,
    FileToolsError,
    SymlinkNotAllowedError,
    WorkspaceGoneError,
)
from filetools.models.records import ChangeRecord
from filetools.paths.patterns import compile_patterns
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions.agent_messages import AgentMessages
from filetools.sessions.baseline import PATTERNS, Baseline, is_changed, scan, settle, take_baseline
from filetools.sessions.description import DiscoveredFile, FileAction, read_file
from filetools.sessions.discovery import Discovery, Method, RunScope, from_records
from filetools.sessions.log import instant
from filetools.sessions.tool_calls import CHANGING, CREATING, LoggedCall, path_inside
from filetools.settings import MIB
from filetools.stores.folder import FolderStore

logger = logging.getLogger(__name__)

OUTPUTS: Final = ("claudedocs",)
LARGEST_CONTENT_BYTES: Final = 10 * MIB
MOST_CONTENT_BYTES: Final = 50 * MIB
_TOOLS: Final = CREATING | CHANGING | {"move_file", "delete_file"}

Messages = AgentMessages | Iterable[Any] | None


class ObservedRun:
    """A run that `begin` has seen begin. Lives until its end; holds nothing open."""

    def __init__(self, run: str, find: Callable[..., Discovery]) -> None:
        self._run, self._find = run, find

    def finish(self, messages: Messages = None, log: Iterable[Any] | None = None) -> Discovery:
        """Return what the run has made; also after an error, and never raises for what it finds; see `discover`."""
        try:
            return self._find(messages, log)
        except Exception as error:  # whatever fails here must not spoil the answer that it belongs to
            logger.exception("run %s: its files could not be found", self._run)
            return Discovery(method="snapshot_diff", error=str(error))


def begin(root: str, *, output_dirs: Sequence[str] = OUTPUTS, run: str = "", **options: Any) -> ObservedRun:
    """Look at the output folders before a run; the options are those of `discover`.

    Raises:
        ValueError: The root is no folder, an output folder lies outside of it, or a pattern is malformed.
    """
    started_at = datetime.now(UTC)
    compile_patterns(options.get("patterns") or ())
    with _opened(root) as workspace:
        baseline = take_baseline(FolderStore(workspace), _folders(workspace, output_dirs, run))
    find = partial(discover, root=root, output_dirs=output_dirs, run=run, started_at=started_at, baseline=baseline)
    return ObservedRun(run, partial(find, **options))


def discover(
    messages: Messages = None, log: Iterable[Any] | None = None, records: Iterable[ChangeRecord] | None = None,
    *, root: str, output_dirs: Sequence[str] = OUTPUTS, started_at: datetime | None,
    patterns: Sequence[str] | None = None, include_content: bool = False, scope: RunScope | None = None,
    baseline: Baseline | None = None, run: str = "",
) -> Discovery:  # fmt: skip
    """Return what a run has made: as its records tell, or by its tool calls and then by a look at its output folders.

    Args:
        messages: Of its agent, or what was remembered of them; none at all are a run without files.
        log: Entries or lines of its log.
        records: Of everybody while it ran; with `scope`, which says whose are the run's, they decide alone.
        root: The folder that it works in.
        output_dirs: Where it puts its files, inside the root; `{run}` stands for its id.
        started_at: When it began; local time, unless it names another.
        patterns: What counts in the output folders, in the form of exclude patterns; by default everything that differs
            from the baseline, and without one `*.md`, `*.json` and `*.txt`.
        include_content: Whether files are told with their content, up to 10 MiB each and 50 MiB in all.
        scope: See `records`.
        baseline: What was in the output folders before.
        run: Its id.

    Raises:
        ValueError: An argument is missing or malformed.
    """
    if started_at is None:
        raise ValueError("started_at must be a time, not None")
    if messages is None and log is None and records is None and baseline is None:
        raise ValueError("messages must be given where there are no log, no records and no baseline")
    compile_patterns(patterns or ())
    said = _remembered(messages, log, run)
    with _opened(root) as workspace:
        if records is not None:
            return from_records(records, scope or RunScope(session=run), said.calls() if said else ())
        search = _Search(workspace, started_at.timestamp(), baseline, run)
        for call in said.calls() if said else ():
            search.follow(call)
        search.classify()
        method: Method = "sdk_parsing" if said else "snapshot_diff"
        scan_failures, error = None, None
        if baseline is not None or (said is not None and said.count and not search.found):
            if said is not None and not search.found:
                method = "snapshot_diff" if baseline else "directory_scan"
                logger.info("run %s: its tool calls tell of no file: now %s", run, method)
            folders = _folders(workspace, output_dirs, run)
            try:
                scan_failures = search.look(folders, patterns or (("*",) if baseline else PATTERNS))
            except DirectoryScanError as exc:
                logger.exception("run %s: its folders could not be scanned", run)
                scan_failures, error = len(folders), exc.message if said is None or said.failures else None
        return Discovery(
            files=tuple(search.described(include_content)), method=method, skipped=tuple(search.skipped),
            calls=search.calls if said else None, sdk_failures=said.failures if said else None,
            scan_failures=scan_failures, error=error,
        )  # fmt: skip


@dataclass(slots=True)
class _Mention:
    """A file that calls name."""

    path: WorkspacePath
    is_new: bool
    """Whether the first call makes it."""
    call: LoggedCall
    is_gone: bool = False
    """Whether the last call takes it away."""


class _Search:
    """Looks for the files of one run. Lives for one look."""

    def __init__(self, workspace: Workspace, since: float, baseline: Baseline | None, run: str) -> None:
        self._workspace, self._reads = workspace, FolderStore(workspace)
        self._since, self._baseline, self._run = since, baseline, run
        self._mentions: dict[str, _Mention] = {}
        self.found: dict[WorkspacePath, tuple[FileAction, LoggedCall | None]] = {}
        self.skipped: list[dict[str, str]] = []
        self.calls = 0

    def follow(self, call: LoggedCall) -> None:
        """Note which files a call names."""
        named = [(call.path, call.is_new, call.tool == "delete_file")]
        if call.tool == "move_file":
            named = [(call.input.get("source"), False, True), (call.input.get("destination"), True, False)]
        for raw, is_new, is_gone in named if call.tool in _TOOLS and not call.is_error else ():
            self.calls += 1
            inside = path_inside(self._workspace.spellings, call.cwd, raw or "")
            try:
                path = self._workspace.resolve("" if raw is None or inside is None else inside)
            except FileToolsError:
                self._skip(raw or "", "outside_root" if raw and inside is None else "wrong_argument")
                continue
            known = self._mentions.setdefault(self._workspace.key(path), _Mention(path, is_new, call))
            known.call, known.is_gone = call, is_gone

    def classify(self) -> None:
        """Find out what has become of the files that calls name."""
        for mention in self._mentions.values():
            try:
                fate = self._fate(mention)
            except SymlinkNotAllowedError:
                fate = None, "symlink"
            except FileToolsError:
                logger.exception("run %s: a file cannot be looked at", self._run)
                fate = None, "unreadable"
            if fate[0] is not None:
                self.found[mention.path] = fate[0], mention.call
            else:
                self._skip(mention.path, fate[1])

    def _fate(self, mention: _Mention) -> tuple[FileAction | None, str]:
        stat, is_known = self._reads.stat(mention.path), bool(self._baseline and mention.path in self._baseline.files)
        if stat is None:
            return "deleted" if mention.is_gone or is_known else None, "missing"
        if stat.type != "file":
            return None, "symlink" if stat.type == "symlink" else "not_regular"
        if not is_changed(self._reads, mention.path, stat.identity[1:], self._since, self._baseline):
            return None, "unchanged"
        return "created" if mention.is_new and not is_known else "modified", ""

    def look(self, folders: Sequence[str], patterns: Sequence[str]) -> int:
        """Add what a look at folders finds; return how many of them, or below them, could not be scanned.

        Raises:
            DirectoryScanError: None of them can be.
        """
        actions, errors = scan(self._reads, folders, self._since, patterns, baseline=self._baseline)
        for error in errors:
            logger.error("run %s: a folder could not be scanned", self._run, exc_info=error)
        new = {path: action for path, action in actions.items() if self._workspace.key(path) not in self._mentions}
        self.found |= {path: (action, None) for path, action in new.items()}
        return len(errors)

    def described(self, include_content: bool) -> Iterator[DiscoveredFile]:
        """Yield what is to be told of the files; one that cannot be read is skipped."""
        restless = settle(self._reads, [path for path, (action, _) in self.found.items() if action != "deleted"])
        left = MOST_CONTENT_BYTES if include_content else -1
        for path, (action, call) in self.found.items():
            named: dict[str, Any] = {} if call is None else {"tool": call.name, "turn": call.turn}
            try:
                told = {} if action == "deleted" else self._told(path, call, min(left, LARGEST_CONTENT_BYTES))
            except FileToolsError:
                logger.exception("run %s: a file cannot be described", self._run)
                self._skip(path, "unreadable")
                continue
            is_omitted = include_content and bool(told) and told["content"] is None
            left -= 0 if is_omitted or not told else told["size"]
            yield DiscoveredFile(
                path=path, action=action, settled=path not in restless, is_content_omitted=is_omitted, **told, **named
            )

    def _told(self, path: WorkspacePath, call: LoggedCall | None, most: int) -> dict[str, Any]:
        stat, born_ns = self._reads.stat(path), self._reads.birth_ns(path)
        if stat is None:
            raise FileMetadataError(f"{path} is gone", {"path": path})
        read = read_file(self._reads, path, keep=stat.size <= most)
        first = instant(call.timestamp) if call is not None else None
        return {
            "size": read.size, "version": read.version, "mime_type": mime_type_of(path, read.head), "content": read.content,
            "created": born_ns / 1e9 if born_ns is not None else first or time.time(), "modified": stat.modified_ns / 1e9,
        }  # fmt: skip

    def _skip(self, path: str, reason: str) -> None:
        self.skipped.append({"path": path, "reason": reason})


def _remembered(messages: Messages, log: Iterable[Any] | None, run: str) -> AgentMessages | None:
    if isinstance(messages, AgentMessages) or (messages is None and log is None):
        return messages
    said = AgentMessages(run=run)
    for message in (*(messages or ()), *(log or ())):
        said.read(message)
    return said


@contextmanager
def _opened(root: str) -> Iterator[Workspace]:
    try:
        workspace = Workspace.open(root)
    except WorkspaceGoneError as error:
        reason = "is not a directory" if isinstance(error.__cause__, NotADirectoryError) else "does not exist"
        raise ValueError(f"Root {reason}: {root}") from error
    try:
        yield workspace
    finally:
        workspace.close()


def _folders(workspace: Workspace, output_dirs: Iterable[str], run: str) -> list[str]:
    found: list[str] = []
    for folder in output_dirs:
        inside = path_inside(workspace.spellings, "", folder.replace("{run}", run))
        if inside is None:
            raise ValueError(f"Output folder lies outside of the root: {folder}")
        found.append(workspace.resolve(inside, allow_root=True))
    return found
