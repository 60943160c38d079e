from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from filetools.sessions.log_folders import opened_logs
from tests.support.agent_logs import PROJECT, Layout, LogWriter

Warnings = Callable[[], list[str]]


def ids(logs: Path, session_id: str) -> list[str]:
    with opened_logs(PROJECT, logs=logs) as opened:
        assert opened is not None
        return [agent_id for agent_id, _ in opened.agents(session_id)]


def test_a_session_without_agents_has_none(writer: LogWriter, logs: Path, warnings: Warnings) -> None:
    assert ids(logs, writer.session().user("What a person said").session_id) == []
    assert ids(logs, "") == ids(logs, "..") == ids(logs, "../..") == ids(logs, "gone") == []
    assert warnings() == []


@pytest.mark.parametrize("layout", ["nested", "workflow"])
def test_an_agent_is_found_in_each_layout(writer: LogWriter, logs: Path, layout: Layout) -> None:
    session = writer.session().user("What a person said")
    agent = session.agent("Look", layout=layout, agentId="a1")
    with opened_logs(PROJECT, logs=logs) as opened:
        assert opened is not None
        ((agent_id, path),) = opened.agents(session.session_id)
    assert (agent_id, logs / path) == ("a1", agent.path)


def test_agents_of_agents_and_of_other_sessions_are_told_apart(writer: LogWriter, logs: Path) -> None:
    session, other = writer.session().user("One session"), writer.session().user("Another")
    session.agent("Look", meta=True, agentId="a1").agent("Look there", meta=True, agentId="a2")
    other.agent("Look elsewhere", agentId="a3")
    assert (ids(logs, session.session_id), ids(logs, other.session_id)) == (["a1", "a2"], ["a3"])


def test_folders_below_are_walked_and_nothing_else_in_them_counts(writer: LogWriter, logs: Path) -> None:
    session = writer.session().user("What a person said")
    agent = session.agent("Look", agentId="a1")
    for place in (
        "workflows/wf_1/agent-a2.jsonl",
        "x/y/z/agent-a3.jsonl",
        "notes.jsonl",
        "agent-a4.json",
        "agent-.jsonl",
    ):
        path = agent.path.parent / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(agent.path.read_bytes())
    (agent.path.parent.parent / "agent-a5.jsonl").write_bytes(agent.path.read_bytes())
    assert ids(logs, session.session_id) == ["a1", "a2", "a3"]


@pytest.mark.parametrize("place", ["", "subagents"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/etc", path), lambda path: path.touch()])
def test_what_is_no_folder_of_agents_costs_one_warning(
    writer: LogWriter, logs: Path, warnings: Warnings, make: Callable[[Path], object], place: str
) -> None:
    session = writer.session().user("What a person said")
    path = writer.folder / session.session_id / place
    path.parent.mkdir(exist_ok=True)
    make(path)
    assert ids(logs, session.session_id) == []
    assert len(warnings()) <= 1
