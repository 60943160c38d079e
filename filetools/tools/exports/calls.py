"""Calls as models make them, in the shape of each interface: the block, item or request, read for what it asks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

CallForm = Literal["anthropic", "openai-chat", "openai-responses", "openai-apply-patch", "openai-custom", "mcp", "json"]


@runtime_checkable
class Dumpable(Protocol):
    """An object of an SDK, which its own types can write as plain values."""

    def model_dump(self, *, by_alias: bool) -> Any:
        """Return plain values under the names of the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """What a model asks for."""

    form: CallForm
    id: str | None
    """The interface's id of the call, where it has one that is not used twice."""
    name: str
    arguments: object
    """What it gives; the registry judges it."""


def call_of(item: object) -> ModelCall | None:
    """Return the call that a block, item or request makes; None if it makes none.

    Args:
        item: A `tool_use` block, an entry of `tool_calls`, a `function_call`, `apply_patch_call` or `custom_tool_call` item,
            a `tools/call` request or a plain `{"name", "arguments"}`, as an object of the SDK or as a mapping.
    """
    plain = plain_of(item)
    match plain:
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
            # The id of such a request counts from 0 in each connection.
            return ModelCall(form="mcp", id=None, name=str(name), arguments=params.get("arguments") or {})
        case {"name": name, "arguments": given} if "type" not in plain:
            return ModelCall(form="json", id=None, name=str(name), arguments=_decoded(given))
    return None


def items_of(reply: object) -> Iterator[object]:
    """Yield what a model's reply holds: its blocks, items or tool calls.

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
    """Return an object of an SDK as plain values, and plain values as they are."""
    return value.model_dump(by_alias=True) if isinstance(value, Dumpable) else value


def _decoded(given: object) -> object:
    """Arguments that came as JSON text; a text that is none goes on as it is, for the registry to refuse."""
    if not isinstance(given, str):
        return {} if given is None else given
    try:
        return json.loads(given) if given.strip() else {}
    except (ValueError, RecursionError):
        return given
