"""Routes to the feed: recorded changes as a page, or as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response

from filetools.app import FileToolsFacade, change_entry
from filetools.models import WatchResult
from filetools.servers.http.event_stream import MEDIA_TYPE, EventStream, event_text
from filetools.servers.http.shared import Calling, SharedParts

router: Final = APIRouter()
LONGEST_WAIT_SECONDS: Final = 50
MOST_CHANGES: Final = 1000
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {MEDIA_TYPE: {}}, "description": "A page, or a stream of events", "model": WatchResult}
}


@router.get("/v1/changes", responses=_STREAM, response_model=None)
async def changes(
    caller: Calling,
    shared: SharedParts,
    since: Annotated[str | None, Query(max_length=100)] = None,
    path: Annotated[str, Query()] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_CHANGES)] = MOST_CHANGES,
    wait_seconds: Annotated[int, Query(ge=0, le=LONGEST_WAIT_SECONDS)] = 0,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> Response:
    """Return changes after a position, oldest first; without one the oldest kept.

    With `Accept: text/event-stream` they come as events `change`, from now on unless `since` or `Last-Event-ID` name a
    position. `resync` says that what lies before its position is not known any more.
    """
    files = caller.files
    if MEDIA_TYPE in accept:
        position = last_event_id or since or await files.position()
        await files.watch_changes(position, path=path, limit=1)  # refuses what is no position, and no path
        return EventStream(_told(files, position, path), shared.closing)
    start = since or f"{(await files.position()).partition(':')[0]}:0"
    page = await files.watch_changes(start, path=path, limit=limit, wait_seconds=wait_seconds)
    return JSONResponse(page.to_dict())


async def _told(files: FileToolsFacade, since: str, path: str) -> AsyncGenerator[str, None]:
    yield event_text(None, None, since)  # who is cut off before the first event goes on from here
    async for page in files.follow_pages(since, path=path):
        if page.resync:
            yield event_text("resync", {"position": page.position}, page.position)
        epoch = page.position.partition(":")[0]
        for record in page.records:
            entry: dict[str, Any] = change_entry(record).to_dict()
            yield event_text("change", entry, f"{epoch}:{record.number}")
