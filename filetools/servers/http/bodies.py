"""What a client may send: bodies that are too large or too slow are refused before a route sees them.

Every body is taken in whole first, so that no route meets a half one; but that of a PUT, which is passed on as it comes.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from filetools.servers.http.options import HttpLimits
from filetools.servers.http.problems import Refusal, refuse
from filetools.servers.http.security import only_header

STREAMED: Final = ("PUT", "/v1/files/")
"""Method and beginning of the path of requests whose bodies are passed on as they come."""
_CLOSE: Final = {"Connection": "close"}


class Bodies:
    """Takes bodies in within the limits; lives as long as the server.

    Args:
        application: What gets the requests.
        limits: How much, and how slowly.
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
        is_streamed = scope["method"] == STREAMED[0] and scope["path"].startswith(STREAMED[1])
        most = self._limits.upload_bytes if is_streamed else self._limits.body_bytes
        arriving = _Arriving(receive, self._limits, most)
        body = bytearray()
        try:
            _refuse_length(scope, most)
            incoming = arriving.receive if is_streamed else await self._taken_in(scope, arriving, body)
        except Refusal as refusal:
            await refuse(refusal.problem, scope, receive, send)
        else:
            await self._application(scope, incoming, send)
        finally:
            self._held_bytes -= len(body)

    async def _taken_in(self, scope: Scope, arriving: _Arriving, body: bytearray) -> Receive:
        """The body whole, to be received at once; then what comes after it."""
        while True:
            message = await arriving.receive()
            if message["type"] != "http.request":
                return _again([message], arriving.receive)
            body += message.get("body", b"")
            self._held_bytes += len(message.get("body", b""))
            if self._held_bytes > self._limits.held_bytes:
                raise Refusal(429, "RATE_LIMITED", "Too many bodies at once", {"Retry-After": "1", **_CLOSE})
            if not message.get("more_body", False):
                break
        whole: Message = {"type": "http.request", "body": bytes(body), "more_body": False}
        return _again([whole], arriving.receive)


class _Arriving:
    """One body on its way; raises where it breaks a limit."""

    def __init__(self, receive: Receive, limits: HttpLimits, most: int) -> None:
        self._receive = receive
        self._limits = limits
        self._most = most
        self._count = 0
        self._is_whole = False
        self._started: float | None = None

    async def receive(self) -> Message:
        """Return the next part.

        Raises:
            Refusal: There is too much of it, or it comes too slowly.
        """
        if self._is_whole:
            return await self._receive()
        now = time.monotonic()
        self._started = now if self._started is None else self._started
        allowed = self._limits.body_seconds + self._count / self._limits.bytes_per_second
        try:
            async with asyncio.timeout(max(0.0, self._started + allowed - now)):
                message = await self._receive()
        except TimeoutError:
            raise Refusal(408, "TOO_SLOW", "The body came too slowly", _CLOSE) from None
        self._count += len(message.get("body", b""))
        if self._count > self._most:
            raise _too_large(self._most)
        self._is_whole = not message.get("more_body", False)
        return message


def _again(messages: list[Message], receive: Receive) -> Receive:
    async def received() -> Message:
        return messages.pop(0) if messages else await receive()

    return received


def _refuse_length(scope: Scope, most: int) -> None:
    """Refuse a body that is announced as too large, before any of it is taken."""
    length = only_header(scope, b"content-length")
    if length is not None and length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > most):
        raise _too_large(most)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "FILE_TOO_LARGE", f"The body is over the limit of {most} bytes", _CLOSE)
