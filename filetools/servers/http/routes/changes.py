"""Routes to the feed: recorded changes as a page, or as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from filetools.facade.facade import FileToolsFacade
from filetools.facade.watching import change_entry
from filetools.models.searching import WatchResult
from filetools.servers.http.described import Described, failures
from filetools.servers.http.event_stream import MEDIA_TYPE, EventStream, event_text
from filetools.servers.http.routes.looking import MOST_ROWS, Asked, PathQuery, RowsQuery
from filetools.servers.http.shared import Calling, SharedParts

router: Final = APIRouter(tags=["changes"])
LONGEST_WAIT_SECONDS: Final = 50
_ANSWERS: Final[Described] = {
    **failures(504),
    200: {"description": "A page; or a stream of events.", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}},
}
PositionText = Annotated[str, Field(max_length=100)]


class ChangesQuery(Asked):
    """Which changes."""

    since: PositionText | None = None
    """Position after which they begin."""
    path: PathQuery = ""
    """Only those of this file, or in this folder and below."""
    limit: RowsQuery = MOST_ROWS
    wait_seconds: int = Field(default=0, ge=0, le=LONGEST_WAIT_SECONDS)
    """How long to wait for the first one; of a page."""


@router.get("/v1/changes", response_model=WatchResult, responses=_ANSWERS)
async def changes(
    asked: Annotated[ChangesQuery, Query()],
    caller: Calling,
    shared: SharedParts,
    accept: Annotated[str, Header(alias="Accept", include_in_schema=False)] = "",
    last_event_id: Annotated[PositionText | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Return changes after a position, oldest first; without one the oldest kept.

    With `Accept: text/event-stream` they come as events `change`, from now on unless `since` or `Last-Event-ID` name a
    position. `resync` says that what lies before its position is not known any more.
    """
    files = caller.files
    if MEDIA_TYPE in accept:
        position = last_event_id or asked.since or await files.position()
        await files.watch_changes(position, path=asked.path, limit=1)  # refuses what is no position, and no path
        return EventStream(_told(files, position, asked.path), shared.closing)
    start = asked.since or f"{(await files.position()).partition(':')[0]}:0"
    page = await files.watch_changes(start, path=asked.path, limit=asked.limit, wait_seconds=asked.wait_seconds)
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
