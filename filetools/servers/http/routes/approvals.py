"""Routes to what waits for a person."""

from __future__ import annotations

from typing import Any, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel

from filetools.servers.http.described import failures
from filetools.servers.http.live import asked
from filetools.servers.http.operations import Sent
from filetools.servers.http.shared import Calling

router: Final = APIRouter(tags=["approvals"])


class ApprovalsPage(BaseModel):
    """What `GET /v1/approvals` returns."""

    approvals: list[dict[str, Any]]
    """Requests that are open, oldest first."""


class Answered(BaseModel):
    """What `POST /v1/approvals/{id}` returns."""

    id: str
    answer: str


class Answer(Sent):
    """What a person says."""

    answer: Literal["allow", "allow_for_run", "deny", "merge", "cancel"]
    edited_text: str | None = None
    """With "merge": the whole text that shall be written instead."""


@router.get("/v1/approvals", responses=failures())
async def approvals(caller: Calling) -> ApprovalsPage:
    """Return what waits for a person's answer, in whatever process it was asked."""
    return ApprovalsPage(approvals=[asked(request) for request in await caller.files.approvals()])


@router.post("/v1/approvals/{approval_id}", responses=failures())
async def answer_approval(caller: Calling, approval_id: str, answer: Answer) -> Answered:
    """Answer a request. Only who has logged in may; a token of an agent never does."""
    await caller.files.answer_approval(approval_id, answer.answer, edited_text=answer.edited_text)
    return Answered(id=approval_id, answer=answer.answer)
