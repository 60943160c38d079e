"""The tool calls in a log, each with its result, and the files that they name."""

from __future__ import annotations

import logging
import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from filetools.sessions.log import Entry, by_instant
from filetools.sessions.texts import extract_text

logger = logging.getLogger(__name__)

CREATING: Final = frozenset({"Write", "write_file", "create_file", "fd_to_file"})
"""Tools that make a file, unless there is one."""
CHANGING: Final = frozenset({"Edit", "MultiEdit", "NotebookEdit", "edit_file"})
_WRITING: Final = CREATING | CHANGING
PATH_KEYS: Final = ("file_path", "path", "notebook_path")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCall:
    """One call of a tool."""

    name: str
    id: str
    input: Mapping[str, Any]
    timestamp: str
    session_id: str
    cwd: str
    result: str | None = None
    """Its text; None where there is none yet."""
    is_error: bool = False
    turn: int | None = None
    """The agent's turn that made it, from 1; None where that is unknown."""

    @property
    def tool(self) -> str:
        """Its tool, without the prefix that agents put before the tools of a server."""
        return self.name.rpartition("__")[2] if self.name.startswith("mcp__") else self.name

    @property
    def path(self) -> str | None:
        """The file that it names, as it names it; None if it names none."""
        return _named_path(self.input)

    @property
    def is_new(self) -> bool:
        """Whether its tool makes the file that it names, unless there is one."""
        return self.tool in CREATING and self.input.get("mode") != "append"

    @property
    def has_written(self) -> bool:
        """Whether it made or changed the file that it names, as far as it tells."""
        return self.tool in _WRITING and not self.is_error and self.path is not None


def paths_by_call(entry: Entry) -> dict[str, str]:
    """Return the files that the calls in an entry name, as they name them, by the ids of the calls."""
    if entry.type != "assistant":
        return {}
    calls = [(block.get("id"), block.get("input")) for block in entry.blocks if block.get("type") == "tool_use"]
    paths = ((key, _named_path(given)) for key, given in calls if isinstance(key, str) and isinstance(given, dict))
    return {key: path for key, path in paths if path is not None}


def _named_path(given: Mapping[str, Any]) -> str | None:
    return next((path for key in PATH_KEYS if isinstance(path := given.get(key), str) and path), None)


def tool_calls(log: Iterable[Entry]) -> list[LoggedCall]:
    """Return the tool calls in a log, the oldest first; a block without name, id or input is skipped with a warning."""
    calls, results = list[tuple[Entry, Mapping[str, Any]]](), dict[object, Mapping[str, Any]]()
    for entry in log:
        for block in entry.blocks:
            if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                results.setdefault(block["tool_use_id"], block)
            elif block.get("type") == "tool_use":
                calls.append((entry, block))
    found = [_call(entry, block, results) for entry, block in calls]
    return sorted((call for call in found if call is not None), key=lambda call: by_instant(call.timestamp))


def path_inside(roots: Sequence[str], cwd: str, path: str) -> str | None:
    """Return a path that a call names, relative to the root; None if it lies outside.

    Args:
        roots: Absolute paths of the root, in every spelling.
        cwd: Working folder that a relative path belongs to; "" is the root.
        path: As the call names it.
    """
    if os.name == "nt":
        cwd, path = cwd.replace("\\", "/"), path.replace("\\", "/")
    normal = "/" + posixpath.normpath(posixpath.join(roots[0], cwd, path)).lstrip("/")
    inside = (normal[len(root) :] for root in roots if f"{normal}/".startswith(f"{root.rstrip('/')}/"))
    return next((path.lstrip("/") for path in inside), None)


def files_touched(log: Iterable[Entry]) -> dict[str, str]:
    """Return the files that calls made or changed, in the order of their first mention: path to "created" or "modified".

    Paths are absolute where the call or the entry's working folder tells; a call that failed does not count.
    """
    found: dict[str, str] = {}
    for call in tool_calls(log):
        if call.path is not None and call.has_written:
            path = os.path.normpath(os.path.join(call.cwd, call.path))
            found.setdefault(path, "created" if call.is_new else "modified")
    return found


def _call(entry: Entry, block: Mapping[str, Any], results: Mapping[object, Mapping[str, Any]]) -> LoggedCall | None:
    name, call_id, given = block.get("name"), block.get("id"), block.get("input")
    if not (isinstance(name, str) and isinstance(call_id, str) and isinstance(given, dict)):
        logger.warning("line %d: a tool call without name, id or input was skipped", entry.line)
        return None
    result = results.get(call_id)
    return LoggedCall(
        name=name, id=call_id, input=given, timestamp=entry.timestamp, session_id=entry.session_id, cwd=entry.cwd,
        result=None if result is None else extract_text(result.get("content"), separator="\n"),
        is_error=result is not None and result.get("is_error") is True,
    )  # fmt: skip
