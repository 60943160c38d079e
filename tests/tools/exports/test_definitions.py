from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import mcp_types
import pytest
from anthropic.types import ToolParam as AnthropicToolParam
from anthropic.types import ToolUnionParam
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam, ToolParam
from pydantic import TypeAdapter

from filetools.tools.dialects import DIALECTS, Dialect
from filetools.tools.envelope import input_schema
from filetools.tools.exports import (
    FORMATS,
    anthropic_tools,
    exported,
    mcp_tools,
    openai_chat_tools,
    openai_responses_tools,
    strict_schema,
)
from filetools.tools.registry import FILE_TOOLS
from filetools.tools.tool import AnyTool
from tests.tools.test_schemas import objects

NAMES = [tool.name for tool in FILE_TOOLS]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "object"}}, "additionalProperties": False},
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "object", "additionalProperties": True}}},
            "additionalProperties": False,
        },
    ],
)
def test_what_is_not_closed_cannot_be_strict(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None


def test_what_may_be_left_out_is_required_and_nullable_at_any_depth() -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "either": {"anyOf": [{"type": "string"}, item]},
            "items": {"type": "array", "items": item},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    before = deepcopy(schema)
    closed = {
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"]}},
        "additionalProperties": False,
        "required": ["n"],
    }
    assert strict_schema(schema) == {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "mode": {"type": ["string", "null"], "enum": ["a", "b", None]},
            "either": {"anyOf": [{"type": "string"}, closed, {"type": "null"}]},
            "items": {"type": ["array", "null"], "items": closed},
        },
        "required": ["path", "mode", "either", "items"],
        "additionalProperties": False,
    }
    assert schema == before


@pytest.mark.parametrize("tool", FILE_TOOLS, ids=lambda tool: tool.name)
def test_a_strict_schema_is_what_openai_itself_would_make_of_it(tool: AnyTool) -> None:
    schema = strict_schema(input_schema(tool.parameters))
    assert schema is not None
    assert _ensure_strict_json_schema(deepcopy(schema), path=(), root=deepcopy(schema)) == schema
    for each in objects(schema):
        if each.get("type") == "object" or each.get("type") == ["object", "null"]:
            assert each["additionalProperties"] is False
            assert each["required"] == list(each["properties"])


def test_openai_takes_the_definitions_for_chat() -> None:
    definitions = openai_chat_tools(FILE_TOOLS)
    taken = TypeAdapter(list[ChatCompletionFunctionToolParam]).validate_python(definitions, strict=True)
    assert taken == definitions
    assert [each["function"]["name"] for each in definitions] == NAMES
    assert all(each["function"]["strict"] for each in definitions)


def test_openai_takes_the_definitions_for_responses() -> None:
    definitions = openai_responses_tools(FILE_TOOLS)
    assert TypeAdapter(list[FunctionToolParam]).validate_python(definitions, strict=True) == definitions
    assert [each["name"] for each in definitions] == NAMES


def test_servers_that_know_no_strict_mode_get_the_schemas_as_they_are() -> None:
    for definitions in (openai_chat_tools(FILE_TOOLS, strict=False), openai_responses_tools(FILE_TOOLS, strict=False)):
        functions = [each.get("function", each) for each in definitions]
        assert [each["parameters"] for each in functions] == [input_schema(tool.parameters) for tool in FILE_TOOLS]
        assert not any(each["strict"] for each in functions)


def test_anthropic_takes_the_definitions() -> None:
    definitions = anthropic_tools(FILE_TOOLS)
    assert TypeAdapter(list[AnthropicToolParam]).validate_python(definitions, strict=True) == definitions
    assert [each["name"] for each in definitions] == NAMES


@pytest.mark.parametrize("structured", [False, True])
def test_mcp_takes_the_definitions(structured: bool) -> None:
    definitions = mcp_tools(FILE_TOOLS, structured=structured)
    for definition in definitions:
        taken = mcp_types.Tool.model_validate(definition)
        assert taken.model_dump(by_alias=True, exclude_none=True, mode="json") == definition
    with_output = {each["name"] for each in definitions if "outputSchema" in each}
    assert ("read_file" in with_output) is ("write_file" in with_output) is structured
    assert "buffer_open" in with_output


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_every_interface_takes_the_tools_of_a_dialect(dialect: Dialect) -> None:
    chat = exported(dialect.tools, "openai-chat", hosted=dialect.hosted)
    assert TypeAdapter(list[ChatCompletionFunctionToolParam]).validate_python(chat, strict=True) == chat
    responses = exported(dialect.tools, "openai-responses", hosted=dialect.hosted)
    assert TypeAdapter(list[ToolParam]).validate_python(responses, strict=True) == responses
    anthropic = exported(dialect.tools, "anthropic", hosted=dialect.hosted)
    assert TypeAdapter(list[ToolUnionParam]).validate_python(anthropic, strict=True) == anthropic
    for definition in mcp_tools(dialect.tools):
        assert mcp_types.Tool.model_validate(definition).name == definition["name"]
    for each in [*chat, *responses]:
        function = each.get("function", each)
        if function.get("strict"):
            schema = function["parameters"]
            assert _ensure_strict_json_schema(deepcopy(schema), path=(), root=deepcopy(schema)) == schema


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_json_and_of_the_tools_that_were_chosen(form: Any) -> None:
    core = [tool for tool in FILE_TOOLS if tool.group == "core"]
    text = json.dumps(exported(core, form))
    assert all(tool.name in text for tool in core)
    assert "buffer_open" not in text
