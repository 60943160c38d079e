"""Answers with the bytes of a file: from one open file, as fast as the client reads, and nothing of them run by a browser."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Final

from fastapi import Request
from fastapi.responses import Response

from filetools.facade.body_calls import OpenedFile
from filetools.servers.http.asgi import Receive, Scope, Send
from filetools.servers.http.conditions import etag
from filetools.servers.http.ranges import Part

_UNKNOWN_TYPE: Final = "application/octet-stream"
HARMLESS: Final = {
    # A file is data of anybody's: shown by a browser, it gets no origin, runs nothing and loads nothing.
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def file_headers(file: OpenedFile) -> dict[str, str]:
    """Return what every answer about a file says of it."""
    return {"ETag": etag(file.version), "Accept-Ranges": "bytes", "Cache-Control": "no-cache", **HARMLESS}


def media_type_of(path: str) -> str:
    """Return what a file is by its name."""
    guessed, compression = mimetypes.guess_type(path)
    return _UNKNOWN_TYPE if guessed is None or compression is not None else guessed


class FileAnswer(Response):
    """A file's bytes, or a part of them; closes the file at its end.

    Args:
        request: What is answered.
        file: Held open already.
        holding: Lets go of it.
        part: Which bytes; None for all.
    """

    def __init__(self, request: Request, file: OpenedFile, holding: AsyncExitStack, part: Part | None) -> None:
        self._request = request
        self._file = file
        self._holding = holding
        self._part = part
        headers = file_headers(file) | {"Content-Length": str(file.size if part is None else part.count)}
        if part is not None:
            headers["Content-Range"] = part.content_range
        # As a header: the framework would say of each text that it is UTF-8.
        headers["Content-Type"] = media_type_of(file.path)
        super().__init__(None, 200 if part is None else 206, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, as long as the client is there.

        Raises:
            ChangedMeanwhileError: Another program wrote into the file itself. Before the first part has been read that is
                an answer like any other; later only the connection can be broken off.
        """
        async with self._holding, aclosing(self._chunks(scope["method"])) as chunks:
            chunk = await anext(chunks, b"")
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while chunk:
                if await self._request.is_disconnected():
                    return
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = await anext(chunks, b"")
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _chunks(self, method: str) -> AsyncGenerator[bytes, None]:
        if method == "HEAD":
            return self._file.chunks(0, 0)
        return self._file.chunks() if self._part is None else self._file.chunks(self._part.offset, self._part.count)
