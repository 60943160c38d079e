from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from filetools.sessions.log_folders import AgentLog, opened_logs
from tests.support.agent_logs import ENCODED, PROJECT, Layout, Log, LogWriter

Warnings = Callable[[], list[str]]


def below(logs: Path, session_id: str) -> list[AgentLog]:
    with opened_logs(PROJECT, logs=logs) as opened:
        assert opened is not None
        return opened.agents_below(session_id)


def ids(logs: Path, session_id: str) -> list[str]:
    return [agent.agent_id for agent in below(logs, session_id)]


def tree(logs: Path, session_id: str) -> list[tuple[str, str]]:
    return [(agent.agent_id, agent.parent) for agent in below(logs, session_id)]


def notes(log: Log, content: Any) -> None:
    path = log.path.with_suffix(".meta.json")
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def test_a_session_without_agents_has_none(writer: LogWriter, logs: Path, warnings: Warnings) -> None:
    assert ids(logs, writer.session().user("What a person said").session_id) == []
    assert ids(logs, "") == ids(logs, "..") == ids(logs, "../..") == ids(logs, "gone") == []
    assert warnings() == []


@pytest.mark.parametrize("layout", ["flat", "nested", "workflow"])
def test_an_agent_is_found_in_each_layout(writer: LogWriter, logs: Path, layout: Layout) -> None:
    session = writer.session().user("What a person said")
    agent = session.agent("Look", layout=layout, agentId="a1")
    (found,) = below(logs, session.session_id)
    assert (found.agent_id, found.parent, found.tool_use_id) == ("a1", session.session_id, None)
    assert logs / found.path == agent.path


def test_notes_beside_a_log_tell_the_call_and_the_agent_above(writer: LogWriter, logs: Path) -> None:
    session = writer.session().user("What a person said")
    first = session.agent("Look", meta=True, agentId="a1")
    second = first.agent("Look there", meta=True, agentId="a2")
    assert [(agent.agent_id, agent.parent, agent.tool_use_id) for agent in below(logs, session.session_id)] == [
        ("a1", session.session_id, next(iter(session.calls))), ("a2", "a1", next(iter(first.calls))),
    ]  # fmt: skip
    assert second.session_id == session.session_id


def test_agents_beside_sessions_belong_to_whom_their_first_entry_names(writer: LogWriter, logs: Path) -> None:
    session, other = writer.session().user("One session"), writer.session().user("Another")
    first = session.agent("Look", layout="flat", agentId="a1")
    first.agent("Look there", layout="flat", agentId="a2", sessionId="a1")
    other.agent("Look elsewhere", layout="flat", agentId="a3")
    assert tree(logs, session.session_id) == [("a1", session.session_id), ("a2", "a1")]
    assert tree(logs, other.session_id) == [("a3", other.session_id)]


@pytest.mark.parametrize("parent", ["gone", "a1"])
def test_an_agent_whose_notes_name_no_known_parent_is_found_below_its_session(
    writer: LogWriter, logs: Path, parent: str
) -> None:
    session = writer.session().user("What a person said")
    notes(session.agent("Look", layout="flat", agentId="a1"), {"parentAgentId": parent})
    assert ids(logs, session.session_id) == ["a1"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[" * 100_000,
        b" " * (1 << 20) + b"{}",
        b'{"toolUseId":5,"parentAgentId":["a2"]}',
        b'{"toolUseId":"","parentAgentId":""}',
    ],
)
def test_notes_that_cannot_be_understood_tell_nothing(
    writer: LogWriter, logs: Path, warnings: Warnings, content: bytes
) -> None:
    session = writer.session().user("What a person said")
    notes(session.agent("Look", agentId="a1"), content)
    (found,) = below(logs, session.session_id)
    assert (found.agent_id, found.parent, found.tool_use_id or None) == ("a1", session.session_id, None)
    assert warnings() == []


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
def test_notes_that_are_no_file_tell_nothing(
    writer: LogWriter, logs: Path, warnings: Warnings, make: Callable[[Path], object]
) -> None:
    session = writer.session().user("What a person said")
    make(session.agent("Look", agentId="a1").path.with_suffix(".meta.json"))
    assert tree(logs, session.session_id) == [("a1", session.session_id)]
    assert warnings() == []


