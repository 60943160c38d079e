"""The agents that worked below a session, and below each other, and where each keeps its log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pydantic_core import from_json

from filetools.errors import FileToolsError
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions.log_folders import ProjectLogs
from filetools.settings import MIB

_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLog:
    """The log of one agent."""

    agent_id: str
    path: WorkspacePath
    parent: str
    """Id of the agent or session that started it."""
    tool_use_id: str | None
    """The call that started it, where `agent-<id>.meta.json` tells."""


class Agents:
    """The agents of a project's logs. Lives as long as the logs are held open."""

    def __init__(self, logs: ProjectLogs) -> None:
        self._logs = logs
        self._visited = set[str]()  # ids and paths: paths have a slash

    def below(self, session_id: str) -> list[AgentLog]:
        """Return the agents of a session and all below them, parents first where they are known; each log once ever."""
        found, pending = list[AgentLog](), deque([session_id])
        while pending:
            if (parent := pending.popleft()) in self._visited:
                continue
            self._visited.add(parent)
            for agent in (*self._beside.get(parent, ()), *self._inside(parent)):
                if agent.path not in self._visited:
                    self._visited.add(agent.path)
                    found.append(agent)
                    pending.append(agent.agent_id)
        return found

    @cached_property
    def _beside(self) -> Mapping[str, Sequence[AgentLog]]:
        """The logs beside those of sessions, by who started them: as their notes say, and as their first entries do."""
        found: dict[str, list[AgentLog]] = {}
        for path in self._logs.agents_beside:
            entries = self._logs.first_entries(path)
            starter = next((entry.session_id for entry in entries if entry.session_id), "")
            agent = self._agent(path, starter)
            for parent in dict.fromkeys((agent.parent, starter) if entries else ()):
                found.setdefault(parent, []).append(agent)
        return found

    def _inside(self, session_id: str) -> Iterator[AgentLog]:
        return (self._agent(path, session_id) for path in self._logs.agents_of(session_id))

    def _agent(self, path: WorkspacePath, parent: str) -> AgentLog:
        notes = self._notes(path)
        return AgentLog(
            agent_id=path.name.removeprefix("agent-").removesuffix(_SUFFIX),
            path=path,
            parent=notes.get("parentAgentId") or parent,
            tool_use_id=notes.get("toolUseId"),
        )

    def _notes(self, path: WorkspacePath) -> dict[str, str]:
        beside = path.parent.child(f"{path.name.removesuffix(_SUFFIX)}.meta.json")
        try:
            found: Any = from_json(self._logs.reads.read(beside, limit=MIB)[0])
        except (FileToolsError, ValueError):
            return {}
        return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}
