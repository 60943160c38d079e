"""What an agent's messages say: tool calls, the files that they name, and the text of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from filetools.sessions.agent_messages import AgentText, LoggedCall, path_inside, tool_calls
from filetools.sessions.log import LogEntry, entries_of
from tests.support.agent_logs import LogWriter, grown

Warnings = Callable[[], list[str]]
CALL = LoggedCall(name="Write", id="c1", path="a.md", turn=1)


def use(call_id: Any = "c1", name: Any = "Write", given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"file_path": "a.md"} if given is None else given}


def tool_result(call_id: Any = "c1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "x", **fields}


def message(*blocks: Any, message_id: str | None = None, **fields: Any) -> LogEntry:
    return LogEntry({"type": "assistant", "message": {"id": message_id, "content": list(blocks)}, **fields}, 7)


# Calls


@pytest.mark.parametrize(
    "odd", [use(name=None), use(name=3), use(call_id=None), use(call_id=["t"]), use(given=[]), use(given="x")]
)
def test_an_incomplete_call_costs_one_warning_and_itself(odd: dict[str, Any], warnings: Warnings) -> None:
    assert tool_calls([message(odd), message(use())]) == [LoggedCall(name="Write", id="c1", path="a.md", turn=2)]
    assert warnings() == ["line 7: a tool call without name, id or input was skipped"]


@pytest.mark.parametrize("raw", [{}, {"message": None}, {"message": "text"}, {"message": {"content": "text"}}])
def test_a_message_without_blocks_holds_no_call(raw: dict[str, Any]) -> None:
    assert (
        tool_calls([LogEntry(raw), message({"type": "text", "text": "x"}, {"type": "server_tool_use", "id": "s"})])
        == []
    )


@pytest.mark.parametrize(
    ("mark", "is_error"), [(True, True), (False, False), ("true", False), (1, False), (None, False)]
)
def test_a_call_has_failed_if_its_result_says_exactly_true(mark: Any, is_error: bool) -> None:
    messages = [
        message(use("c1"), use("c2")),
        message(tool_result("c1", is_error=mark), tool_result(None, is_error=True), tool_result([])),
    ]
    assert [call.is_error for call in tool_calls(messages)] == [is_error, False]


def test_turns_are_counted_by_answers_with_calls_and_one_that_comes_in_parts_is_one() -> None:
    messages = [
        message({"type": "text", "text": "x"}), message(use("c1"), message_id="m1"), message(use("c2"), message_id="m1"),
        message(tool_result("c1")), message(use("c3"), message_id="m2"), message(use("c4")),
    ]  # fmt: skip
    assert [(call.id, call.turn) for call in tool_calls(messages)] == [("c1", 1), ("c2", 1), ("c3", 2), ("c4", 3)]


def test_a_message_without_a_working_folder_has_that_of_the_one_before() -> None:
    messages = [
        LogEntry({"type": "system", "cwd": "/root/x"}),
        message(use()),
        message(use(), cwd="/root/y"),
        message(use()),
    ]
    assert [call.cwd for call in tool_calls(messages)] == ["/root/x", "/root/y", "/root/y"]


def test_lines_of_any_kind_are_read() -> None:
    lines = [b"no JSON", b"", b"[]", json.dumps(message(use()).raw).encode(), b"\xff"]
    assert tool_calls(entries_of(b"\n".join(lines))) == [CALL]


@pytest.mark.parametrize("seed", range(5))
def test_each_call_of_a_log_is_found_once(writer: LogWriter, seed: int, warnings: Warnings) -> None:
    for log in grown(writer.folder, seed):
        entries = entries_of(log.path.read_bytes())
        made = [block["id"] for each in entries for block in each.blocks if block.get("type") == "tool_use"]
        assert [call.id for call in tool_calls(entries)] == made
    assert warnings() == []


@pytest.mark.parametrize(
    ("name", "given", "has_written"),
    [
        ("Read", {"file_path": "a"}, False),
        ("Write", {"file_path": "a"}, True),
        ("mcp__files__write_file", {"path": "a"}, True),
        ("Edit", {"file_path": "a"}, True),
    ],
)
def test_a_call_of_a_tool_that_writes_and_names_a_file_has_written_it(
    name: str, given: dict[str, Any], has_written: bool
) -> None:
    (call,) = tool_calls([message(use(name=name, given=given))])
    assert call.has_written == has_written
    (call,) = tool_calls([message(use(name=name, given=given)), message(tool_result(is_error=True))])
    assert not call.has_written


@pytest.mark.parametrize(
    ("cwd", "path", "expected"),
    [
        ("", "../a", None), ("", "/etc/a", None), ("/elsewhere", "a", None), ("", "/roots/a", None), ("", "..", None),
        ("", "a", "a"), ("", "./x/../a", "a"), ("/root/x", "a", "x/a"), ("x", "../a", "a"), ("", "/root/a", "a"),
        ("", "//root//a", "a"), ("", "/real/root/a", "a"), ("/elsewhere", "/root/a", "a"), ("", ".", ""), ("", "/root", ""),
    ],
)  # fmt: skip
def test_a_path_is_inside_the_root_or_it_is_none(cwd: str, path: str, expected: str | None) -> None:
    assert path_inside(("/root", "/real/root"), cwd, path) == expected


# The text of the answer


def text(*blocks: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(blocks)}}


def said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def event(**event: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": event}


def delta(words: str) -> dict[str, Any]:
    return event(type="content_block_delta", delta={"type": "text_delta", "text": words})


BLOCK = event(type="content_block_start", content_block={"type": "text", "text": ""})


def result(words: Any, **more: Any) -> dict[str, Any]:
    return {"type": "result", "result": words, **more}


@pytest.mark.parametrize(
    "odd",
    [
        {}, {"type": "system"}, {"type": 5}, {"type": "assistant"}, {"type": "assistant", "message": "x"}, text(),
        text("x", 5, None, {"type": "text"}, {"type": "text", "text": 5}, {"type": "tool_use", "text": "x"}),
        {"type": "user", "message": {"content": [said("x")]}}, event(type="message_start"), {"type": "stream_event"},
        event(delta={"type": "input_json_delta", "text": "x"}), text(said("x")) | {"parent_tool_use_id": "t1"},
    ],
)  # fmt: skip
def test_odd_messages_say_nothing(odd: dict[str, Any]) -> None:
    agent = AgentText()
    assert (agent.read(odd), agent.has_answered, agent.usage) == ("", False, {})


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([text(said("a"), said("b")), text(said("c")), result("c")], ["a\n\nb", "\n\nc", ""]),
        ([BLOCK, delta("a"), delta("b"), text(said("ab")), BLOCK, delta("c"), text(said("c")), result("c")],
         ["", "a", "b", "", "", "\n\nc", "", ""]),
        ([result("only this")], ["only this"]),
        ([result(None)], [""]),
        ([text(said("a") , {"type": "tool_use", "id": "1", "name": "x", "input": {}}, said("b"))], ["a\n\nb"]),
        ([text(said("a")) | {"parent_tool_use_id": None}], ["a"]),
    ],
)  # fmt: skip
def test_text_comes_once(messages: list[dict[str, Any]], expected: list[str]) -> None:
    agent = AgentText()
    assert [agent.read(message) for message in messages] == expected
    assert agent.has_answered


def test_the_result_tells_what_was_counted() -> None:
    agent = AgentText()
    agent.read(result("", usage={"output_tokens": 3}))
    assert agent.usage == {"output_tokens": 3}
    agent.read(result("", usage=[1]))
    assert agent.usage == {}