def test_agents_are_walked_down_to_the_last(writer: LogWriter, logs: Path) -> None:
    session = writer.session().user("What a person said")
    writer.session("a1").agent("Look there", agentId="a2")
    writer.session("a2").agent("Look there", layout="flat", agentId="a3")
    writer.session("a3").agent("Look there", layout="workflow", agentId="a4")
    assert ids(logs, session.session_id) == []
    session.agent("Look", agentId="a1")
    assert ids(logs, session.session_id) == ["a1", "a2", "a3", "a4"]


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


def test_no_log_is_told_of_twice(writer: LogWriter, logs: Path) -> None:
    first, second = (writer.session().user("What a person said") for _ in range(2))
    agent = first.agent("Look", layout="flat", agentId="a1")
    agent.agent("Look there", layout="flat", agentId="a2", sessionId="a1")
    notes(agent, {"parentAgentId": second.session_id})
    with opened_logs(PROJECT, logs=logs) as opened:
        assert opened is not None
        told = [[each.agent_id for each in opened.agents_below(log.session_id)] for log in (first, second)]
    assert told == [["a1", "a2"], []]


@pytest.mark.parametrize("layout", ["flat", "nested"])
def test_loops_of_agents_end(writer: LogWriter, logs: Path, layout: Layout) -> None:
    session = writer.session().user("What a person said")
    first = session.agent("Look", layout=layout, agentId="a1")
    second = first.agent("Look there", layout=layout, agentId="a2", sessionId="a1")
    third = second.agent("And there", layout="flat", agentId="a1x", sessionId="a2")
    for log, parent in ((first, "a1x"), (second, "a1"), (third, "a2")):
        notes(log, {"parentAgentId": parent})
    writer.session("a2").agent("Look at all", agentId=session.session_id)
    found = ids(logs, session.session_id)
    assert sorted(found) == sorted({"a1", "a2", "a1x", session.session_id})


@pytest.mark.parametrize("line", [b"no JSON", b"[]", b"{}", b'{"sessionId":5}', b"\xff"])
def test_an_odd_first_line_hides_no_agent(writer: LogWriter, logs: Path, warnings: Warnings, line: bytes) -> None:
    session = writer.session().user("What a person said")
    agent = session.agent("Look", layout="flat", agentId="a1")
    agent.path.write_bytes(line + b"\n" + agent.path.read_bytes())
    assert ids(logs, session.session_id) == ["a1"]


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc", path), lambda path: path.touch()]
)
def test_what_is_no_log_hides_no_agent(
    writer: LogWriter, logs: Path, warnings: Warnings, make: Callable[[Path], object]
) -> None:
    session = writer.session().user("What a person said")
    session.agent("Look", layout="flat", agentId="a1")
    path = writer.folder / "agent-a0.jsonl"
    make(path)
    assert ids(logs, session.session_id) == ["a1"]
    assert [each.partition(":")[0] for each in warnings()] == ([] if path.is_file() else [f"{ENCODED}/agent-a0.jsonl"])


@pytest.mark.parametrize("place", ["", "subagents"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/etc", path), lambda path: path.touch()])
def test_what_is_no_folder_of_agents_costs_one_warning(
    writer: LogWriter, logs: Path, warnings: Warnings, make: Callable[[Path], object], place: str
) -> None:
    session = writer.session().user("What a person said")
    session.agent("Look", layout="flat", agentId="a1")
    path = writer.folder / session.session_id / place
    path.parent.mkdir(exist_ok=True)
    make(path)
    assert ids(logs, session.session_id) == ["a1"]
    assert len(warnings()) <= 1
