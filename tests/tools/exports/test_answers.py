"""Calls in the shape of each interface, made with its own types, and what is sent back, judged by them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import mcp_types
import pytest
from anthropic.types import Message, TextBlock, ToolResultBlockParam, ToolUseBlock, Usage
from openai.types.chat import ChatCompletion, ChatCompletionMessageFunctionToolCall, ChatCompletionToolMessageParam
from openai.types.responses import Response, ResponseApplyPatchToolCall, ResponseFunctionToolCall
from openai.types.responses.response_input_param import ApplyPatchCallOutput, FunctionCallOutput
from pydantic import TypeAdapter

from filetools.errors import InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import APPLY_PATCH
from filetools.tools.exports import answer, answers
from filetools.tools.registry import FILE_TOOLS, ToolRegistry
from tests.tools.exports.conftest import PIXEL

FOOTER = "[a.txt · lines 1\u20132 of 2 · version"
Make = Callable[[str, Any], Any]


def tool_use(name: str, arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(id="toolu_1", type="tool_use", name=name, input=arguments)


def chat_call(name: str, arguments: Any) -> ChatCompletionMessageFunctionToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": text}
    return ChatCompletionMessageFunctionToolCall.model_validate(
        {"id": "call_1", "type": "function", "function": function}
    )


def function_call(name: str, arguments: Any) -> ResponseFunctionToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ResponseFunctionToolCall(type="function_call", id="fc_1", call_id="call_1", name=name, arguments=text)


def request(name: str, arguments: Any) -> mcp_types.CallToolRequest:
    return mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(name=name, arguments=arguments))


def plain(name: str, arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


SHAPES: dict[str, Make] = {
    "anthropic": tool_use,
    "openai-chat": chat_call,
    "openai-responses": function_call,
    "mcp": request,
    "json": plain,
}


def text_of(result: dict[str, Any]) -> str:
    """Return what a model reads of a result, once the interface's own types have taken it."""
    if result.get("type") == "tool_result":
        taken: Any = TypeAdapter(ToolResultBlockParam).validate_python(result)
        assert taken | {"content": result["content"]} == result
        assert result["tool_use_id"] == "toolu_1"
        return str(result["content"])
    if result.get("role") == "tool":
        assert TypeAdapter(ChatCompletionToolMessageParam).validate_python(result) == result
        assert result["tool_call_id"] == "call_1"
        return str(result["content"])
    if result.get("type") == "function_call_output":
        assert TypeAdapter(FunctionCallOutput).validate_python(result, strict=True) == result
        assert result["call_id"] == "call_1"
        return str(result["output"])
    if "content" in result:
        assert mcp_types.CallToolResult.model_validate(result).is_error is result["isError"]
        return str(result["content"][0]["text"])
    return json.dumps(result)


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_failure_is_a_result_that_says_how_to_repair_the_call(tools: ToolRegistry, shape: str) -> None:
    result = await answer(tools, SHAPES[shape]("write_file", {"path": "a.txt", "content": "x"}))
    told = text_of(result)
    assert "VERSION_MISMATCH" in told
    assert "sha256:" in told
    assert result.get("is_error", True) is True
    assert result.get("isError", True) is True


@pytest.mark.parametrize("shape", ["openai-chat", "openai-responses", "json"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"path": "a.txt"', "which is not valid JSON: Expecting ',' delimiter"),
        ("[1]", "expected an object, got an array of 1"),
        ("[" * 100_000, "INVALID_ARGUMENT"),
    ],
)
async def test_arguments_that_are_no_object_are_refused_saying_where_they_break(
    tools: ToolRegistry, shape: str, text: str, told: str
) -> None:
    result = text_of(await answer(tools, SHAPES[shape]("read_file", text)))
    assert "INVALID_ARGUMENT" in result
    assert told in result
    assert len(result) < 1000
    assert [record.error_code for record in tools.log] == ["INVALID_ARGUMENT"]


@pytest.mark.parametrize(
    "call", [None, 7, "read_file", {}, {"type": "text", "text": "read_file"}, {"type": "tool_use"}, []]
)
async def test_what_is_no_call_is_refused(tools: ToolRegistry, call: object) -> None:
    with pytest.raises(InvalidArgumentError):
        await answer(tools, call)
    assert list(tools.log) == []


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_call_in_any_shape_is_run(tools: ToolRegistry, shape: str) -> None:
    made = SHAPES[shape]("read_file", {"path": "a.txt", "limit": None, "offset": None, "version": None})
    for call in (made, made if shape == "json" else made.model_dump(by_alias=True, exclude_none=True)):
        told = text_of(await answer(tools, call))
        assert "one" in told
        assert shape == "json" or told.startswith(f"one\ntwo\n{FOOTER}")


@pytest.mark.parametrize("shape", SHAPES)
async def test_strict_calls_give_a_null_for_every_parameter_left_out(tools: ToolRegistry, shape: str) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("edit_file", {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "1", "replace_all": None}]}),
        ("write_file", {"path": "b.txt", "content": "b"}),
        ("grep_files", {"pattern": "1"}),
        ("undo_changes", {"path": "b.txt"}),
        ("list_files", {}),
    ]
    for tool, given in calls:
        names = next(each for each in FILE_TOOLS if each.name == tool).parameters.model_fields
        told = text_of(await answer(tools, SHAPES[shape](tool, dict.fromkeys(names) | given)))
        assert "INVALID_ARGUMENT" not in told
        assert '"success": false' not in told


