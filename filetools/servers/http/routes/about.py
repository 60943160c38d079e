"""Routes about the server itself: whether it lives, what it has done, and the state of the workspace."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from filetools.servers.http.metrics import MEDIA_TYPE
from filetools.servers.http.shared import Calling, SharedParts

router: Final = APIRouter()


@router.head("/healthz", response_class=PlainTextResponse, include_in_schema=False)
@router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """Tell that the server answers."""
    return "ok\n"


@router.get("/v1/status")
async def status(caller: Calling) -> dict[str, Any]:
    """Return the state of the workspace: position of the feed, mirror, keeper, listeners."""
    return await caller.files.status()


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(shared: SharedParts) -> Response:
    """Return counts and gauges in the text form that Prometheus reads."""
    gauges = {
        "filetools_http_open_requests": ("Requests being answered.", float(shared.metrics.open_requests)),
        "filetools_live_connections": ("Connections to what is live.", float(shared.hub.members)),
        "filetools_running_calls": ("Calls of tools under way.", float(len(shared.log.running()))),
    }
    return Response(shared.metrics.text(gauges), media_type=MEDIA_TYPE)
