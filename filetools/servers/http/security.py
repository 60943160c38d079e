"""The guard: checks every request before it is routed, and refuses those that must not be served.

It also refuses bodies that are too large or too slow. Each body is read completely first, so that no route sees a partial
one; only the body of a PUT is streamed.

Access for pages of other allowed origins follows the Fetch standard, "CORS protocol"
(https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from typing import Final

from fastapi import Request
from fastapi.responses import Response
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from filetools.servers.http.editor_page import ASSETS
from filetools.servers.http.options import Hosts, HttpLimits, HttpOptions
from filetools.servers.http.problems import AGENT_PATHS, Refusal, adding, refuse
from filetools.servers.http.shared import LOGIN, SESSION_HEADER, Logins

OPEN_PATHS: Final = frozenset({"/healthz", "/login", "/about"})
"""Paths that need neither token nor login, only the right host."""
LOGIN_HEADER: Final = "filetools-login"
LIVE_PROTOCOL: Final = "filetools-live"
"""Subprotocol of our WebSockets. A browser that offers a key offers this as well; the server selects only this one."""
LOGIN_PROTOCOL: Final = "filetools-login."
"""Prefix of the key in an offered subprotocol."""
TOKEN_PROTOCOL: Final = "filetools-token."  # noqa: S105 - only the prefix
"""Prefix of the token in an offered subprotocol: pages cannot set headers on WebSockets."""
_MAY_SEND: Final = {
    "Access-Control-Allow-Methods": "GET, HEAD, PUT, PATCH, DELETE, POST",
    "Access-Control-Max-Age": "600",
}
_MAY_READ: Final = (
    b"ETag, Location, Accept-Ranges, Content-Range, Accept-Patch, Allow, Retry-After, WWW-Authenticate, Filetools-Call,"
    b" Mcp-Session-Id"
)
"""Response headers that scripts may read, in addition to the CORS-safelisted ones."""
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_SESSION: Final = re.compile(r"[!-~]{1,120}")
_JSON: Final = re.compile(r"application/(?:[!-:<-~]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_OWN_SITES: Final = frozenset({"same-origin", "none"})


def only_header(scope: Scope, name: str) -> str | None:
    """Return the value of a header that may appear once; None if it is missing or repeated."""
    values = Headers(scope=scope).getlist(name)
    return values[0].strip() if len(values) == 1 else None


def cookie_name(port: int) -> str:
    """Return the name of a login's cookie. It contains the port, because browsers share cookies between ports of a host."""
    return f"filetools_{port}"


def _require_one_length(scope: Scope) -> None:
    """Refuse a body with two length headers: a proxy may use the other one and see different requests (smuggling)."""
    headers = Headers(scope=scope)
    if "content-length" in headers and "transfer-encoding" in headers:
        reason = "Content-Length and Transfer-Encoding must not be combined"
        raise Refusal(400, "MALFORMED_REQUEST", reason, {"Connection": "close"})


def _require_json(scope: Scope) -> None:
    """Refuse a POST body that is not declared as JSON: foreign pages can send other types without a preflight request."""
    is_post = scope["type"] == "http" and scope["method"] == "POST"
    headers = Headers(scope=scope)
    has_body = "transfer-encoding" in headers or headers.getlist("content-length") not in ([], ["0"])
    if is_post and has_body and not _JSON.fullmatch(only_header(scope, "content-type") or ""):
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "Send JSON: 'Content-Type: application/json'")


def _offered(scope: Scope, prefix: str) -> list[str]:
    """Return the offered subprotocols that start with a prefix, without the prefix."""
    return [name.removeprefix(prefix) for name in scope.get("subprotocols", ()) if name.startswith(prefix)]


def login_key(scope: Scope) -> str | None:
    """Return the login key of a request, from a header or, for WebSockets, from a subprotocol."""
    sent = Headers(scope=scope).getlist(LOGIN_HEADER) + _offered(scope, LOGIN_PROTOCOL)
    # Two keys count as invalid: the empty key belongs to no login.
    return None if not sent else sent[0].strip() if len(sent) == 1 else ""


def wants_page(scope: Scope) -> bool:
    """Return True if the request accepts HTML, as browsers do when an address is opened."""
    return any("text/html" in value.lower() for value in Headers(scope=scope).getlist("accept"))


