"""Errors as `application/problem+json` (RFC 9457), with our code and the matching status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from filetools.errors import FileToolsError, InternalError
from filetools.tools.arguments import refusal_of
from filetools.tools.envelope import failure_envelope

MEDIA_TYPE: Final = "application/problem+json"
AGENT_PATHS: Final = frozenset({"/v1/chat/completions", "/v1/models"})
"""Paths closed to other origins, because they start a program."""
STATUS: Final[Mapping[int, tuple[str, ...]]] = {
    400: ("INVALID_PATH", "ABSOLUTE_PATH", "PATH_TRAVERSAL", "PATH_TOO_LONG"),
    403: (
        "SYMLINK_NOT_ALLOWED", "SYMLINK_ESCAPE", "PERMISSION_DENIED", "APPROVAL_REQUIRED", "APPROVAL_DENIED",
        "TOOL_BLOCKED", "PATH_HIDDEN", "HARD_LINKED",
    ),
    404: (
        "FILE_NOT_FOUND", "DIR_NOT_FOUND", "VERSION_GONE", "BUFFER_CLOSED", "UNKNOWN_TOOL", "FD_NOT_FOUND", "FD_EXPIRED",
        "PROJECT_NOT_FOUND",
        "RUN_NOT_FOUND",
    ),
    409: (
        "FILE_EXISTS", "IS_A_DIRECTORY", "NOT_A_DIRECTORY", "NOT_A_REGULAR_FILE", "DIR_NOT_EMPTY", "EDIT_CONFLICT",
        "EDIT_NOT_FOUND", "EDIT_AMBIGUOUS", "ABORTED", "VERSION_MISMATCH", "CHANGED_MEANWHILE", "RESYNC",
        "PROJECT_EXISTS", "NOT_A_REPOSITORY",
    ),
    413: ("FILE_TOO_LARGE",),
    422: ("INVALID_ARGUMENT", "ENCODING_ERROR", "FD_INVALID_PAGE", "FD_INVALID_RANGE"),
    423: ("LOCK_TIMEOUT", "FILE_BUSY"),
    429: ("RATE_LIMITED", "TOO_MANY_RUNS"),
    500: ("INTERNAL", "FD_READ_ERROR", "GIT_FAILED"),
    502: ("AGENT_FAILED",),
    503: (
        "SYNC_FAILED", "NETWORK_ERROR", "WORKSPACE_GONE", "STATE_DAMAGED", "STATE_VERSION", "STATE_ELSEWHERE",
        "STATE_UNTRUSTED", "GIT_NOT_FOUND",
    ),
    504: ("TIMEOUT",),
    507: ("DISK_FULL",),
}  # fmt: skip
"""The codes of each status."""
_STATUS_OF: Final = {code: status for status, codes in STATUS.items() for code in codes}
_USUAL_RETRY_SECONDS: Final = 5
_MEMBERS: Final[tuple[str, ...]] = ("retryable", "suggested_action", "details")
TITLES: Final[Mapping[int, str]] = {
    400: "Bad request", 401: "Unauthorized", 403: "Forbidden", 404: "Not found", 405: "Method not allowed",
    408: "Request timeout", 409: "Conflict", 411: "Length required", 412: "Precondition failed",
    413: "Content too large", 415: "Unsupported media type", 416: "Range not satisfiable",
    421: "Misdirected request", 422: "Unprocessable content", 423: "Locked", 429: "Too many requests",
    431: "Request header fields too large", 500: "Internal error", 502: "Bad gateway", 503: "Unavailable", 504: "Timeout",
    507: "Insufficient storage",
}  # fmt: skip
_POLICY_VIOLATION: Final = 1008
_WITH_ANSWER: Final = "websocket.http.response"
_KNOWN: Final = {
    404: ("NO_SUCH_ROUTE", "There is no such route; /openapi.json describes all"),
    405: ("METHOD_NOT_ALLOWED", "The route does not take this method; the header Allow names those that it takes"),
}


@dataclass(eq=False)
class Refusal(Exception):  # noqa: N818 - it is the answer to a request, not a failure of ours
    """One error to send to a client; raised when the protocol layer refuses a request, before any file tool is called."""

    status: int
    code: str
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further members of the JSON object."""

    def response(self, scope: Scope) -> Response:
        """Return the response to a request, in OpenAI's format if the request is for the agent."""
        if scope["path"] in AGENT_PATHS:
            # Clients retry by default, and a failed agent would do its work twice.
            once = {"x-should-retry": "false"} if self.status >= 500 else {}
            return Response(json.dumps(self.openai()), self.status, {**self.headers, **once}, "application/json")
        title = TITLES.get(self.status, "Error")
        plain = {"title": title, "status": self.status, "detail": self.detail, "code": self.code, **self.more}
        body = json.dumps(plain, ensure_ascii=True, separators=(",", ":"))
        return Response(body, self.status, dict(self.headers), MEDIA_TYPE)

    def openai(self) -> dict[str, Any]:
        """Return the error in OpenAI's format."""
        is_limit, is_ours = self.status == 429, self.status >= 500
        kind = "rate_limit_error" if is_limit else "server_error" if is_ours else "invalid_request_error"
        param = self.more.get("details", {}).get("param")
        return {"error": {"message": self.detail, "type": kind, "param": param, "code": self.code.lower()}}


