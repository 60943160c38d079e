"""Tools of the conformance suite's fixture that answer at once, or over one connection of a handshake revision.

Names, arguments and results are the suite's; it looks for them literally.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import mcp_types as wire
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

from filetools.servers.mcp.callers import Request

Answer: TypeAlias = wire.CallToolResult | wire.InputRequiredResult
Play: TypeAlias = Callable[[Request, wire.CallToolRequestParams], Awaitable[Answer]]

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
STEP_SECONDS: Final = 0.05
NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
SCHEMA_2020_12: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
DEFAULTS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
CHOICES: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": [{"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"))],
        },
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"const": f"value{n}", "title": f"{word} Choice"} for n, word in ((1, "First"), (2, "Second"))
                ]
            },
        },
    },
}
WHO: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"username": {"type": "string"}, "email": {"type": "string"}},
    "required": ["username", "email"],
}


def said(text: str, *more: wire.ContentBlock, is_error: bool = False) -> wire.CallToolResult:
    """Return a result that begins with a text."""
    return wire.CallToolResult(content=[wire.TextContent(text=text), *more], is_error=is_error)


def embedded(uri: str, mime_type: str, text: str) -> wire.EmbeddedResource:
    """Return a resource that travels inside a result."""
    return wire.EmbeddedResource(resource=wire.TextResourceContents(uri=uri, mime_type=mime_type, text=text))


def text_of_sampling(told: object) -> str:
    """Return the text that a client's model gave."""
    content = told.content if isinstance(told, wire.CreateMessageResult) else None
    return content.text if isinstance(content, wire.TextContent) else ""


def sampling(prompt: str, most_tokens: int) -> wire.CreateMessageRequest:
    """Return a question to the client's model."""
    message = wire.SamplingMessage(role="user", content=wire.TextContent(text=prompt))
    return wire.CreateMessageRequest(params=wire.CreateMessageRequestParams(messages=[message], max_tokens=most_tokens))


async def simple(request: Request, given: wire.CallToolRequestParams) -> Answer:
    return said("This is a simple text response for testing.")


async def image(request: Request, given: wire.CallToolRequestParams) -> Answer:
    return wire.CallToolResult(content=[wire.ImageContent(data=PNG, mime_type="image/png")])


async def audio(request: Request, given: wire.CallToolRequestParams) -> Answer:
    return wire.CallToolResult(content=[wire.AudioContent(data=WAV, mime_type="audio/wav")])


async def resource(request: Request, given: wire.CallToolRequestParams) -> Answer:
    found = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return wire.CallToolResult(content=[found])


async def mixed(request: Request, given: wire.CallToolRequestParams) -> Answer:
    found = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return said("Multiple content types test:", wire.ImageContent(data=PNG, mime_type="image/png"), found)


async def failing(request: Request, given: wire.CallToolRequestParams) -> Answer:
    return said("This tool intentionally returns an error for testing", is_error=True)


async def progressing(request: Request, given: wire.CallToolRequestParams) -> Answer:
    for done in (0, 50, 100):
        await request.session.report_progress(done, 100)
        await asyncio.sleep(STEP_SECONDS)
    return said("done")


async def logging(request: Request, given: wire.CallToolRequestParams) -> Answer:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await request.session.send_log_message("info", text, related_request_id=request.request_id)
        await asyncio.sleep(STEP_SECONDS)
    return said("done")


async def sampled(request: Request, given: wire.CallToolRequestParams) -> Answer:
    capabilities = request.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        return said("The client has no sampling", is_error=True)
    question = sampling(str((given.arguments or {}).get("prompt")), 100)
    told = await request.session.send_request(question, wire.CreateMessageResult, metadata=_along(request))
    return said(f"LLM response: {text_of_sampling(told)}")


def _along(request: Request) -> ServerMessageMetadata:
    return ServerMessageMetadata(related_request_id=request.request_id)


async def _form(request: Request, message: str, form: dict[str, Any], opening: str) -> Answer:
    capabilities = request.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return said("The client has no elicitation", is_error=True)
    session: ServerSession = request.session
    told = await session.elicit_form(message, form, request.request_id)
    return said(f"{opening}: action={told.action}, content={told.content}")


async def elicited(request: Request, given: wire.CallToolRequestParams) -> Answer:
    return await _form(request, str((given.arguments or {}).get("message")), WHO, "User response")


async def elicited_defaults(request: Request, given: wire.CallToolRequestParams) -> Answer:
    return await _form(request, "Please review", DEFAULTS, "Elicitation completed")


async def elicited_choices(request: Request, given: wire.CallToolRequestParams) -> Answer:
    return await _form(request, "Please choose", CHOICES, "Elicitation completed")


async def without_capability(request: Request, given: wire.CallToolRequestParams) -> Answer:
    capabilities = request.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        missing: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(wire.MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling", missing)
    return said("done")


def _schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


PLAYS: Final[dict[str, tuple[dict[str, Any], Play]]] = {
    "test_simple_text": (NO_ARGUMENTS, simple),
    "test_image_content": (NO_ARGUMENTS, image),
    "test_audio_content": (NO_ARGUMENTS, audio),
    "test_embedded_resource": (NO_ARGUMENTS, resource),
    "test_multiple_content_types": (NO_ARGUMENTS, mixed),
    "test_error_handling": (NO_ARGUMENTS, failing),
    "test_tool_with_progress": (NO_ARGUMENTS, progressing),
    "test_tool_with_logging": (NO_ARGUMENTS, logging),
    "test_logging_tool": (NO_ARGUMENTS, logging),
    "test_sampling": (_schema(prompt={"type": "string"}), sampled),
    "test_elicitation": (_schema(message={"type": "string"}), elicited),
    "test_elicitation_sep1034_defaults": (NO_ARGUMENTS, elicited_defaults),
    "test_elicitation_sep1330_enums": (NO_ARGUMENTS, elicited_choices),
    "test_missing_capability": (NO_ARGUMENTS, without_capability),
    "test_reconnection": (NO_ARGUMENTS, simple),
    "json_schema_2020_12_tool": (SCHEMA_2020_12, simple),
    "test_header": (_schema(place={"type": "string", "x-mcp-header": "Place"}), simple),
}
