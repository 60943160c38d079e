"""What the server sends: one JSON object a frame."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from filetools.errors import FileToolsError
from filetools.permissions.requests import ApprovalRequest
from filetools.tools.envelope import failure_envelope

PROTOCOL: Final = 1


class ServerFrame(BaseModel):
    """Base of the frames that the server sends; fields that are None are left out."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def asked(request: ApprovalRequest) -> dict[str, Any]:
    """Return an open request with the seconds that are left to answer it, for clients whose clocks are wrong."""
    return request.to_dict() | {"seconds_left": max(0.0, request.expires - time.time())}


class Snapshot(ServerFrame):
    """How things stand, where events tell how they change."""

    documents: list[dict[str, Any]]
    """What editors have open: path, dirty, buffer_version, editors."""
    locks: list[dict[str, Any]]
    """What calls through this server hold: path, owner, since."""
    approvals: list[dict[str, Any]]
    """What waits for a person."""
    runs: list[dict[str, Any]]
    """Calls of tools that run in this server."""
    mirror: dict[str, dict[str, Any]]
    """State of each mirror, by its name: state, behind, last_error."""


class Welcome(Snapshot):
    """Answers hello."""

    type: Literal["welcome"] = "welcome"
    id: str | int | None = None
    protocol: int = PROTOCOL
    position: str
    """Events that follow come after it."""
    actor: dict[str, Any]
    """Who the client is: kind, id, session."""
    can_answer: bool
    """Whether it may answer approvals."""
    lease_seconds: float
    """How long handles outlive the connection."""


class EventFrame(BaseModel):
    """Something happened. Changes of the tree carry their position, and are told once each, in order."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    type: Literal["event"] = "event"
    event: str
    position: str | None = None


class Edits(ServerFrame):
    """Others have changed a document that the client has open. To be applied to the text at `since`, and only to that."""

    type: Literal["edits"] = "edits"
    handle: str
    since: int
    buffer_version: int
    edits: list[dict[str, Any]]
    dirty: bool
    reason: str
    actor: dict[str, Any]


class Ack(BaseModel):
    """What the client asked for is done; the other fields are the result."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    type: Literal["ack"] = "ack"
    id: str | int | None = None
    of: str
    """Type of the frame that is answered."""


class Approval(ServerFrame):
    """A person is asked, or has answered."""

    type: Literal["approval"] = "approval"
    state: Literal["asked", "allowed", "denied"]
    approval_id: str
    request: dict[str, Any] | None = None
    """With "asked": what it is about."""
    reason: str | None = None


class Progress(ServerFrame):
    """How far a long call is."""

    type: Literal["progress"] = "progress"
    call: str
    current: int
    total: int | None = None
    message: str | None = None


class Resync(ServerFrame):
    """Something is missing: of a document if it names a handle, else of what events tell."""

    type: Literal["resync"] = "resync"
    reason: str
    position: str | None = None
    """Look at the files again; events go on after it."""
    snapshot: Snapshot | None = None
    """How things stand now, after events were left out."""
    handle: str | None = None
    document: dict[str, Any] | None = None
    """With a handle: the document as it is now, as opening it gave it; take its text in place of your own."""


class ErrorFrame(ServerFrame):
    """What the client asked for was refused, or failed."""

    type: Literal["error"] = "error"
    id: str | int | None = None
    error: str
    error_code: str
    retryable: bool
    suggested_action: str | None = None
    details: dict[str, Any] = {}


AnyTold = Welcome | EventFrame | Edits | Ack | Approval | Progress | Resync | ErrorFrame
TOLD: Final[TypeAdapter[AnyTold]] = TypeAdapter(Annotated[AnyTold, Field(discriminator="type")])
"""Checks what a server has sent; for clients in Python."""


def text_of(frame: BaseModel) -> str:
    """Return a frame as it travels."""
    try:
        return frame.model_dump_json(exclude_none=True)
    except PydanticSerializationError:
        # A name on the disk need not be Unicode; as an escape it travels all the same.
        return json.dumps(frame.model_dump(exclude_none=True), separators=(",", ":"))


def error_frame(error: FileToolsError, frame_id: str | int | None) -> ErrorFrame:
    """Return the frame of a failure, with what every other door tells of it."""
    envelope = failure_envelope(error)
    told = {name: value for name, value in envelope.items() if name not in ("success", "attempts")}
    return ErrorFrame(id=frame_id, **told)
