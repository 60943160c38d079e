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
_MAY_SEND: Final = {
    "Access-Control-Allow-Methods": "GET, HEAD, PUT, PATCH, DELETE, POST",
    "Access-Control-Max-Age": "600",
}
_MAY_READ: Final = (
    b"ETag, Location, Accept-Ranges, Content-Range, Accept-Patch, Allow, Retry-After, WWW-Authenticate, Filetools-Call,"
    b" Mcp-Session-Id"
)
"""Headers of answers that scripts may read, beside those that they always may."""


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


def permission(scope: Scope) -> Response:
    """Return what a browser is told that asks what a page may send; whether it may do that is decided when it comes."""
    # As they were asked for: MCP makes headers of parameters, of any name, and "*" counts for nothing with credentials.
    asked = ", ".join(header_values(scope, b"access-control-request-headers"))
    return Response(None, 204, _MAY_SEND | ({"Access-Control-Allow-Headers": asked} if asked else {}))


def readable(send: Send, origin: str | None) -> Send:
    """Return what sends answers so that the pages of an origin may read them; None only tells caches that others may."""
    added = [(b"vary", b"Origin")]
    if origin is not None:
        added.append((b"access-control-allow-origin", origin.encode("latin-1")))
        added += [(b"access-control-allow-credentials", b"true"), (b"access-control-expose-headers", _MAY_READ)]

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *added]
        await send(message)

    return send_readable
