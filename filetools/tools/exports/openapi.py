"""Tools as an OpenAPI document: the operations `POST /v1/tools/{name}` of the door for HTTP, without starting it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from filetools.tools.schemas import NEWS_PROPERTIES, data_schema
from filetools.tools.tool import AnyTool

OPENAPI_VERSION: Final = "3.1.0"
_FAILURE: Final[dict[str, Any]] = {
    "type": "object",
    "description": "A failed call.",
    "properties": {
        "success": {"const": False},
        "error": {"type": "string"},
        "error_code": {"type": "string"},
        "retryable": {"type": "boolean", "description": "Whether the same call may succeed later."},
        "suggested_action": {"type": "string", "description": "What to do next."},
        "details": {"type": "object", "description": "What is needed to repair the call."},
        "attempts": {"type": "integer"},
    },
    "required": ["success", "error", "error_code", "retryable", "details", "attempts"],
}


def openapi_document(tools: Iterable[AnyTool], *, title: str = "filetools", version: str = "1") -> dict[str, Any]:
    """Return an OpenAPI 3.1 document with one operation for each tool.

    Args:
        tools: What can be called.
        title: Name of the interface.
        version: Version of the interface.
    """
    return {
        "openapi": OPENAPI_VERSION,
        "info": {"title": title, "version": version},
        "paths": {f"/v1/tools/{tool.name}": {"post": _operation(tool)} for tool in tools},
        "components": {"schemas": {"Failure": _FAILURE | {"properties": _FAILURE["properties"] | NEWS_PROPERTIES}}},
    }


def _operation(tool: AnyTool) -> dict[str, Any]:
    failure = {"$ref": "#/components/schemas/Failure"}
    return {
        "operationId": tool.name,
        "summary": tool.description.partition(". ")[0].rstrip(".") + ".",
        "description": tool.description,
        "tags": [tool.group],
        "requestBody": {"required": True} | _json(tool.definition()["input_schema"]),
        "responses": {
            "200": {"description": "What came of the call."} | _json({"oneOf": [_success(tool), failure]}),
            "422": {"description": "The arguments are wrong."} | _json(failure),
        },
    }


def _success(tool: AnyTool) -> dict[str, Any]:
    data = {"type": "object"} if tool.result is None else data_schema(tool.result)
    return {
        "type": "object",
        "properties": {"success": {"const": True}, "data": data} | NEWS_PROPERTIES,
        "required": ["success", "data"],
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}
