"""The description of all routes in OpenAPI, with what the guard and the limits add to every one of them."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from filetools.servers.http.described import EVERYWHERE, described_failure, own_schemas

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
    "description": "Needed where the server was started with a token.",
}
_USUAL_INVALID: Final = "HTTPValidationError"
"""What the framework says of invalid requests, in whose place we answer with problems."""
_METHODS: Final = ("get", "head", "put", "patch", "delete", "post")


def describe(application: FastAPI) -> None:
    """Have an application tell of its routes completely."""

    def described() -> dict[str, Any]:
        if application.openapi_schema is None:
            application.openapi_schema = _described(application)
        return application.openapi_schema

    application.openapi = described  # type: ignore[method-assign]  # as FastAPI says to extend it


def _described(application: FastAPI) -> dict[str, Any]:
    told: dict[str, Any] = get_openapi(
        title=application.title,
        version=application.version,
        description="Files, tools and changes of one workspace, shared by agents, people and programs.",
        routes=application.routes,
        separate_input_output_schemas=False,
    )
    components = told.setdefault("components", {})
    components.setdefault("schemas", {}).update(own_schemas())
    components["securitySchemes"] = {"token": _BEARER}
    for name in (_USUAL_INVALID, "ValidationError"):
        components["schemas"].pop(name, None)
    for path, item in told["paths"].items():
        for method in _METHODS:
            if method in item:
                _complete(item[method], path)
    return told


def _complete(operation: dict[str, Any], path: str) -> None:
    responses = operation["responses"]
    if _USUAL_INVALID in str(responses.get("422")):
        del responses["422"]
    for status in EVERYWHERE:
        responses.setdefault(str(status), described_failure(status))
    operation["responses"] = dict(sorted(responses.items()))
    if path.startswith("/v1/"):
        operation.setdefault("parameters", []).append(_SESSION)
        operation["security"] = [{}, {"token": []}]
