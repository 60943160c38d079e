"""The frames of the live protocol, one JSON object each: what clients send, strictly checked, and what the server sends."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.permissions.requests import ApprovalRequest
from filetools.tools.envelope import failure_envelope

PROTOCOL: Final = 1
MOST_EDITS: Final = 10_000
_LARGEST_NUMBER: Final = 2**53 - 1

FrameId = Annotated[str, Field(max_length=64)] | Annotated[int, Field(ge=0, le=_LARGEST_NUMBER)]
Place = Annotated[int, Field(ge=0, le=_LARGEST_NUMBER)]


class ClientFrame(BaseModel):
    """Base of the frames that clients send."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: FrameId | None = None
    """Comes back in the answer."""


class Hello(ClientFrame):
    """The first frame of a connection."""

    type: Literal["hello"]
    since: Annotated[str, Field(max_length=100)] | None = None
    """Position of the last event that the client has; without it events begin now."""
    session: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    """Names the window, so that its changes can be told from those of others."""


class Open(ClientFrame):
    """Open the document of a path, or join those who have it open."""

    type: Literal["open"]
    path: str
    handle: str | None = None
    """A handle that the client had before it lost its connection: it goes on, if it has not lapsed."""
    buffer_version: Place | None = None
    """With a handle: the version whose text the client still has, to go on from."""


class FrameEdit(BaseModel):
    """One edit, its places in UTF-16 units of the LF text before any edit of the frame."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    start: Place
    end: Place
    text: str


class ChangeFrame(ClientFrame):
    """Type into an open document."""

    type: Literal["change"]
    handle: str
    buffer_version: Place
    """Version of the text that was edited."""
    edits: Annotated[list[FrameEdit], Field(max_length=MOST_EDITS)] | None = None
    text: str | None = None
    """Whole new text, instead of edits."""
    change_id: Annotated[str, Field(pattern=r"^[!-~]{1,64}$")] | None = None
    """Name of the change, under which it may be sent again if its answer was lost: it is made once."""


class SaveFrame(ClientFrame):
    """Write an open document to its file."""

    type: Literal["save"]
    handle: str
    on_conflict: Literal["merge", "cancel", "allow"] = "merge"
    encoding: Annotated[str, Field(max_length=40)] | None = None
    """What the file is stored in from now on; without it, as before."""


class Close(ClientFrame):
    """Give up a document."""

    type: Literal["close"]
    handle: str


class AnswerFrame(ClientFrame):
    """Answer an approval request; for people only."""

    type: Literal["answer"]
    approval_id: str
    answer: str
    edited_text: str | None = None


class Abort(ClientFrame):
    """Stop a call that runs."""

    type: Literal["abort"]
    call: str


class Ping(ClientFrame):
    """Ask for an answer."""

    type: Literal["ping"]


Request = Open | ChangeFrame | SaveFrame | Close | AnswerFrame | Abort | Ping
"""What may follow the first frame."""
AnyFrame = Annotated[Hello | Request, Field(discriminator="type")]
_FRAME: Final[TypeAdapter[Hello | Request]] = TypeAdapter(AnyFrame)
_ID: Final[TypeAdapter[FrameId]] = TypeAdapter(FrameId, config=ConfigDict(strict=True))


def parsed(text: str) -> Any:
    """Return the JSON of a frame.

    Raises:
        InvalidArgumentError: It is not JSON.
    """
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as exc:
        raise InvalidArgumentError(f"A frame is one JSON object: {exc}") from exc


def id_of(plain: object) -> str | int | None:
    """Return the id of a frame, as far as it has a good one."""
    found = plain.get("id") if isinstance(plain, dict) else None
    try:
        return None if found is None else _ID.validate_python(found)
    except ValidationError:
        return None


def frame_of(plain: object) -> Hello | Request:
    """Return the frame that a JSON value is.

    Raises:
        InvalidArgumentError: It is none of the known, or has other fields.
    """
    try:
        return _FRAME.validate_python(plain)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidArgumentError(f"Bad frame{f' at {place}' if place else ''}: {first['msg']}") from exc


class ServerFrame(BaseModel):
    """Base of the frames that the server sends; fields that are None are left out."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def asked(request: ApprovalRequest) -> dict[str, Any]:
    """Return an open request with the seconds that are left to answer it, for clients whose clocks are wrong."""
    return request.to_dict() | {"seconds_left": max(0.0, request.expires - time.time())}


class Snapshot(ServerFrame):
    """How things stand, where events tell how they change."""

    root: str
    """Name of the folder."""
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


class ResyncFrame(ServerFrame):
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


AnyTold = Welcome | EventFrame | Edits | Ack | Approval | Progress | ResyncFrame | ErrorFrame
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
