"""Tools for the programming interfaces of models: definitions to send, calls to run, results to send back."""

from __future__ import annotations

from filetools.tools.exports.answers import answer, answers
from filetools.tools.exports.definitions import (
    anthropic_tools,
    call_schema,
    mcp_tool,
    mcp_tools,
    openai_chat_tools,
    openai_responses_tools,
)
from filetools.tools.exports.formats import FORMATS, ExportFormat, exported
from filetools.tools.exports.openapi import openapi_document

__all__ = [
    "FORMATS",
    "ExportFormat",
    "answer",
    "answers",
    "anthropic_tools",
    "call_schema",
    "exported",
    "mcp_tool",
    "mcp_tools",
    "openai_chat_tools",
    "openai_responses_tools",
    "openapi_document",
]
