"""From a model's reply to what it is sent back: every call run through the registry, its result in the same shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from filetools.errors import InvalidArgumentError
from filetools.tools.exports.calls import CallForm, ModelCall, call_of, items_of
from filetools.tools.media import Medium
from filetools.tools.registry import ToolRegistry
from filetools.tools.seen import Shown


async def answer(tools: ToolRegistry, call: object) -> dict[str, Any]:
    """Run one call of a model and return its result, in the shape of the interface that the call came from.

    A call that fails is a result, too: what it says is for the model.

    Args:
        tools: What may be called.
        call: A `tool_use` block (returns a `tool_result` block), an entry of `tool_calls` (a message of the role `tool`),
            a `function_call`, `custom_tool_call` or `apply_patch_call` item (the item of its output), a `tools/call` request
            (its result), or a plain `{"name", "arguments"}` (the envelope); as an object of the SDK or as a mapping.

    Raises:
        InvalidArgumentError: It is no call in any of these shapes.
    """
    asked = call_of(call)
    if asked is None:
        raise InvalidArgumentError("This is no call of a tool in a shape that is known")
    return await _answer(tools, asked)


async def answers(tools: ToolRegistry, reply: object) -> list[dict[str, Any]]:
    """Run all calls of a model's reply, in their order, and return what to append to the conversation after the reply.

    Of Anthropic's interface that is one message with all results; of the others, a message or item for each call. It is
    empty if the reply has no call: the model is done. What a reply holds beside calls is passed over.

    Args:
        tools: What may be called. To mix them with tools of your own, go through the calls yourself and use `answer`.
        reply: The message, completion or response, or the list of its blocks or items.
    """
    asked = [call for item in items_of(reply) if (call := call_of(item)) is not None]
    results = [await _answer(tools, call) for call in asked]
    if asked and asked[0].form == "anthropic":
        return [{"role": "user", "content": results}]
    return results


async def _answer(tools: ToolRegistry, asked: ModelCall) -> dict[str, Any]:
    # What is no object is refused by the registry, which logs every call.
    arguments: Any = asked.arguments
    envelope = await tools.call(asked.name, arguments, tool_call_id=asked.id)
    if asked.form == "json":
        return envelope
    return _RESULTS[asked.form](asked, tools.show(asked.name, envelope))


def _tool_result(asked: ModelCall, seen: Shown) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = _text(seen)
    if seen.media is not None and seen.media.kind == "image":
        source = {"type": "base64", "media_type": seen.media.mime_type, "data": seen.media.data}
        content = [*_text_blocks(seen, "text"), {"type": "image", "source": source}]
    return {"type": "tool_result", "tool_use_id": asked.id, "content": content, "is_error": seen.is_error}


def _tool_message(asked: ModelCall, seen: Shown) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": asked.id, "content": _text(seen)}


def _function_call_output(asked: ModelCall, seen: Shown) -> dict[str, Any]:
    output: str | list[dict[str, Any]] = _text(seen)
    if seen.media is not None and seen.media.kind == "image":
        url = f"data:{seen.media.mime_type};base64,{seen.media.data}"
        output = [*_text_blocks(seen, "input_text"), {"type": "input_image", "image_url": url, "detail": "auto"}]
    return {"type": "function_call_output", "call_id": asked.id, "output": output}


def _apply_patch_output(asked: ModelCall, seen: Shown) -> dict[str, Any]:
    status = "failed" if seen.is_error else "completed"
    return {"type": "apply_patch_call_output", "call_id": asked.id, "status": status, "output": _text(seen)}


def _custom_output(asked: ModelCall, seen: Shown) -> dict[str, Any]:
    return {"type": "custom_tool_call_output", "call_id": asked.id, "output": _text(seen)}


def _call_tool_result(asked: ModelCall, seen: Shown) -> dict[str, Any]:
    content = _text_blocks(seen, "text")
    if seen.media is not None:
        content.append(_content_of(seen.media))
    structured = {} if seen.structured is None else {"structuredContent": dict(seen.structured)}
    return {"content": content, **structured, "isError": seen.is_error}


def _content_of(media: Medium) -> dict[str, Any]:
    if media.kind == "bytes":
        return {"type": "resource", "resource": {"uri": media.uri, "mimeType": media.mime_type, "blob": media.data}}
    return {"type": media.kind, "data": media.data, "mimeType": media.mime_type}


def _text(seen: Shown) -> str:
    return "\n".join(filter(None, (seen.text, *seen.notes)))


def _text_blocks(seen: Shown, kind: str) -> list[dict[str, Any]]:
    return [{"type": kind, "text": each} for each in (seen.text, *seen.notes) if each]


_RESULTS: Final[Mapping[CallForm, Callable[[ModelCall, Shown], dict[str, Any]]]] = {
    "anthropic": _tool_result,
    "openai-chat": _tool_message,
    "openai-responses": _function_call_output,
    "openai-apply-patch": _apply_patch_output,
    "openai-custom": _custom_output,
    "mcp": _call_tool_result,
}
