"""The frames of the live protocol, one JSON object each: validates client frames and queues server frames."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.permissions.requests import ApprovalRequest
from filetools.servers.http.operations import LONGEST_NUMBER
from filetools.tools.arguments import Parameters, refusal_of
from filetools.tools.envelope import failure_envelope
from filetools.tools.handlers.buffers import MAX_EDITS, BufferEdit

PROTOCOL: Final = 1
MOST_FRAMES: Final = 1000
LONGEST_ID: Final = 64
MOST_CHARACTERS: Final = 32 * 1024 * 1024
"""More than the text of the largest document, so that sending one leaves room for other frames."""

FrameId = Annotated[str, Field(max_length=LONGEST_ID)] | Annotated[int, Field(ge=0, le=LONGEST_NUMBER)]
Place = Annotated[int, Field(ge=0, le=LONGEST_NUMBER)]


class ClientFrame(Parameters):
    """Base class of the frames that clients send."""

    id: FrameId | None = None
    """Repeated in the response."""


class Hello(ClientFrame):
    """The first frame of a connection."""

    type: Literal["hello"]
    since: Annotated[str, Field(max_length=100)] | None = None
    """Position of the last event that the client has received; without it, events start now."""
    session: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    """Identifies the window, so that its changes can be distinguished from those of others."""


class Open(ClientFrame):
    """Open the document of a path, or join the clients that have it open."""

    type: Literal["open"]
    path: str
    handle: str | None = None
    """A handle from before the connection was lost; it is resumed if it has not lapsed."""
    buffer_version: Place | None = None
    """With a handle: the version whose text the client still has, to resume from."""


class ChangeFrame(ClientFrame):
    """Edit an open document."""

    type: Literal["change"]
    handle: str
    buffer_version: Place
    """Version of the text that was edited."""
    edits: Annotated[list[BufferEdit], Field(max_length=MAX_EDITS)] | None = None
    text: str | None = None
    """Whole new text, instead of edits."""
    change_id: Annotated[str, Field(pattern=r"^[!-~]{1,64}$")] | None = None
    """ID of the change. If the response was lost, the client may send it again; it is applied once."""


class SaveFrame(ClientFrame):
    """Write an open document to its file."""

    type: Literal["save"]
    handle: str
    on_conflict: Literal["merge", "cancel", "allow"] = "merge"
    encoding: Annotated[str, Field(max_length=40)] | None = None
    """Encoding of the file from now on; without it, the encoding does not change."""


class Close(ClientFrame):
    """Close a document."""

    type: Literal["close"]
    handle: str


class AnswerFrame(ClientFrame):
    """Answer an approval request; for people only."""

    type: Literal["answer"]
    approval_id: str
    answer: str
    edited_text: str | None = None


class Abort(ClientFrame):
    """Stop a running call."""

    type: Literal["abort"]
    call: str


class Ping(ClientFrame):
    """Request a response, to check the connection."""

    type: Literal["ping"]


Request = Open | ChangeFrame | SaveFrame | Close | AnswerFrame | Abort | Ping
"""Frames allowed after the first one."""
_FRAME: Final[TypeAdapter[Hello | Request]] = TypeAdapter(Annotated[Hello | Request, Field(discriminator="type")])


def parsed(text: str) -> Any:
    """Return the JSON of a frame.

    Raises:
        InvalidArgumentError: It is not JSON.
    """
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as exc:
        raise InvalidArgumentError(f"A frame must be one JSON object: {exc}") from exc


def id_of(plain: object) -> str | int | None:
    """Return the ID of a frame, or None if it has no valid one."""
    found = plain.get("id") if isinstance(plain, dict) else None
    is_number = type(found) is int and 0 <= found <= LONGEST_NUMBER
    return found if is_number or (isinstance(found, str) and len(found) <= LONGEST_ID) else None


def frame_of(plain: object) -> Hello | Request:
    """Validate a JSON value as a frame.

    Raises:
        InvalidArgumentError: Its type or its fields are not valid.
    """
    try:
        return _FRAME.validate_python(plain)
    except ValidationError as exc:
        # A frame of a known type is located by its type first.
        raise refusal_of(exc.errors(), skip=1) from exc


def pending_request(request: ApprovalRequest) -> dict[str, Any]:
    """Return an open request with the seconds left to answer it, for clients whose clocks are wrong."""
    return request.to_dict() | {"seconds_left": max(0.0, request.expires - time.time())}


def frame_text(kind: str, **fields: Any) -> str:
    """Return a server frame as JSON, without the fields that are None.

    `docs/live.md` documents the frames and their fields.
    """
    return json_text({"type": kind, **{name: value for name, value in fields.items() if value is not None}})


def json_text(plain: dict[str, Any]) -> str:
    """Return a frame, or a part of one, as JSON."""
    try:
        return to_json(plain).decode("utf-8")
    except PydanticSerializationError:
        # A name on disk need not be valid Unicode; send it escaped.
        return json.dumps(plain, separators=(",", ":"))


def error_text(error: FileToolsError, frame_id: str | int | None) -> str:
    """Return the frame of a failure, with the same facts as in the other interfaces."""
    envelope = failure_envelope(error)
    facts = {name: value for name, value in envelope.items() if name not in ("success", "attempts")}
    return frame_text("error", id=frame_id, **facts)


class Outbox:
    """The queue between a session and its sender. Belongs to one connection and one event loop.

    Args:
        most_frames: The queue is full at this number of frames, or at `MOST_CHARACTERS`.
    """

    def __init__(self, most_frames: int = MOST_FRAMES) -> None:
        self._most_frames = most_frames
        self._waiting: deque[tuple[str, str]] = deque()
        self._characters = 0
        self._is_closed = False
        self._changed = asyncio.Event()

    @property
    def has_room(self) -> bool:
        """True if another frame may be added now."""
        return len(self._waiting) < self._most_frames and self._characters < MOST_CHARACTERS

    def put_now(self, text: str, shared: str = "") -> None:
        """Add a frame, if there is room or after `room`; ignored after `close`.

        Args:
            text: The frame, or its beginning.
            shared: The rest of it, which waits in other outboxes, too, and is not copied before it is sent.
        """
        if not self._is_closed:
            self._waiting.append((text, shared))
            self._characters += len(text) + len(shared)
            self._wake()

    async def put(self, text: str) -> None:
        """Add a frame as soon as there is room."""
        await self.room()
        self.put_now(text)

    async def room(self, most_characters: int = MOST_CHARACTERS) -> None:
        """Wait until there is room and fewer characters than `most_characters` wait, or the outbox is closed."""
        while not (self._is_closed or (self.has_room and self._characters < most_characters)):
            await self._changed.wait()

    async def take(self) -> str | None:
        """Wait for the next frame to send and return it; None after `close`."""
        while not self._waiting:
            if self._is_closed:
                return None
            await self._changed.wait()
        text = "".join(self._waiting.popleft())
        self._characters -= len(text)
        self._wake()
        return text

    def close(self) -> None:
        """Accept no more frames; queued ones may still be sent. Idempotent."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
