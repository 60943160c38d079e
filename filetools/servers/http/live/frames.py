"""What clients send: one JSON object a frame, strictly checked."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from filetools.errors import InvalidArgumentError

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


class PlainEdit(BaseModel):
    """One edit, its places in UTF-16 units of the LF text before any edit of the frame."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    start: Place
    end: Place
    text: str


class Change(ClientFrame):
    """Type into an open document."""

    type: Literal["change"]
    handle: str
    buffer_version: Place
    """Version of the text that was edited."""
    edits: Annotated[list[PlainEdit], Field(max_length=MOST_EDITS)] | None = None
    text: str | None = None
    """Whole new text, instead of edits."""
    change_id: Annotated[str, Field(pattern=r"^[!-~]{1,64}$")] | None = None
    """Name of the change, under which it may be sent again if its answer was lost: it is made once."""


class Save(ClientFrame):
    """Write an open document to its file."""

    type: Literal["save"]
    handle: str
    on_conflict: Literal["merge", "cancel", "allow"] = "merge"


class Close(ClientFrame):
    """Give up a document."""

    type: Literal["close"]
    handle: str


class Answer(ClientFrame):
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


Request = Open | Change | Save | Close | Answer | Abort | Ping
"""What may follow the first frame."""
AnyFrame = Annotated[Hello | Request, Field(discriminator="type")]
_FRAME: Final[TypeAdapter[Hello | Request]] = TypeAdapter(AnyFrame)
_ID: Final[TypeAdapter[FrameId]] = TypeAdapter(FrameId, config=ConfigDict(strict=True))


def parsed(text: str) -> Any:
    """Return the JSON of a frame.

    Raises:
        InvalidArgumentError: It is no JSON.
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
