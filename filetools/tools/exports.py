"""Tools for model APIs: definitions to send, calls to run, results to send back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from msgspec import Struct
from pydantic import BaseModel

from filetools.errors import InvalidArgumentError
from filetools.tools.answers.seen import ShownCall
from filetools.tools.answers.shown import has_schema
from filetools.tools.envelope import output_schema
from filetools.tools.registry import ToolRegistry
from filetools.tools.tool import AnyTool


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a schema whose objects are closed and require every property; None if it contains a free-form object.

    Optional properties become nullable, at any depth; the registry treats null as a missing parameter.
    """
    try:
        return _strict(schema)
    except _FreeFormError:
        return None


class _FreeFormError(Exception):
    """Raised when an object's properties are not all known."""


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        raise _FreeFormError
    # Strict mode does not support defaults; the registry applies them.
    kept = {keyword: value for keyword, value in schema.items() if keyword not in ("default", "$schema")}
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            raise _FreeFormError
        needed = set(schema.get("required", ()))
        properties = {
            name: _strict(each) if name in needed else _nullable(_strict(each))
            for name, each in schema["properties"].items()
        }
        kept |= {"properties": properties, "required": list(properties)}
    if "items" in schema:
        kept["items"] = _strict(schema["items"])
    if "anyOf" in schema:
        kept["anyOf"] = [_strict(each) for each in schema["anyOf"]]
    return kept


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = schema.get("type")
    if kinds is None:
        raise _FreeFormError
    listed = kinds if isinstance(kinds, list) else [kinds]
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | values | {"type": [*listed, "null"]}


def anthropic_tools(tools: Iterable[AnyTool]) -> list[dict[str, Any]]:
    """Return tools for `tools` of Anthropic's Messages API."""
    return [tool.definition() for tool in tools]


def openai_chat_tools(tools: Iterable[AnyTool], *, strict: bool = True) -> list[dict[str, Any]]:
    """Return tools for `tools` of OpenAI's Chat Completions API and compatible servers.

    Args:
        tools: The tools that the model may call.
        strict: True to use strict mode for the schemas that allow it; not every server supports it.
    """
    return [{"type": "function", "function": _function(tool, strict=strict)} for tool in tools]


def openai_responses_tools(tools: Iterable[AnyTool], *, strict: bool = True) -> list[dict[str, Any]]:
    """Return tools for `tools` of OpenAI's Responses API; arguments as for `openai_chat_tools`."""
    return [{"type": "function"} | _function(tool, strict=strict) for tool in tools]


def mcp_tools(tools: Iterable[AnyTool], *, structured: bool = False) -> list[dict[str, Any]]:
    """Return tools as `tools/list` of the Model Context Protocol does.

    Args:
        tools: The tools to publish.
        structured: True if the client accepts results as JSON, so that all tools have an output schema.
    """
    return [mcp_tool(tool, structured=structured) for tool in tools]


def _function(tool: AnyTool, *, strict: bool) -> dict[str, Any]:
    schema: dict[str, Any] = tool.definition()["input_schema"]
    bound = strict_schema(schema) if strict else None
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": schema if bound is None else bound,
        "strict": bound is not None,
    }


def mcp_tool(tool: AnyTool, *, structured: bool = False) -> dict[str, Any]:
    """Return one tool as `mcp_tools` does."""
    parts = tool.published or {"inputSchema": tool.definition()["input_schema"], "annotations": _hints(tool)}
    if tool.published is None and tool.result is not None and has_schema(tool, structured=structured):
        parts = {**parts, "outputSchema": output_schema(tool.result)}
    return {"name": tool.name, "description": tool.description, **parts}


def _hints(tool: AnyTool) -> dict[str, Any]:
    """Return the annotations that differ from the protocol's defaults; a read-only tool needs no `destructiveHint`."""
    is_change = tool.effect != "read"
    return {
        "title": tool.name.replace("_", " ").capitalize(),
        **({} if is_change else {"readOnlyHint": True}),
        # Writes, edits and moves can be undone; with the default, true, clients would ask before every edit.
        **({"destructiveHint": False} if tool.effect == "change" else {}),
        **({"idempotentHint": True} if is_change and tool.is_idempotent else {}),
        "openWorldHint": False,
    }


ExportFormat = Literal["openai-chat", "openai-responses", "anthropic", "mcp"]
FORMATS: Final[Mapping[ExportFormat, Callable[[Iterable[AnyTool]], Any]]] = {
    "openai-chat": openai_chat_tools,
    "openai-responses": openai_responses_tools,
    "anthropic": anthropic_tools,
    "mcp": lambda tools: {"tools": mcp_tools(tools)},
}


