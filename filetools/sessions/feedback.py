"""People's feedback to agents in the agents' logs: messages, refused tool calls, interruptions; and what was rewound."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, structs

from filetools.errors import FileToolsError
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions.log import INTERRUPTED, LogEntry, by_instant, extract_text, is_trivial, read_entries
from filetools.sessions.log_folders import ProjectLogs, encode_project_path, listed, opened_logs, real_project
from filetools.settings import session_logs_folder

logger = logging.getLogger(__name__)

FeedbackType = Literal["message", "tool_denial", "interruption"]
_DENIED: Final = ("The user doesn't want to proceed with this tool use", "[Request interrupted by user")
_SAID: Final = "the user said:"


class FeedbackItem(Struct, frozen=True, kw_only=True):
    """One piece of feedback from a person, or from one agent to another."""

    timestamp: str
    """As in the log; "" if there is none."""
    session_id: str
    feedback_type: FeedbackType
    content: str
    """The whole text, unchanged."""
    agent_id: str | None = None
    slug: str | None = None
    tool_use_id: str | None = None
    """The call that was refused or failed."""
    denied_by_user: bool = False
    """True if a person refused the call; otherwise it failed."""
    reason: str | None = None
    """The person's reason."""
    sidechain: bool = False
    """True if it comes from a subagent's log."""
    rewound: bool = False
    """True if the conversation was rewound to before it."""
    uuid: str | None = None


def feedback_of(entry: LogEntry) -> list[FeedbackItem]:
    """Return the feedback in an entry: a denial for each failed call, then the message or interruption.

    Trivial messages and entries that are not a user's contain none.
    """
    if entry.type != "user" or entry.is_meta or entry.is_summary:
        return []
    items = [
        _item(entry, "tool_denial", extract_text(block.get("content"), separator="\n"), block.get("tool_use_id"))
        for block in entry.blocks
        if block.get("type") == "tool_result" and block.get("is_error") is True
    ]
    text = extract_text(entry.content)
    if INTERRUPTED in text:
        items.append(_item(entry, "interruption", text))
    elif not is_trivial(text):
        items.append(_item(entry, "message", text))
    return items


def extract_feedback(
    session_id: str, project: str, *, logs: str | os.PathLike[str] | None = None, worktrees: Sequence[str] = ()
) -> list[FeedbackItem]:
    """Return the feedback of a session and all its agents, oldest first; [] if the session is unknown.

    Feedback that is in two logs counts once.

    Args:
        session_id: Its full ID.
        project: Its folder, absolute.
        logs: Folder with one folder per project; by default `projects` in `CLAUDE_CONFIG_DIR` or `~/.claude`.
        worktrees: Other work trees of its repository, whose logs are included.

    Raises:
        ValueError: A path is relative.
        FileNotFoundError: There are no logs of the project, or the session's log was deleted.
        NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError: The session's log cannot be read.
    """
    with opened_logs(project, logs=logs, worktrees=worktrees) as opened:
        if opened is None:
            where = os.path.join(
                session_logs_folder() if logs is None else logs, encode_project_path(real_project(project))
            )
            raise FileNotFoundError(f"History directory not found: {where}")
        return _FeedbackReader(opened, _refuse).session(session_id)


def collect_feedback(
    project: str,
    *,
    logs: str | os.PathLike[str] | None = None,
    worktrees: Sequence[str] = (),
    failed: Callable[[str, FileToolsError], object] | None = None,
) -> Iterator[FeedbackItem]:
    """Yield the feedback of all sessions of a project, newest session first, each as from `extract_feedback`.

    Feedback copied from one session to another, as when one is resumed, counts once, in the newer one.

    Args:
        project: Its folder, absolute.
        logs: As for `extract_feedback`.
        worktrees: As for `extract_feedback`.
        failed: Called with the ID of a session whose log cannot be read, and the error; by default a warning is logged.

    Raises:
        ValueError: A path is relative.
        AccessDeniedError: The folder of the logs cannot be read.
    """
    with opened_logs(project, logs=logs, worktrees=worktrees) as opened:
        if opened is None:
            return
        reader = _FeedbackReader(opened, failed or _warn)
        # Unreadable logs are reported below. A log without a title in its first and last part is not listed, but may still
        # contain feedback.
        known = (info.session_id for info in listed(opened, failed=lambda *_: None))
        for session_id in dict.fromkeys([*known, *opened.sessions]):
            yield from reader.session(session_id)


