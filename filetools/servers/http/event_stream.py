"""Server-sent events, pulled one by one so that nothing is buffered for a slow client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final, TypeVar

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

EVENT_STREAM: Final = "text/event-stream"
QUIET_SECONDS: Final = 15.0
"""Idle time after which a comment is sent: it keeps proxies from closing the connection and reveals dead clients."""
_COMMENT: Final = ": \n\n"
T = TypeVar("T")


class EventStream(Response):
    """A response of server-sent events that ends when the source ends, the client disconnects, or the server stops.

    Args:
        parts: The events, made by `event_text`; always closed at the end.
        closing: Set when the server stops.
        headers: Further headers.
    """

    media_type = EVENT_STREAM

    def __init__(
        self,
        parts: AsyncGenerator[str, None],
        closing: asyncio.Event,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(None, 200, {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self._parts = parts
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await while_connected(self._send_all(send), receive, self._closing)
        with suppress(OSError):  # the client has disconnected
            await send({"type": "http.response.body", "body": b""})

    async def _send_all(self, send: Send) -> None:
        following = asyncio.create_task(self._next())
        try:
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


async def joined(first: T, others: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Yield a part that was already taken, and then the others; closes them at the end."""
    async with aclosing(others):
        yield first
        async for each in others:
            yield each


async def while_connected(work: Coroutine[Any, Any, T], receive: Receive, closing: asyncio.Event) -> T | None:
    """Return the result of `work`; if the client disconnects or the server stops first, cancel it and return None."""
    return await first_of(work, _disconnected(receive), _set(closing))


async def first_of(*works: Coroutine[Any, Any, T]) -> T:
    """Return the result of the coroutine that ends first, and cancel the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _set(event: asyncio.Event) -> None:
    await event.wait()


def event_text(name: str | None, data: Mapping[str, Any] | None, position: str | None = None) -> str:
    """Return an event in the `text/event-stream` format.

    Args:
        name: Its type; None sends only the position, which a client keeps for its next connection.
        data: Its data.
        position: Its ID, which the client sends as `Last-Event-ID` to continue after it.
    """
    lines = [*([f"event: {name}"] if name else []), *([f"id: {position}"] if position else [])]
    if data is not None:
        # One line of ASCII: names need not be valid Unicode, and a line end in a name must not end the event.
        lines.append(f"data: {json.dumps(data, ensure_ascii=True, separators=(',', ':'))}")
    return "\n".join([*lines, "", ""])
