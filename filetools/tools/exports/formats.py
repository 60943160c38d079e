"""The formats by name, for whoever lets a person choose one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from filetools.tools.exports.definitions import (
    anthropic_tools,
    call_schema,
    mcp_tools,
    openai_chat_tools,
    openai_responses_tools,
)
from filetools.tools.exports.openapi import openapi_document
from filetools.tools.tool import AnyTool

ExportFormat = Literal["openai-chat", "openai-responses", "anthropic", "mcp", "openapi", "json-schema"]
FORMATS: Final[Mapping[ExportFormat, Callable[[Iterable[AnyTool]], Any]]] = {
    "openai-chat": openai_chat_tools,
    "openai-responses": openai_responses_tools,
    "anthropic": anthropic_tools,
    "mcp": lambda tools: {"tools": mcp_tools(tools)},
    "openapi": openapi_document,
    "json-schema": call_schema,
}


_HOSTED_BY: Final[Mapping[str, ExportFormat]] = {
    "text_editor_20250728": "anthropic",
    "memory_20250818": "anthropic",
    "apply_patch": "openai-responses",
}
"""Which interface knows tools by itself, by the type of their definition there."""


def exported(tools: Iterable[AnyTool], form: ExportFormat, *, hosted: Mapping[str, Any] | None = None) -> Any:
    """Return tools in a format, as JSON-compatible values.

    Args:
        tools: What the model may call.
        form: Where they are sent to.
        hosted: The definition of a dialect whose tools an interface knows by itself (`Dialect.hosted`): that interface
            gets it in place of theirs.
    """
    if hosted is not None and _HOSTED_BY.get(hosted["type"]) == form:
        return [dict(hosted)]
    return FORMATS[form](tools)
