"""Routes to the state of the server and of the workspace: health, metrics, status, and what waits for a person."""

from __future__ import annotations

from typing import Any, Final, Literal

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel

from filetools.servers.http.live.frames import asked
from filetools.servers.http.openapi import failures
from filetools.servers.http.operations import StrictModel
from filetools.servers.http.shared import Calling, SharedParts
from filetools.servers.http.telemetry import MEDIA_TYPE

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


class ApprovalsPage(BaseModel):
    """What `GET /v1/approvals` returns."""

    approvals: list[dict[str, Any]]
    """Requests that are open, oldest first."""


class Answered(BaseModel):
    """What `POST /v1/approvals/{id}` returns."""

    id: str
    answer: str


class ApprovalAnswer(StrictModel):
    """What a person says."""

    answer: Literal["allow", "allow_for_run", "deny", "merge", "cancel"]
    edited_text: str | None = None
    """With "merge": the whole text that shall be written instead."""


@router.get("/v1/approvals", tags=["approvals"], responses=failures())
async def approvals(caller: Calling) -> ApprovalsPage:
    """Return what waits for a person's answer, in whatever process it was asked."""
    return ApprovalsPage(approvals=[asked(request) for request in await caller.files.approvals()])


@router.post("/v1/approvals/{approval_id}", tags=["approvals"], responses=failures())
async def answer_approval(caller: Calling, approval_id: str, answer: ApprovalAnswer) -> Answered:
    """ApprovalAnswer a request. Only who has logged in may; a token of an agent never does."""
    await caller.files.answer_approval(approval_id, answer.answer, edited_text=answer.edited_text)
    return Answered(id=approval_id, answer=answer.answer)
