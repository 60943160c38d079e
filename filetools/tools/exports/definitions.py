"""Definitions of tools, one function for each place that they are sent to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from filetools.tools.exports.strict import strict_schema
from filetools.tools.schemas import output_schema
from filetools.tools.shown import has_schema
from filetools.tools.tool import AnyTool, Published

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def anthropic_tools(tools: Iterable[AnyTool]) -> list[dict[str, Any]]:
    """Return tools for `tools` of Anthropic's Messages API."""
    return [tool.definition() for tool in tools]


def openai_chat_tools(tools: Iterable[AnyTool], *, strict: bool = True) -> list[dict[str, Any]]:
    """Return tools for `tools` of OpenAI's Chat Completions API, and of the many servers that speak it.

    Args:
        tools: What the model may call.
        strict: Whether the model is held to the schemas, where they allow it; not every server knows that.
    """
    return [{"type": "function", "function": _function(tool, strict=strict)} for tool in tools]


def openai_responses_tools(tools: Iterable[AnyTool], *, strict: bool = True) -> list[dict[str, Any]]:
    """Return tools for `tools` of OpenAI's Responses API; arguments as for `openai_chat_tools`."""
    return [{"type": "function"} | _function(tool, strict=strict) for tool in tools]


def mcp_tools(tools: Iterable[AnyTool], *, structured: bool = False) -> list[dict[str, Any]]:
    """Return tools as `tools/list` of the Model Context Protocol does.

    Args:
        tools: What is published.
        structured: Whether all have an output schema, as the client takes results as JSON.
    """
    return [mcp_tool(tool, structured=structured) for tool in tools]


def call_schema(tools: Iterable[AnyTool]) -> dict[str, Any]:
    """Return the JSON schema of a call, `{"name": …, "arguments": {…}}`, of any of the tools.

    For models without tool calling whose output a schema can bind.
    """
    return {"$schema": DRAFT, "title": "A call of a tool", "anyOf": [_call(tool) for tool in tools]}


def _function(tool: AnyTool, *, strict: bool) -> dict[str, Any]:
    schema = _schema_of(tool)
    bound = strict_schema(schema) if strict else None
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": schema if bound is None else bound,
        "strict": bound is not None,
    }


def mcp_tool(tool: AnyTool, *, structured: bool = False) -> dict[str, Any]:
    """Return one tool as `mcp_tools` does."""
    exact = tool.published or Published()
    output = _output_schema(tool, structured=structured)
    return {
        "name": tool.name,
        **({} if exact.title is None else {"title": exact.title}),
        "description": tool.description,
        "inputSchema": _schema_of(tool),
        **({} if output is None else {"outputSchema": output}),
        "annotations": _hints(tool) if exact.annotations is None else dict(exact.annotations),
    }


def _output_schema(tool: AnyTool, *, structured: bool) -> dict[str, Any] | None:
    if tool.published is not None:
        exact = tool.published.output_schema
        return None if exact is None else dict(exact)
    if tool.result is None or not has_schema(tool, structured=structured):
        return None
    return output_schema(tool.result)


def _hints(tool: AnyTool) -> dict[str, Any]:
    """Return what differs from the protocol's own defaults; whoever only reads destroys nothing."""
    is_change = tool.effect != "read"
    return {
        "title": tool.name.replace("_", " ").capitalize(),
        **({} if is_change else {"readOnlyHint": True}),
        **({"destructiveHint": False} if is_change and tool.is_additive else {}),
        **({"idempotentHint": True} if is_change and tool.is_idempotent else {}),
        "openWorldHint": False,
    }


def _schema_of(tool: AnyTool) -> dict[str, Any]:
    schema: dict[str, Any] = tool.definition()["input_schema"]
    return schema


def _call(tool: AnyTool) -> dict[str, Any]:
    return {
        "type": "object",
        "description": tool.description,
        "properties": {"name": {"const": tool.name}, "arguments": _schema_of(tool)},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
