"""Messages as lines: whatever the text, the line says what the SDK's own would say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_types import JSONRPCNotification, JSONRPCResponse, jsonrpc_message_adapter
from pydantic_core import PydanticSerializationError

from filetools.servers.mcp.lines import PIECE_CHARACTERS, line_of
from tests.support.step_count import steps_of

PLAIN = 'one line of plain text, "quoted" and \\slashed\t\n' * 4000
FOOTER = "\n[a.txt \u00b7 lines 1\u20132]"


def answer(*texts: str, **more: Any) -> JSONRPCResponse:
    content = [{"type": "text", "text": text} for text in texts]
    return JSONRPCResponse(jsonrpc="2.0", id=7, result={"content": content, "isError": False, **more})


@pytest.mark.parametrize(
    "texts",
    [
        (),
        ("short \u2013",),
        (PLAIN,),
        (PLAIN + FOOTER,),
        (FOOTER + PLAIN, "between", PLAIN + "\U0001f600"),
        ("x" * (PIECE_CHARACTERS - 1) + "\U0001f600\u2028\x00\x7f" + PLAIN,),
        ("\u6f22\u5b57\n" * PIECE_CHARACTERS,),
    ],
)
def test_a_line_says_what_the_sdk_would_say(texts: tuple[str, ...]) -> None:
    message = answer(*texts, structuredContent={"text": "\u2013"})
    line = line_of(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == json.loads(jsonrpc_message_adapter.dump_json(message, by_alias=True, exclude_unset=True))
    assert [block["text"] for block in message.result["content"]] == list(texts)


def test_a_plain_text_with_a_footer_stays_plain() -> None:
    line = line_of(answer(PLAIN + FOOTER))
    assert line.isascii()
    assert len(line) < len(line_of(answer(PLAIN))) + 100


def test_a_text_of_wide_characters_is_not_escaped() -> None:
    text = "\u6f22\u5b57" * PIECE_CHARACTERS
    assert len(line_of(answer(text))) < len(text.encode()) + 100


def test_half_a_character_is_refused_as_before() -> None:
    with pytest.raises(PydanticSerializationError):
        line_of(answer(PLAIN + "\ud800" + FOOTER))


def test_what_is_no_answer_of_a_tool_is_left_as_it_is() -> None:
    message = JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"data": PLAIN + FOOTER})
    assert line_of(message) == jsonrpc_message_adapter.dump_json(message, by_alias=True, exclude_unset=True) + b"\n"
    odd = JSONRPCResponse(jsonrpc="2.0", id=1, result={"content": PLAIN + FOOTER})
    assert json.loads(line_of(odd))["result"] == {"content": PLAIN + FOOTER}


def test_a_long_text_costs_steps_by_its_pieces_alone() -> None:
    short, long = (steps_of(lambda text=text: line_of(answer(text + FOOTER))) for text in (PLAIN, PLAIN * 4))  # type: ignore[misc]
    assert long - short <= 4 * len(PLAIN) * 3 / PIECE_CHARACTERS
