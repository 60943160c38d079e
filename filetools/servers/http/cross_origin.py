"""Pages of other origins that the operator lets in: what browsers ask before these call, and what they let them read.

Source: the Fetch standard, "CORS protocol" (https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

from __future__ import annotations

import re
from typing import Final

from fastapi.responses import Response
from pydantic_core import Url

from filetools.errors import InvalidArgumentError
from filetools.servers.http.asgi import Message, Scope, Send, header_values

_WRITTEN: Final = re.compile(r"https?://[^\s/?#@*\\]+", re.IGNORECASE)
_METHODS: Final = "GET, HEAD, PUT, PATCH, DELETE, POST"
_READABLE: Final = (
    "ETag, Location, Accept-Ranges, Content-Range, Accept-Patch, Allow, Retry-After, WWW-Authenticate, Filetools-Call,"
    " Mcp-Session-Id"
)
"""Headers of answers that scripts may read, beside those that they always may."""
_ASKED_AGAIN_SECONDS: Final = 600


def origin_of(given: str) -> str:
    """Return an origin as browsers send it.

    Args:
        given: Scheme `http` or `https`, host and perhaps port.

    Raises:
        InvalidArgumentError: It is anything else, such as `*` or `null`, which stand for anybody, or has a path.
    """
    try:
        if _WRITTEN.fullmatch(given):
            # The parser of the URL standard: letter case, letters beyond ASCII and the usual port as browsers have them.
            return str(Url(given)).removesuffix("/")
    except ValueError:
        pass
    raise InvalidArgumentError(
        f"{given!r} is not one origin",
        suggested_action="Name each as browsers do, by scheme, host and port alone: 'https://editor.example' or"
        " 'http://localhost:3000'. No path, no wildcard, no 'null'.",
    )


def asks_first(scope: Scope) -> bool:
    """Whether a browser asks what a page may send, before it sends that; without token and login, so that none is needed."""
    is_options = scope["type"] == "http" and scope["method"] == "OPTIONS"
    return is_options and bool(header_values(scope, b"access-control-request-method"))


def permission(scope: Scope) -> Response:
    """Return the answer to that: whatever the server understands; who may do it is decided when it comes."""
    headers = {"Access-Control-Allow-Methods": _METHODS, "Access-Control-Max-Age": str(_ASKED_AGAIN_SECONDS)}
    # As they were asked for: MCP makes a header of every parameter that a tool marks, and "*" is nothing beside credentials.
    if asked := ", ".join(header_values(scope, b"access-control-request-headers")):
        headers["Access-Control-Allow-Headers"] = asked
    return Response(None, 204, headers)


def readable(send: Send, origin: str | None) -> Send:
    """Return what sends answers so that pages may read them.

    Args:
        send: What sends them.
        origin: Origin of the page, which has been let in; None says to caches only that others get other answers.
    """
    added = [(b"vary", b"Origin")]
    if origin is not None:
        added += [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-credentials", b"true"),
            (b"access-control-expose-headers", _READABLE.encode("latin-1")),
        ]

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *added]
        await send(message)

    return send_readable