def problem_of(error: FileToolsError) -> Refusal:
    """Return the problem for an error of a file tool."""
    envelope: dict[str, Any] = failure_envelope(error)
    cause = error.details.get("cause") if error.code == "BATCH_FAILED" else error.code
    status = _STATUS_OF.get(str(cause), 500)
    headers = {}
    if error.retryable and status in (423, 429, 503):
        headers["Retry-After"] = str(1 if error.code == "RATE_LIMITED" else _USUAL_RETRY_SECONDS)
    more = {name: envelope[name] for name in _MEMBERS if name in envelope}
    return Refusal(status, error.code, error.message, headers, more)


def adding(send: Send, headers: Sequence[tuple[bytes, bytes]]) -> Send:
    """Wrap `send` to add headers to each response."""

    async def send_more(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            message["headers"] = [*message.get("headers", ()), *headers]
        await send(message)

    return send_more


async def refuse(problem: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or the opening of a WebSocket, with a problem."""
    if scope["type"] == "websocket":
        await receive()  # websocket.connect
        if _WITH_ANSWER not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": problem.code})
            return
    await problem.response(scope)(scope, receive, send)


def answer_failures(application: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Make an application answer every failure with a problem; `routers` must be all of its routers."""
    application.state.routers = routers
    for kind in (FileToolsError, Refusal, RequestValidationError, HTTPException, ClientDisconnect, Exception):
        application.add_exception_handler(kind, _answered)


async def _answered(request: Request, error: Exception) -> Response:
    return _problem_for(request, error).response(request.scope)


def _problem_for(request: Request, error: Exception) -> Refusal:
    match error:
        case FileToolsError():
            return problem_of(error)
        case Refusal():
            return error
        case ClientDisconnect():
            return Refusal(400, "ABORTED", "The client has disconnected")
        case RequestValidationError():
            return problem_of(refusal_of([{**each, "loc": _named(each["loc"])} for each in error.errors()]))
        case HTTPException():
            headers = dict(error.headers or {})
            if error.status_code == 405:
                headers["Allow"] = ", ".join(_methods(request)) or "GET, HEAD"  # a file of the page
            code, detail = _KNOWN.get(error.status_code, ("INVALID_ARGUMENT", error.detail))
            return Refusal(error.status_code, code, detail, headers)
        case _:
            sentence = "The request failed unexpectedly; see the log of the server"
            return problem_of(InternalError(sentence))


def _named(location: Sequence[int | str]) -> Sequence[int | str]:
    """Return the parts of a location that callers write: not the first, and of an operation not the kind, which `op` says."""
    return (*location[1:3], *location[4:]) if location[1:2] == ("operations",) else location[1:]


def _methods(request: Request) -> list[str]:
    """Return the methods allowed for a path; the framework names only those of the first matching route."""
    routers: Sequence[APIRouter] = request.app.state.routers
    routes = (route for router in routers for route in router.routes if isinstance(route, Route))
    fitting = (route for route in routes if route.path_regex.match(request.scope["path"]))
    return sorted({method for route in fitting for method in route.methods or ()})
