"""Describes routes in OpenAPI."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from filetools.servers.http.operations import EditList
from filetools.servers.http.problems import MEDIA_TYPE

Described = dict[int | str, dict[str, Any]]
PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence for people and models."},
        "code": {"type": "string", "description": "Error code, the same in Python, JSON and every protocol."},
        "retryable": {"type": "boolean", "description": "True if the same request may succeed later."},
        "suggested_action": {"type": "string", "description": "What to do next."},
        "details": {"type": "object", "description": "Further facts, such as the current version."},
    },
    "required": ["title", "status", "detail", "code"],
}
_SCHEMAS: Final = "#/components/schemas"
_BYTES: Final = {"type": "string", "format": "binary"}
_TAG: Final = {"description": "Version of the file's bytes, in quotes.", "schema": {"type": "string"}}
BINARY: Final[Described] = {
    200: {
        "description": "The bytes.",
        "content": {"*/*": {"schema": _BYTES}},
        "headers": {"ETag": _TAG},
    },
    206: {"description": "One range of the bytes.", "content": {"*/*": {"schema": _BYTES}}, "headers": {"ETag": _TAG}},
    304: {"description": "The client already has this version."},
}
ANY_BODY: Final = {
    "requestBody": {
        "description": "All bytes of the file, up to 1 GiB, without a content encoding.",
        "content": {"application/octet-stream": {"schema": _BYTES}},
        "required": False,
    }
}
EDITS_OR_DIFF: Final = {
    "requestBody": {
        "content": {
            "application/json": {"schema": {"$ref": f"{_SCHEMAS}/EditList"}},
            "text/x-diff": {"schema": {"type": "string"}},
        },
        "required": True,
    }
}
CONDITIONS: Final = [
    {
        "name": name,
        "in": "header",
        "required": False,
        "description": description,
        "schema": {"type": "string", "pattern": r'^(\*|"[!#-~]*")$'},
    }
    for name, description in (
        ("If-Match", "Versions in quotes, one of which must be current, or `*`."),
        ("If-None-Match", "Versions in quotes, none of which may be current, or `*`: the file must not exist."),
    )
]
PROBLEM: Final = {MEDIA_TYPE: {"schema": {"$ref": f"{_SCHEMAS}/Problem"}}}
FAILURES: Final[Described] = {"default": {"description": "An error; `code` names it.", "content": PROBLEM}}
"""The errors of any route."""
_SESSION: Final = {
    "name": "Filetools-Session",
    "in": "header",
    "required": False,
    "description": "Groups the calls of one conversation, such as for `undo`.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,120}$"},
}
_BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "The token of the server; browsers log in instead.",
}
_METHODS: Final = ("get", "head", "put", "patch", "delete", "post")


class DescribedApplication(FastAPI):
    """An application that describes its routes completely."""

    def openapi(self) -> dict[str, Any]:
        """Return the description; it is made once."""
        if self.openapi_schema is None:
            self.openapi_schema = _described(self)
        return self.openapi_schema


def _described(application: FastAPI) -> dict[str, Any]:
    schema: dict[str, Any] = get_openapi(
        title=application.title,
        version=application.version,
        description="Files, tools and changes of one workspace, shared by agents, people and programs.",
        routes=application.routes,
        separate_input_output_schemas=False,
    )
    components = schema.setdefault("components", {})
    # Routes refer to these, but the framework does not collect them.
    edits = EditList.model_json_schema(ref_template=f"{_SCHEMAS}/{{model}}")
    components.setdefault("schemas", {}).update({"Problem": PROBLEM_SCHEMA, **edits.pop("$defs"), "EditList": edits})
    components["securitySchemes"] = {"token": _BEARER}
    for path, item in schema["paths"].items():
        for operation in (item[method] for method in _METHODS if method in item and path.startswith("/v1/")):
            operation.setdefault("parameters", []).append(_SESSION)
            operation["security"] = [{"token": []}]
    return schema
