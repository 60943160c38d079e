"""The route to descriptors: the whole text that one stands for, or a range of its bytes."""

from __future__ import annotations

import hashlib
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from filetools.servers.http.conditions import conditions_of, etag
from filetools.servers.http.described import BINARY, failures
from filetools.servers.http.file_answers import HARMLESS
from filetools.servers.http.ranges import asked_part
from filetools.servers.http.shared import Calling

router: Final = APIRouter(tags=["descriptors"])


@router.get("/v1/fds/{fd}", response_class=Response, responses=failures(304, 404, 416) | BINARY)
async def get_descriptor(request: Request, fd: str, caller: Calling) -> Response:
    """Return the text of a descriptor of the caller in UTF-8, or one range of its bytes."""
    text = await caller.descriptors.run(lambda known: known.text(fd).text)
    content = text.encode("utf-8", "surrogatepass")
    version = f"sha256:{hashlib.sha256(content).hexdigest()}"
    headers = {"ETag": etag(version), "Accept-Ranges": "bytes", "Cache-Control": "no-cache", **HARMLESS}
    if conditions_of(request).is_unmodified(version):
        return Response(status_code=304, headers=headers)
    part = asked_part(request, version, len(content))
    if part is not None:
        headers["Content-Range"] = part.content_range
        content = content[part.offset : part.offset + part.count]
    return Response(content, 200 if part is None else 206, headers, "text/plain; charset=utf-8")
