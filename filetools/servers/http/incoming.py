"""Bodies as routes read them; a client that goes away in the middle is no failure of anybody."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import Request

from filetools.servers.http.problems import Refusal


async def body_parts(request: Request) -> AsyncIterator[bytes]:
    """Yield the body as it comes.

    Raises:
        Refusal: It breaks a limit, or the client has gone, who then gets no answer.
    """
    more = True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise Refusal(400, "ABORTED", "The client has gone")
        more = message.get("more_body", False)
        if part := message.get("body", b""):
            yield part


async def whole_body(request: Request) -> bytes:
    """Return the body.

    Raises:
        Refusal: The client has gone.
    """
    return b"".join([part async for part in body_parts(request)])