def _is_open(scope: Scope) -> bool:
    """Return True if the request is public. The front page is public as HTML, which contains no names, but not as JSON."""
    return scope["path"] in OPEN_PATHS or (scope["path"] == "/" and scope["type"] == "http" and wants_page(scope))


class Guard:
    """Admits or refuses requests, and records the login of admitted ones.

    Args:
        application: Receives the admitted requests.
        options: The server's address, names, origins and token.
        logins: The current logins.
    """

    def __init__(self, application: ASGIApp, options: HttpOptions, logins: Logins) -> None:
        self._application = application
        self._hosts = Hosts(options)
        self._options = options
        self._logins = logins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if self._options.origins and scope["type"] == "http":
            send = _readable(send, self._allowed_origin(scope))
        try:
            scope[LOGIN] = self._admit(scope)
        except Refusal as refusal:
            await refuse(refusal, scope, receive, send)
            return
        answering = _preflight_response(scope) if self._is_preflight(scope) else self._application
        await answering(scope, receive, send)

    def _allowed_origin(self, scope: Scope) -> str | None:
        origin = only_header(scope, "origin")
        return origin if origin in self._options.origins and scope["path"] not in AGENT_PATHS else None

    def _is_preflight(self, scope: Scope) -> bool:
        """Return True for a CORS preflight request, which browsers send without token and login."""
        if scope["type"] != "http" or scope["method"] != "OPTIONS" or self._allowed_origin(scope) is None:
            return False
        return "access-control-request-method" in Headers(scope=scope)

    def _admit(self, scope: Scope) -> str | None:
        """Return the login ID of an admitted request, or None for callers without a login; raise `Refusal` otherwise."""
        # The parser's own limit only counts incomplete data.
        sent, most = len(scope["raw_path"]) + len(scope["query_string"]), self._options.limits.header_bytes
        if sent + sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > most:
            raise Refusal(431, "HEADERS_TOO_LARGE", f"More than {most} bytes of headers")
        host = only_header(scope, "host")
        if not self._hosts.is_own_host(host, scope):
            raise Refusal(
                421, "WRONG_HOST", "This server does not have that host name; use the address that it printed"
            )
        _require_one_length(scope)
        _require_json(scope)
        sessions = Headers(scope=scope).getlist(SESSION_HEADER)
        if sessions and not (len(sessions) == 1 and _SESSION.fullmatch(sessions[0])):
            # Truncating or cleaning the name could merge two sessions.
            raise Refusal(422, "INVALID_ARGUMENT", "Filetools-Session must be 1 to 120 visible ASCII characters")
        origin = self._known_origin(scope, host)
        if self._is_preflight(scope):
            return None
        if (key := login_key(scope)) is not None:
            return self._required_login(scope, key, origin)
        if not (_is_open(scope) or scope["path"].startswith(f"{ASSETS}/")):
            self._require_token(scope)
        return None

    def _known_origin(self, scope: Scope, host: str | None) -> str | None:
        """Return the request's origin, if any. Refuse foreign pages, and requests that such a page embeds."""
        if (allowed := self._allowed_origin(scope)) is not None:
            return allowed
        origins = Headers(scope=scope).getlist("origin")
        if origins and not (len(origins) == 1 and self._hosts.is_own_origin(origins[0], host, scope)):
            raise Refusal(403, "WRONG_ORIGIN", "Pages of other origins may not call this server")
        is_harmless = _is_open(scope) and scope.get("method") in _SAFE_METHODS
        if not is_harmless and set(Headers(scope=scope).getlist("sec-fetch-site")) - _OWN_SITES:
            raise Refusal(403, "WRONG_ORIGIN", "Pages of other sites may not call this server")
        return origins[0] if origins else None

    def _required_login(self, scope: Scope, key: str, origin: str | None) -> str:
        # Browsers omit the origin only on same-origin GET and HEAD requests.
        if origin is None and (scope["type"] != "http" or scope["method"] not in _SAFE_METHODS):
            raise Refusal(403, "WRONG_ORIGIN", "A login is valid only for requests that name their origin")
        secret = HTTPConnection(scope).cookies.get(cookie_name(self._options.port))
        login = None if secret is None else self._logins.login_of(secret, key, origin)
        if login is None:
            # Do not fall back to the agent: a person's actions must not be attributed to another actor.
            raise Refusal(401, "LOGIN_OVER", "The login has ended, or its cookie and its key do not match")
        return login

    def _require_token(self, scope: Scope) -> None:
        scheme, _, given = (only_header(scope, "authorization") or "").partition(" ")
        if len(offered := _offered(scope, TOKEN_PROTOCOL)) == 1:
            scheme, given = "bearer", offered[0]
        is_right = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self._options.token.encode("utf-8"))
        if scheme.lower() != "bearer" or not is_right:
            headers = {"WWW-Authenticate": 'Bearer realm="filetools"'}
            raise Refusal(401, "TOKEN_REQUIRED", "Send the token: 'Authorization: Bearer …'", headers)