_HOSTED_BY: Final[Mapping[str, ExportFormat]] = {
    "text_editor_20250728": "anthropic",
    "memory_20250818": "anthropic",
    "apply_patch": "openai-responses",
}
"""The interface that has a tool built in, by the type of its definition there."""


def exported(tools: Iterable[AnyTool], form: ExportFormat, *, hosted: Mapping[str, Any] | None = None) -> Any:
    """Return tools in a format, as JSON-compatible values.

    Args:
        tools: The tools that the model may call.
        form: The interface to send them to.
        hosted: `Dialect.hosted` of a dialect whose tools are built into an interface; that interface receives it instead of
            the tools' definitions.
    """
    if hosted is not None and _HOSTED_BY.get(hosted["type"]) == form:
        return [dict(hosted)]
    return FORMATS[form](tools)


CallForm = Literal["anthropic", "openai-chat", "openai-responses", "openai-apply-patch", "openai-custom", "mcp", "json"]


class ModelCall(Struct, frozen=True, kw_only=True):
    """A model's call of a tool."""

    form: CallForm
    id: str | None
    """The interface's ID of the call, if that is unique."""
    name: str
    arguments: object
    """The arguments as sent; the registry validates them."""


def call_of(item: object) -> ModelCall | None:
    """Return the call in a block, item or request; None if there is none.

    Args:
        item: A `tool_use` block, an entry of `tool_calls`, a `function_call`, `apply_patch_call` or `custom_tool_call` item,
            a `tools/call` request or a plain `{"name", "arguments"}`, as an object of the SDK or as a mapping.
    """
    match plain := plain_of(item):
        case {"type": "tool_use", "id": id_, "name": name}:
            return ModelCall(form="anthropic", id=str(id_), name=str(name), arguments=plain.get("input"))
        case {"type": "function", "id": id_, "function": {"name": name, **function}}:
            arguments = _decoded(function.get("arguments"))
            return ModelCall(form="openai-chat", id=str(id_), name=str(name), arguments=arguments)
        case {"type": "function_call", "call_id": id_, "name": name}:
            arguments = _decoded(plain.get("arguments"))
            return ModelCall(form="openai-responses", id=str(id_), name=str(name), arguments=arguments)
        case {"type": "apply_patch_call", "call_id": id_, "operation": operation}:
            given = {"operation": plain_of(operation)}
            return ModelCall(form="openai-apply-patch", id=str(id_), name="apply_patch", arguments=given)
        case {"type": "custom_tool_call", "call_id": id_, "name": name, "input": text}:
            return ModelCall(form="openai-custom", id=str(id_), name=str(name), arguments={"input": text})
        case {"method": "tools/call", "params": {"name": name, **params}}:
            # Request IDs start at 0 in each connection, so they are not unique.
            return ModelCall(form="mcp", id=None, name=str(name), arguments=params.get("arguments") or {})
        case {"name": name, "arguments": given} if "type" not in plain:
            return ModelCall(form="json", id=None, name=str(name), arguments=_decoded(given))
    return None


def items_of(reply: object) -> Iterator[object]:
    """Yield the blocks, items or tool calls of a model's reply.

    Args:
        reply: A message, completion or response, or the blocks or items themselves.
    """
    plain = plain_of(reply)
    if call_of(plain) is not None:
        yield plain
        return
    if not isinstance(plain, Mapping):
        if isinstance(plain, Iterable) and not isinstance(plain, str | bytes):
            yield from plain
        return
    choices = plain.get("choices")
    if isinstance(choices, list) and choices:
        plain = plain_of(plain_of(choices[0])["message"])
    for name in ("tool_calls", "output", "content"):
        held = plain.get(name)
        if isinstance(held, list | tuple):
            yield from held
            return


def plain_of(value: object) -> Any:
    """Convert an SDK object to plain values; return plain values unchanged."""
    return value.model_dump(by_alias=True) if isinstance(value, BaseModel) else value


def _decoded(given: object) -> object:
    """Parse arguments sent as JSON text; return invalid text unchanged, for the registry to refuse."""
    if not isinstance(given, str):
        return {} if given is None else given
    try:
        return json.loads(given) if given.strip() else {}
    except (ValueError, RecursionError):
        return given


