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


def exported(tools: Iterable[AnyTool], form: ExportFormat) -> Any:
    """Return tools in a format, as JSON-compatible values."""
    return FORMATS[form](tools)