class _FeedbackReader:
    """Reads sessions and their agents, while the logs are open; feedback that is in several logs counts once.

    Args:
        logs: The logs of one project.
        failed: Called with the ID of a session whose log cannot be read, and the error.
    """

    def __init__(self, logs: ProjectLogs, failed: Callable[[str, FileToolsError], object]) -> None:
        self._logs, self._failed = logs, failed
        self._seen = set[int]()

    def session(self, session_id: str) -> list[FeedbackItem]:
        items, foreign = list[FeedbackItem](), 0
        paths = self._logs.sessions.get(session_id, ())
        for path in paths:
            try:
                found = self._log(path, session_id)
            except FileToolsError as error:
                self._failed(session_id, error)
            else:
                items += found or ()
                foreign += found is None
        if paths and foreign == len(paths):
            return []
        for agent_id, path in self._logs.agents(session_id):
            try:
                items += self._log(path, session_id, agent_id=agent_id) or ()
            except FileToolsError as error:
                logger.warning("%s: skipped: %s", path, error.message)
        return sorted(items, key=lambda item: by_instant(item.timestamp))

    def _log(self, log: WorkspacePath, session_id: str, *, agent_id: str = "") -> list[FeedbackItem] | None:
        """Return a log's feedback that no earlier log had; None for the log of another project's session."""
        tree, items, repeated, cwd = Conversation(), list[FeedbackItem](), 0, agent_id
        for entry in read_entries(self._logs.reads, log):
            if not cwd and (cwd := entry.cwd) and not self._logs.owns(cwd):
                return None
            if not tree.add(entry):
                repeated = repeated or entry.line
            items += feedback_of(entry)
        if repeated:
            logger.warning("%s, line %d: an entry before it has the same uuid", log, repeated)
        left, kept, own = tree.left(), list[FeedbackItem](), set[int]()
        for item in items:
            agent, sidechain = item.agent_id or agent_id or None, item.sidechain or bool(agent_id)
            source = item.uuid or (session_id, agent, item.timestamp)
            key = hash((source, item.feedback_type, item.tool_use_id, item.content))
            if key not in self._seen:
                kept.append(structs.replace(item, agent_id=agent, sidechain=sidechain, rewound=item.uuid in left))
            # Without a UUID, equal items in one log are separate statements.
            (self._seen if item.uuid else own).add(key)
        self._seen |= own
        return kept


def _refuse(session_id: str, error: FileToolsError) -> None:
    raise error


def _warn(session_id: str, error: FileToolsError) -> None:
    logger.warning("Failed to extract from %s: %s", session_id, error.message)


def _item(entry: LogEntry, kind: FeedbackType, content: str, tool_use_id: Any = None) -> FeedbackItem:
    is_denied = kind == "tool_denial" and content.startswith(_DENIED)
    return FeedbackItem(
        timestamp=entry.timestamp,
        session_id=entry.session_id,
        feedback_type=kind,
        content=content,
        agent_id=entry.agent_id or None,
        slug=entry.slug or None,
        tool_use_id=tool_use_id if isinstance(tool_use_id, str) else None,
        denied_by_user=is_denied,
        reason=(content.partition(_SAID)[2].strip() or None) if is_denied else None,
        sidechain=entry.is_sidechain,
        uuid=entry.uuid or None,
    )


class _Node(NamedTuple):
    """The part of an entry that the tree keeps; its text may be large and is dropped."""

    uuid: str
    parent: str
    is_main: bool
    """True if it is on the main line and names its parent or states that it has none; the oldest writers did neither."""
    is_spoken: bool
    """True for a message of the user or the model."""
    response: str
    """ID of the model's answer that it is a part of."""
    calls: tuple[str, ...]
    """IDs of the calls that it makes or answers."""


class Conversation:
    """The tree of one log; uses about 500 bytes per entry."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}

    def add(self, entry: LogEntry) -> bool:
        """Add an entry, in log order. A later entry with the same UUID replaces the earlier one; then this returns False."""
        node = _node(entry)
        if not node.uuid:
            return True
        is_new = self._nodes.pop(node.uuid, None) is None
        self._nodes[node.uuid] = node
        return is_new

    def left(self) -> set[str]:
        """Return the UUIDs of entries abandoned by rewinding: those of the main line that the newest one does not follow.

        Entries replaced by a summary were not abandoned: the chain of parents continues past it, and past an unreadable
        parent or a cycle with the entry above it in the log.
        """
        main = [node for node in self._nodes.values() if node.is_main]
        above = {node.uuid: before for before, node in pairwise(main)}
        chain: dict[str, _Node] = {}
        node = next((node for node in reversed(main) if node.is_spoken), None)
        while node is not None and node.uuid not in chain:
            chain[node.uuid] = node
            parent = self._nodes.get(node.parent)
            is_lost = node.parent != "" and (parent is None or parent.uuid in chain)
            node = above.get(node.uuid) if is_lost else parent
        # Each of several calls at once is an entry of its own, but only one of them and one of their results continue it.
        responses = {node.response for node in chain.values()} - {""}
        calls = {call for node in main if node.response in responses for call in node.calls}
        return {
            node.uuid
            for node in main
            if node.uuid not in chain and node.response not in responses and calls.isdisjoint(node.calls)
        }


def _node(entry: LogEntry) -> _Node:
    # A hot path, called for every entry of every log: it avoids the entry's own descriptors.
    raw = entry.raw
    kind, message = _text(raw, "type"), raw.get("message")
    message = message if isinstance(message, dict) else {}
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    is_aside = raw.get("isSidechain") is True or raw.get("teamName") or raw.get("isMeta") is True
    return _Node(
        uuid=_text(raw, "uuid"),
        parent=_text(raw, "parentUuid") or _text(raw, "logicalParentUuid"),
        is_main=not is_aside and isinstance(raw.get("parentUuid", 0), str | None),
        is_spoken=kind in ("user", "assistant"),
        response=_text(message, "id") if kind == "assistant" else "",
        calls=(*_ids(blocks, "tool_use", "id"), *_ids(blocks, "tool_result", "tool_use_id")),
    )


def _text(given: Any, key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _ids(blocks: Iterable[Mapping[str, Any]], kind: str, key: str) -> list[str]:
    return [text for block in blocks if block.get("type") == kind and (text := _text(block, key))]