def _preflight_response(scope: Scope) -> Response:
    """Return the response to a CORS preflight request; the request itself is checked when it arrives."""
    # Echo the requested headers: MCP derives header names from parameters, and "*" is ignored with credentials.
    requested = ", ".join(Headers(scope=scope).getlist("access-control-request-headers"))
    return Response(None, 204, _MAY_SEND | ({"Access-Control-Allow-Headers": requested} if requested else {}))


def _readable(send: Send, origin: str | None) -> Send:
    """Wrap `send` so that pages of an origin may read the responses. None only adds `Vary`, for caches."""
    added = [(b"vary", b"Origin")]
    if origin is not None:
        added.append((b"access-control-allow-origin", origin.encode("latin-1")))
        added += [(b"access-control-allow-credentials", b"true"), (b"access-control-expose-headers", _MAY_READ)]
    return adding(send, added)


_CLOSE: Final = {"Connection": "close"}


class Bodies:
    """Reads request bodies within the limits.

    Args:
        application: Receives the requests.
        limits: Limits on size and speed.
    """

    def __init__(self, application: ASGIApp, limits: HttpLimits) -> None:
        self._application = application
        self._limits = limits
        self._held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse its body."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        is_streamed = scope["method"] == "PUT" and scope["path"].startswith("/v1/files/")
        most = self._limits.upload_bytes if is_streamed else self._limits.body_bytes
        limited = _limited(receive, self._limits, most)
        body = bytearray()
        try:
            _refuse_length(scope, most)
            incoming = limited if is_streamed else await self._read_whole(scope, limited, body)
        except Refusal as refusal:
            await refuse(refusal, scope, receive, send)
        except ClientDisconnect:
            pass  # nobody reads a response
        else:
            await self._application(scope, incoming, send)
        finally:
            self._held_bytes -= len(body)

    async def _read_whole(self, scope: Scope, limited: Receive, body: bytearray) -> Receive:
        """Read the whole body. Return a `receive` that yields it as one message, then the later messages."""
        async for part in Request(scope, limited).stream():
            body += part
            self._held_bytes += len(part)
            if self._held_bytes > self._limits.held_bytes:
                raise Refusal(
                    429, "RATE_LIMITED", "Too many request bodies at the same time", {"Retry-After": "1", **_CLOSE}
                )
        messages = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replayed() -> Message:
            return messages.pop() if messages else await limited()

        return replayed


def _limited(receive: Receive, limits: HttpLimits, most: int) -> Receive:
    """Return a `receive` for one body, which raises `Refusal` if the body is too large or too slow."""
    started, count, is_whole = time.monotonic(), 0, False

    async def received() -> Message:
        nonlocal count, is_whole
        if is_whole:
            return await receive()
        allowed = started + limits.body_seconds + count / limits.bytes_per_second - time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, allowed)):
                message = await receive()
        except TimeoutError:
            raise Refusal(408, "TOO_SLOW", "The body arrived too slowly", _CLOSE) from None
        count += len(message.get("body", b""))
        if count > most:
            raise _too_large(most)
        is_whole = not message.get("more_body", False)
        return message

    return received


def _refuse_length(scope: Scope, most: int) -> None:
    """Refuse a body whose announced length is too large, before reading any of it."""
    length = only_header(scope, "content-length")
    if length is not None and length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > most):
        raise _too_large(most)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "FILE_TOO_LARGE", f"The body is over the limit of {most} bytes", _CLOSE)
