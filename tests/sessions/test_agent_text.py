"""What an agent answers: odd messages say nothing, and no text comes twice."""

from __future__ import annotations

from typing import Any

import pytest

from filetools.sessions.agent_text import AgentText


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
