"""Read-only routes: list, search, grep, versions of a path, and the state of the server and the workspace."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import ConfigDict, Field

from filetools.models.files import VersionsResult
from filetools.models.searching import GrepResult, ListResult, SearchResult
from filetools.servers.http.operations import FilePath
from filetools.servers.http.shared import Calling, SharedParts
from filetools.servers.http.telemetry import MEDIA_TYPE
from filetools.tools.handlers.reading import ListFiles
from filetools.tools.handlers.searching import GrepFiles, SearchFiles

router: Final = APIRouter()
MOST_ROWS: Final = 1000
RowsQuery = Annotated[int, Field(ge=1, le=MOST_ROWS)]


class ListQuery(ListFiles):
    """Selects a page of a folder, or of the tree below it. Numbers may be text, because queries contain only text."""

    model_config = ConfigDict(strict=False)

    hidden: bool = True
    ignored: bool = True


class SearchQuery(SearchFiles):
    """Selects names. Numbers may be text, because queries contain only text."""

    model_config = ConfigDict(strict=False)


class GrepQuery(GrepFiles):
    """Selects lines. Numbers may be text, because queries contain only text."""

    model_config = ConfigDict(strict=False)


@router.get("/v1/list", tags=["searching"], response_model=ListResult)
async def list_files(query: Annotated[ListQuery, Query()], caller: Calling) -> Response:
    """Return one page of a folder, or of the tree below it: folders first, then by name."""
    page = await caller.files.list_files(
        query.path, recursive=query.recursive, limit=query.limit, cursor=query.cursor, include_hidden=query.hidden,
        use_gitignore=not query.ignored, max_depth=query.max_depth,
    )  # fmt: skip
    return JSONResponse(page.to_dict())


@router.get("/v1/search", tags=["searching"], response_model=SearchResult)
async def search_files(query: Annotated[SearchQuery, Query()], caller: Calling) -> Response:
    """Return one page of the files and folders whose path matches a pattern."""
    page = await caller.files.search_files(
        query.pattern, path=query.path, all=query.all, limit=query.limit, cursor=query.cursor
    )
    return JSONResponse(page.to_dict())


@router.get("/v1/grep", tags=["searching"], response_model=GrepResult)
async def grep_files(query: Annotated[GrepQuery, Query()], caller: Calling) -> Response:
    """Return one page of the lines that match a pattern, including unsaved text of editors."""
    options = query.model_dump(exclude={"pattern"})
    return JSONResponse((await caller.files.grep_files(query.pattern, **options)).to_dict())


@router.get("/v1/versions/{path:path}", tags=["searching"], response_model=VersionsResult)
async def versions(path: FilePath, caller: Calling, limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100) -> Response:
    """Return the recorded versions of a path, newest first; the file need not exist."""
    return JSONResponse((await caller.files.versions(path, limit=limit)).to_dict())


@router.head("/healthz", response_class=PlainTextResponse, include_in_schema=False)
@router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """Return "ok", to show that the server responds."""
    return "ok\n"


@router.get("/v1/status")
async def status(caller: Calling) -> dict[str, Any]:
    """Return the state of the workspace: position of the feed, mirrors, listeners."""
    return await caller.files.status()


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(shared: SharedParts) -> Response:
    """Return counters and gauges in the text format of Prometheus."""
    gauges = {
        "filetools_http_open_requests": ("Requests being processed.", float(shared.metrics.open_requests)),
        "filetools_live_connections": ("Open live connections.", float(len(shared.hub.members))),
        "filetools_running_calls": ("Running tool calls.", float(len(shared.log.running()))),
    }
    return Response(shared.metrics.text(gauges), media_type=MEDIA_TYPE)
