"""Reads an agent's messages: its tool calls, the files they name, and the text of its answer."""

from __future__ import annotations

import logging
import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, structs

from filetools.sessions.log import LogEntry

logger = logging.getLogger(__name__)

_WRITING: Final = frozenset(
    ["Write", "write_file", "create_file", "fd_to_file", "Edit", "MultiEdit", "NotebookEdit", "edit_file"]
)
_PATH_KEYS: Final = ("file_path", "path", "notebook_path")


class LoggedCall(Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    name: str
    id: str
    path: str | None
    """The file path in its input, unchanged."""
    cwd: str = ""
    """Working folder for a relative path; "" is the root."""
    is_error: bool = False
    turn: int | None = None
    """The agent's turn, from 1; None if unknown."""

    @property
    def has_written(self) -> bool:
        """True if it created or changed the file that it names."""
        # Agents put a prefix before the tools of an MCP server.
        tool = self.name.rpartition("__")[2] if self.name.startswith("mcp__") else self.name
        return tool in _WRITING and not self.is_error and self.path is not None


def tool_calls(messages: Iterable[LogEntry]) -> list[LoggedCall]:
    """Return the tool calls in an agent's messages, in order; calls without name, ID or input are skipped and logged."""
    calls, failed, cwd, turn, answer = list[LoggedCall](), set[object](), "", 0, None
    for entry in messages:
        cwd = entry.cwd or cwd
        blocks = entry.blocks
        failed |= {
            key for block in blocks if block.get("is_error") is True and isinstance(key := block.get("tool_use_id"), str)
        }  # fmt: skip
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        if uses and (
            (key := entry.message.get("id")) is None or key != answer
        ):  # one answer may consist of several messages
            turn, answer = turn + 1, key
        for use in uses:
            match use:
                case {"name": str(name), "id": str(call_id), "input": dict(given)}:
                    named = (path for key in _PATH_KEYS if isinstance(path := given.get(key), str) and path)
                    calls.append(LoggedCall(name=name, id=call_id, path=next(named, None), cwd=cwd, turn=turn))
                case _:
                    logger.warning("line %d: a tool call without name, id or input was skipped", entry.line)
    return [structs.replace(call, is_error=call.id in failed) for call in calls]


def path_inside(roots: Sequence[str], cwd: str, path: str) -> str | None:
    """Return the path of a call relative to the root; None if it is outside.

    Args:
        roots: Absolute paths of the root, in every spelling.
        cwd: Working folder for a relative path; "" is the root.
        path: The path in the call.
    """
    if os.name == "nt":
        cwd, path = cwd.replace("\\", "/"), path.replace("\\", "/")
    normal = "/" + posixpath.normpath(posixpath.join(roots[0], cwd, path)).lstrip("/")
    inside = (normal[len(root) :] for root in roots if f"{normal}/".startswith(f"{root.rstrip('/')}/"))
    return next((path.lstrip("/") for path in inside), None)


class AgentText:
    """Extracts the answer from the messages of one run; unknown messages are ignored.

    Source: the output of `claude -p --output-format stream-json`, with and without `--include-partial-messages`.
    """

    def __init__(self) -> None:
        self.has_answered = False
        """True if it returned text or a result."""
        self.usage: Mapping[str, Any] = {}
        """Its token counts, as reported."""
        self._is_partial, self._gap = False, ""

    def read(self, message: Mapping[str, Any]) -> str:
        """Return the text that a message adds to the answer, often ""; an empty line separates text blocks."""
        match message:
            case {"parent_tool_use_id": str()}:  # from a subagent
                return ""
            case {"type": "stream_event", "event": {"type": "content_block_start"}}:
                self._end_block()
            case {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": str(text)}}}:
                self._is_partial = True
                return self._added(text)
            case {"type": "assistant", "message": {"content": list(blocks)}} if not self._is_partial:
                return "".join(map(self._block, blocks))
            case {"type": "result"}:
                return self._result(message)
        return ""

    def _block(self, block: object) -> str:
        self._end_block()
        match block:
            case {"type": "text", "text": str(text)}:
                return self._added(text)
        return ""

    def _result(self, result: Mapping[str, Any]) -> str:
        usage, text = result.get("usage"), result.get("result")
        self.usage = usage if isinstance(usage, dict) else {}
        has_said, self.has_answered = self.has_answered, True
        return text if isinstance(text, str) and not has_said else ""

    def _end_block(self) -> None:
        self._gap = "\n\n" if self.has_answered else ""

    def _added(self, text: str) -> str:
        gap, self._gap, self.has_answered = self._gap, "", True
        return gap + text