async def answer(tools: ToolRegistry, call: object) -> dict[str, Any]:
    """Run one call of a model and return its result in the format of the call's interface.

    A failure is returned as a result for the model, too.

    Args:
        tools: The tools that may be called.
        call: A `tool_use` block (returns a `tool_result` block), an entry of `tool_calls` (a message of the role `tool`),
            a `function_call`, `custom_tool_call` or `apply_patch_call` item (the item of its output), a `tools/call` request
            (its result), or a plain `{"name", "arguments"}` (the envelope); as an object of the SDK or as a mapping.

    Raises:
        InvalidArgumentError: It is not a call in any of these formats.
    """
    asked = call_of(call)
    if asked is None:
        raise InvalidArgumentError("This is not a tool call in a known format")
    return await _answer(tools, asked)


async def answers(tools: ToolRegistry, reply: object) -> list[dict[str, Any]]:
    """Run all calls of a model's reply, in their order, and return what to append to the conversation after the reply.

    For Anthropic's interface this is one message with all results; for the others, a message or item for each call. The list
    is empty if the reply has no calls: the model is done. Everything else in the reply is ignored.

    Args:
        tools: The tools that may be called. To mix them with tools of your own, iterate over the calls and use `answer`.
        reply: The message, completion or response, or the list of its blocks or items.
    """
    asked = [call for item in items_of(reply) if (call := call_of(item)) is not None]
    results = [await _answer(tools, call) for call in asked]
    if asked and asked[0].form == "anthropic":
        return [{"role": "user", "content": results}]
    return results


async def _answer(tools: ToolRegistry, asked: ModelCall) -> dict[str, Any]:
    # The registry refuses arguments that are not an object, and logs every call.
    arguments: Any = asked.arguments
    envelope = await tools.call(asked.name, arguments, tool_call_id=asked.id)
    if asked.form == "json":
        return envelope
    return _RESULTS[asked.form](asked, tools.show(asked.name, envelope))


def _tool_result(asked: ModelCall, seen: ShownCall) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = _text(seen)
    if seen.media is not None and seen.media.kind == "image":
        source = {"type": "base64", "media_type": seen.media.mime_type, "data": seen.media.data}
        content = [*_text_blocks(seen, "text"), {"type": "image", "source": source}]
    return {"type": "tool_result", "tool_use_id": asked.id, "content": content, "is_error": seen.is_error}


def _function_call_output(asked: ModelCall, seen: ShownCall) -> dict[str, Any]:
    output: str | list[dict[str, Any]] = _text(seen)
    if seen.media is not None and seen.media.kind == "image":
        url = f"data:{seen.media.mime_type};base64,{seen.media.data}"
        output = [*_text_blocks(seen, "input_text"), {"type": "input_image", "image_url": url, "detail": "auto"}]
    return {"type": "function_call_output", "call_id": asked.id, "output": output}


def _call_tool_result(asked: ModelCall, seen: ShownCall) -> dict[str, Any]:
    content = _text_blocks(seen, "text")
    if seen.media is not None:
        content.append(seen.media.content)
    structured = {} if seen.structured is None else {"structuredContent": dict(seen.structured)}
    return {"content": content, **structured, "isError": seen.is_error}


def _text(seen: ShownCall) -> str:
    return "\n".join(filter(None, (seen.text, *seen.notes)))


def _text_blocks(seen: ShownCall, kind: str) -> list[dict[str, Any]]:
    return [{"type": kind, "text": each} for each in (seen.text, *seen.notes) if each]


_RESULTS: Final[Mapping[CallForm, Callable[[ModelCall, ShownCall], dict[str, Any]]]] = {
    "anthropic": _tool_result,
    "openai-chat": lambda asked, seen: {"role": "tool", "tool_call_id": asked.id, "content": _text(seen)},
    "openai-responses": _function_call_output,
    "openai-apply-patch": lambda asked, seen: {
        "type": "apply_patch_call_output",
        "call_id": asked.id,
        "status": "failed" if seen.is_error else "completed",
        "output": _text(seen),
    },
    "openai-custom": lambda asked, seen: {
        "type": "custom_tool_call_output",
        "call_id": asked.id,
        "output": _text(seen),
    },
    "mcp": _call_tool_result,
}

__all__ = [
    "FORMATS",
    "ExportFormat",
    "answer",
    "answers",
    "anthropic_tools",
    "exported",
    "mcp_tool",
    "mcp_tools",
    "openai_chat_tools",
    "openai_responses_tools",
]
