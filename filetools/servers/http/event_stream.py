"""Answers that go on: server-sent events, pulled one by one, so that a slow reader is waited for and not written ahead of."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

EVENT_STREAM: Final = "text/event-stream"
QUIET_SECONDS: Final = 15.0
"""After so long without an event a comment is sent: proxies end what is silent, and a dead client is found out."""
_COMMENT: Final = ": \n\n"
T = TypeVar("T")


class EventStream(Response):
    """Server-sent events until there are no more, the client leaves, or the server stops.

    Args:
        parts: What is sent, made by `event_text`; closed at the end, whatever ends it.
        closing: Set when the server stops.
        headers: Further headers.
        first: What comes before the parts, at once.
    """

    media_type = EVENT_STREAM

    def __init__(
        self,
        parts: AsyncGenerator[str, None],
        closing: asyncio.Event,
        headers: Mapping[str, str] | None = None,
        *,
        first: str = "",
    ) -> None:
        super().__init__(None, 200, {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self._parts = parts
        self._closing = closing
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        await while_there(self._send_all(send), receive, self._closing)
        with suppress(OSError):  # nobody is there any more
            await send({"type": "http.response.body", "body": b""})

    async def _send_all(self, send: Send) -> None:
        following = asyncio.create_task(self._next())
        try:
            if self._first:
                await send({"type": "http.response.body", "body": self._first.encode("ascii"), "more_body": True})
            while True:
                done, _ = await asyncio.wait({following}, timeout=QUIET_SECONDS)
                text = following.result() if done else _COMMENT
                if text is None:
                    return
                await send({"type": "http.response.body", "body": text.encode("ascii"), "more_body": True})
                if done:
                    following = asyncio.create_task(self._next())
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await self._parts.aclose()

    async def _next(self) -> str | None:
        return await anext(self._parts, None)


async def while_there(work: Coroutine[Any, Any, T], receive: Receive, closing: asyncio.Event) -> T | None:
    """Return what work comes to; None if the client leaves, or the server stops, before: then the work is cancelled."""
    working = asyncio.create_task(work)
    ends = {working, asyncio.create_task(_gone(receive)), asyncio.create_task(closing.wait())}
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ends:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
    return None if working.cancelled() else working.result()


async def _gone(receive: Receive) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def event_text(name: str | None, data: Mapping[str, Any] | None, position: str | None = None) -> str:
    """Return an event as it travels.

    Args:
        name: Its type; None sends only the position, which a client keeps for its next connection.
        data: What it says.
        position: What the client sends as `Last-Event-ID` to go on after it.
    """
    lines = [*([f"event: {name}"] if name else []), *([f"id: {position}"] if position else [])]
    if data is not None:
        # One line, and escaped: names need not be Unicode, and a line end in one must not end the event.
        lines.append(f"data: {json.dumps(data, ensure_ascii=True, separators=(',', ':'))}")
    return "\n".join([*lines, "", ""])
