"""Tool calls from messages of every shape, and the stream that ends with what the run has made."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from filetools.sessions.agent_messages import MOST_BYTES, AgentMessages, wrap
from filetools.sessions.log import Entry
from filetools.sessions.tool_calls import LoggedCall, path_inside


@dataclass
class ToolUseBlock:
    """As the SDK of an agent has it."""

    id: str
    name: str
    input: dict[str, Any]


@dataclass
class ToolResultBlock:
    tool_use_id: str
    content: Any = None
    is_error: bool | None = None


@dataclass
class TextBlock:
    text: str


@dataclass
class Message:
    content: Any
    extra: dict[str, Any] = field(default_factory=dict)


def use(call_id: str = "c1", name: str = "Write", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {"file_path": "a.md", "content": "text"}}


def result(call_id: str = "c1", **facts: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, **facts}


def line(*blocks: Any, **facts: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}, **facts}


def remembered(*messages: Any, limit: int = MOST_BYTES) -> AgentMessages:
    said = AgentMessages(run="run-1", limit=limit)
    for message in messages:
        said.read(message)
    return said


CALL = LoggedCall(
    name="Write", id="c1", input={"file_path": "a.md"}, timestamp="", session_id="", cwd="", turn=1
)  # fmt: skip


# What is no message, and what is none of our business


class Hostile:
    @property
    def content(self) -> Any:
        raise RuntimeError("no content for you")


@pytest.mark.parametrize(
    "odd",
    [
        None, 5, [], "", "no JSON", b"\xff", "[1]", Hostile(), {"content": 5}, {"message": {"content": {"a": 1}}},
        line({"type": "tool_use"}), line(use() | {"id": None}), line(use() | {"input": "text"}), line(use() | {"name": 3}),
    ],
)  # fmt: skip
def test_an_odd_message_is_skipped_counted_and_logged_with_its_trace(
    odd: Any, caplog: pytest.LogCaptureFixture
) -> None:
    said = remembered(line(use()), odd)
    assert (said.calls(), said.count, said.failures) == ([CALL], 2, 1)
    [record] = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "run run-1: a message of the agent was skipped")
    assert record.exc_info is not None


@pytest.mark.parametrize(
    "plain",
    [
        {"type": "system", "subtype": "init", "tools": []}, {"type": "result", "result": "done"}, {"content": "text"},
        {"content": None}, {"message": "text"}, line({"type": "text", "text": "x"}, "text", {"type": "thinking"}),
        Message([TextBlock("x")]), Message("x"), SimpleNamespace(subtype="success", total_cost_usd=0.1),
        line({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
    ],
)  # fmt: skip
def test_a_message_without_tool_calls_tells_nothing_and_is_not_odd(plain: Any) -> None:
    said = remembered(plain)
    assert (said.calls(), said.failures) == ([], 0)


def test_a_call_whose_result_is_an_error_has_failed() -> None:
    said = remembered(line(use("c1"), use("c2")), line(result("c1", is_error=True), result("c2", is_error=False)))
    assert [(call.id, call.is_error) for call in said.calls()] == [("c1", True), ("c2", False)]


def test_only_true_is_an_error() -> None:
    said = remembered(line(use()), line(result(is_error="true")))
    assert said.calls() == [CALL]


# The shapes


@pytest.mark.parametrize(
    "message",
    [
        line(use()),
        {"role": "assistant", "content": [use()]},
        json.dumps(line(use())),
        json.dumps(line(use())).encode() + b"\n",
        Entry(line(use())),
        Message([TextBlock("x"), ToolUseBlock("c1", "Write", {"file_path": "a.md", "content": "text"})]),
        Message((ToolUseBlock("c1", "Write", {"file_path": "a.md"}),)),
        {"content": [ToolUseBlock("c1", "Write", {"file_path": "a.md"})]},
    ],
)
def test_calls_are_found_in_every_shape_and_texts_are_not_remembered(message: Any) -> None:
    assert remembered(message).calls() == [CALL]


def test_results_of_an_sdk_are_paired_with_their_calls() -> None:
    said = remembered(Message([ToolUseBlock("c1", "Write", {})]), Message([ToolResultBlock("c1", "no", is_error=True)]))
    assert [call.is_error for call in said.calls()] == [True]


def test_a_line_of_a_log_tells_its_folder_its_session_and_its_time() -> None:
    said = remembered(line(use(), cwd="/root/x", sessionId="s", timestamp="2025-10-29T14:30:22Z"))
    found = [(call.cwd, call.session_id, call.timestamp) for call in said.calls()]
    assert found == [("/root/x", "s", "2025-10-29T14:30:22Z")]


@pytest.mark.parametrize("first", [{"type": "system", "cwd": "/root/x"}, SimpleNamespace(data={"cwd": "/root/x"})])
def test_the_folder_of_the_first_message_is_that_of_those_that_name_none(first: Any) -> None:
    assert [call.cwd for call in remembered(first, line(use())).calls()] == ["/root/x"]


def test_turns_are_counted_by_messages_with_calls_and_one_that_comes_in_parts_is_one() -> None:
    said = remembered(
        line({"type": "text", "text": "x"}),
        {"message": {"id": "m1", "content": [use("c1")]}},
        {"message": {"id": "m1", "content": [use("c2")]}},
        line(result("c1")),
        {"message": {"id": "m2", "content": [use("c3")]}},
        line(use("c4")),
    )
    assert [(call.id, call.turn) for call in said.calls()] == [("c1", 1), ("c2", 1), ("c3", 2), ("c4", 3)]


# What is kept


def test_memory_is_bounded_and_what_is_left_out_is_said() -> None:
    said = remembered(*(line(use(f"c{number}")) for number in range(10)), limit=1500)
    assert ([call.id for call in said.calls()], said.is_cut, said.failures) == (["c0", "c1"], True, 0)
    assert not remembered(line(use())).is_cut


def test_a_file_of_any_size_takes_no_memory() -> None:
    said = remembered(line(use(file_path="a.md", content="x" * 100_000)), limit=1000)
    assert (said.calls(), said.is_cut) == ([CALL], False)


# What calls tell


def call(name: str, **given: Any) -> LoggedCall:
    return LoggedCall(name=name, id="c", input=given, timestamp="", session_id="", cwd="")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("Read", file_path="a"), (False, False)),
        (call("Write", file_path=""), (True, False)),
        (call("Write", file_path=5), (True, False)),
        (call("Write", file_path="a"), (True, True)),
        (call("write_file", path="a"), (True, True)),
        (call("create_file", path="a"), (True, True)),
        (call("mcp__files__write_file", path="a"), (True, True)),
        (call("fd_to_file", file_path="a"), (True, True)),
        (call("fd_to_file", file_path="a", mode="append"), (False, True)),
        (call("Edit", file_path="a"), (False, True)),
        (call("MultiEdit", file_path="a"), (False, True)),
        (call("NotebookEdit", notebook_path="a"), (False, True)),
        (call("edit_file", path="a"), (False, True)),
    ],
)
def test_a_call_tells_whether_it_makes_and_whether_it_writes_a_file(
    made: LoggedCall, expected: tuple[bool, bool]
) -> None:
    assert (made.is_new, made.has_written) == expected


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


# The stream


@dataclass
class Source:
    """Yields messages, and knows whether it was closed."""

    messages: list[Any]
    failure: BaseException | None = None
    is_closed: bool = False

    async def later(self) -> AsyncIterator[Any]:
        for message in self.now():
            await asyncio.sleep(0)
            yield message

    def now(self) -> Iterator[Any]:
        try:
            yield from self.messages
            if self.failure is not None:
                raise self.failure
        finally:
            self.is_closed = True


async def told(said: AgentMessages) -> Mapping[str, Any]:
    return {"files_created": [call.path for call in said.calls()]}


LAST = {"type": "x_claude_metadata", "files_created": ["a.md"]}
SAID = [line(use()), {"type": "result"}]


@pytest.mark.parametrize("way", ["later", "now"])
async def test_the_metadata_comes_after_the_last_message(way: str) -> None:
    source = Source(SAID)
    stream = wrap(getattr(source, way)(), told)
    assert [item async for item in stream] == [*SAID, LAST]
    assert (stream.last_metadata, source.is_closed) == ({"files_created": ["a.md"]}, True)
    assert [item async for item in stream] == []


async def test_a_list_is_a_stream() -> None:
    assert [item async for item in wrap([], told)] == [{"type": "x_claude_metadata", "files_created": []}]


@pytest.mark.parametrize("way", ["later", "now"])
async def test_what_the_stream_raises_comes_after_the_metadata(way: str) -> None:
    stream = wrap(getattr(Source(SAID, failure=OSError("gone")), way)(), told)
    assert [await anext(stream) for _ in range(3)] == [*SAID, LAST]
    with pytest.raises(OSError, match="gone"):
        await anext(stream)
    assert [item async for item in stream] == []


@pytest.mark.parametrize("way", ["later", "now"])
async def test_closing_early_closes_the_source_and_keeps_the_metadata(way: str) -> None:
    source = Source(SAID)
    stream = wrap(getattr(source, way)(), told)
    assert await anext(stream) == SAID[0]
    await stream.aclose()
    await stream.aclose()
    assert (stream.last_metadata, source.is_closed) == ({"files_created": ["a.md"]}, True)
    assert [item async for item in stream] == []


async def test_a_cancelled_stream_keeps_the_metadata_and_stays_cancelled() -> None:
    source = Source(SAID, failure=asyncio.CancelledError())
    stream = wrap(source.later(), told)
    assert [await anext(stream) for _ in SAID] == SAID
    with pytest.raises(asyncio.CancelledError):
        await anext(stream)
    assert stream.last_metadata == {"files_created": ["a.md"]}


async def test_the_metadata_is_looked_for_once_and_with_the_memory_that_was_given() -> None:
    calls, memory = [], AgentMessages(run="run-1")

    async def finish(said: AgentMessages) -> Mapping[str, Any]:
        calls.append(said)
        return {}

    stream = wrap(iter(SAID), finish, messages=memory)
    assert [item async for item in stream][-1] == {"type": "x_claude_metadata"}
    await stream.aclose()
    assert calls == [memory]