async def test_a_result_travels_once_over_mcp(tools: ToolRegistry) -> None:
    result = await answer(tools, request("write_file", {"path": "b.txt", "content": "b"}))
    assert text_of(result).startswith("[b.txt · created · 1 byte · version ")
    assert "structuredContent" not in result


async def test_the_id_of_a_call_stands_in_the_log_and_undoes_it(tools: ToolRegistry) -> None:
    await answer(tools, tool_use("write_file", {"path": "b.txt", "content": "b"}))
    assert [record.id for record in tools.log] == ["toolu_1"]
    await answer(tools, tool_use("undo_changes", {"call_id": "toolu_1"}))
    assert (await tools.call("exists", {"path": "b.txt"}))["data"]["exists"] is False


async def test_a_picture_is_shown_where_the_interface_takes_pictures(tools: ToolRegistry) -> None:
    data = base64.b64encode(PIXEL).decode()
    given = {"path": "pixel.png"}
    anthropic = await answer(tools, tool_use("read_file", given))
    assert anthropic["content"][1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
    }
    adapter: TypeAdapter[Any] = TypeAdapter(ToolResultBlockParam)
    assert list(adapter.validate_python(anthropic)["content"]) == anthropic["content"]
    responses = await answer(tools, function_call("read_file", given))
    assert responses["output"][1]["image_url"] == f"data:image/png;base64,{data}"
    assert TypeAdapter(FunctionCallOutput).validate_python(responses, strict=True) == responses
    over_mcp = mcp_types.CallToolResult.model_validate(await answer(tools, request("read_file", given)))
    assert over_mcp.content[1] == mcp_types.ImageContent(data=data, mime_type="image/png")
    chat = await answer(tools, chat_call("read_file", given))
    assert "binary · image/png" in chat["content"]


async def test_hosted_patches_are_answered_as_openai_asks(agent: FileToolsFacade) -> None:
    patching = APPLY_PATCH.registry(agent)
    for operation, status in [
        ({"type": "update_file", "path": "a.txt", "diff": "@@\n-nope\n+3\n"}, "failed"),
        ({"type": "update_file", "path": "a.txt", "diff": "@@\n-two\n+2\n"}, "completed"),
        ({"type": "create_file", "path": "b.txt", "diff": "+b\n"}, "completed"),
        ({"type": "delete_file", "path": "b.txt"}, "completed"),
    ]:
        item = {
            "type": "apply_patch_call",
            "id": "ap_1",
            "call_id": "call_1",
            "status": "completed",
            "operation": operation,
        }
        call = ResponseApplyPatchToolCall.model_validate(item)
        [output] = await answers(patching, [call])
        assert TypeAdapter(ApplyPatchCallOutput).validate_python(output, strict=True) == output
        assert (output["call_id"], output["status"]) == ("call_1", status), output
    assert (await agent.read_file("a.txt")).content == "one\n2\n"


def message(*blocks: Any) -> Message:
    return Message(
        id="m", type="message", role="assistant", model="some", content=list(blocks), stop_reason="tool_use",
        stop_sequence=None, usage=Usage(input_tokens=1, output_tokens=1),
    )  # fmt: skip


async def test_of_a_message_all_results_are_one_message(tools: ToolRegistry) -> None:
    text = TextBlock(type="text", text="I will look.")
    calls = [tool_use("append_file", {"path": "a.txt", "content": each}) for each in ("3\n", "4\n")]
    [reply] = await answers(tools, message(text, *calls, tool_use("read_file", {"path": "a.txt"})))
    assert reply["role"] == "user"
    assert [each["type"] for each in reply["content"]] == ["tool_result"] * 3
    assert reply["content"][2]["content"].startswith("one\ntwo\n3\n4\n[")


def completion(*calls: Any) -> ChatCompletion:
    spoken = {"role": "assistant", "content": None, "tool_calls": [call.model_dump() for call in calls] or None}
    return ChatCompletion.model_validate(
        {
            "id": "c", "object": "chat.completion", "created": 1, "model": "some",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": spoken, "logprobs": None}],
        }
    )  # fmt: skip


async def test_of_a_completion_each_call_has_a_message(tools: ToolRegistry) -> None:
    whole = completion(chat_call("read_file", {"path": "a.txt"}), chat_call("exists", {"path": "b.txt"}))
    for reply in (whole, whole.choices[0].message, whole.model_dump()):
        found = await answers(tools, reply)
        assert [each["role"] for each in found] == ["tool", "tool"]
        assert text_of(found[0]).startswith("one\ntwo\n")
        assert json.loads(text_of(found[1])) == {"path": "b.txt", "exists": False}


async def test_of_a_response_each_call_has_an_item(tools: ToolRegistry) -> None:
    reasoning = {"type": "reasoning", "id": "r", "summary": []}
    call = function_call("read_file", {"path": "a.txt"}).model_dump()
    whole = Response.model_validate(
        {
            "id": "r", "object": "response", "created_at": 1, "model": "some", "output": [reasoning, call],
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        }
    )  # fmt: skip
    for reply in (whole, whole.output):
        [item] = await answers(tools, reply)
        assert text_of(item).startswith("one\ntwo\n")


@pytest.mark.parametrize(
    "reply",
    [
        message(TextBlock(type="text", text="Done.")),
        completion(),
        [],
        "Done.",
    ],
)
async def test_a_reply_without_calls_has_no_answer(tools: ToolRegistry, reply: object) -> None:
    assert await answers(tools, reply) == []
