"""Who acts, and what happened to the tree: plain records that stay inside the product."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from filetools.models.words import ActorKind


class Actor(Struct, frozen=True, kw_only=True):
    """Who acts: one agent, person, foreign program or part of filetools. Lives as long as its caller keeps it."""

    kind: ActorKind
    """What sort of party acts; set by the door, never by a client."""
    id: str
    """Name of this actor within its kind."""
    session: str | None = None
    """Groups the calls of one conversation or editor window."""
    call: str | None = None
    """The single call, when a tool call carries an id."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without what is None."""
        known = {"kind": self.kind, "id": self.id, "session": self.session, "call": self.call}
        return {name: value for name, value in known.items() if value is not None}


EXTERNAL: Final = Actor(kind="external", id="external")
"""Whoever changed a file without going through filetools."""
SYSTEM: Final = Actor(kind="system", id="filetools")
"""filetools itself, when it recovers or repairs."""


def sayable(actor: Mapping[str, Any]) -> str:
    """Return an actor's JSON-compatible form as words of a sentence, such as "agent alice"."""
    return "another program" if actor["kind"] == "external" else f"{actor['kind']} {actor['id']}"


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file that somebody else has changed since an actor read or wrote it."""

    path: str
    by: Actor
    """Who changed it last."""
    version: str | None
    """What it became; None if it is gone."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without what is None."""
        by = {"kind": self.by.kind, "id": self.by.id, "session": self.by.session}
        plain = {"path": self.path, "by": {name: value for name, value in by.items() if value is not None}}
        return plain | ({"version": self.version} if self.version is not None else {"deleted": True})


class Operation(StrEnum):
    """What a change record did to its path."""

    FOUND = "found"
    """An existing file was seen for the first time; its bytes are kept, nothing changed, no event is sent."""
    CREATE = "create"
    MODIFY = "modify"
    DELETE = "delete"
    MOVE = "move"
    CREATE_DIRECTORY = "create_directory"
    DELETE_DIRECTORY = "delete_directory"
    MOVE_DIRECTORY = "move_directory"
    MODIFY_DIRECTORY = "modify_directory"
    """A folder got another mode: versions are those of its octal digits, such as "755". No event is sent."""
    LINK = "link"
    """A symbolic link was made, removed, or points elsewhere: versions are those of its target's text. No event is sent."""


WITHOUT_BYTES: Final = (Operation.LINK, Operation.MODIFY_DIRECTORY)
"""Operations on what has no bytes of its own, but a short text: a link's target, a folder's mode."""


class RecordState(StrEnum):
    """How far a change record has come."""

    PENDING = "pending"
    """Committed; the file may not carry it yet."""
    APPLIED = "applied"
    """The file carries it."""
    ABORTED = "aborted"
    """Set back by a later compensating record, because the file could not be exchanged."""
    BUFFER = "buffer"
    """It changed an unsaved document only."""


class ChangeRecord(Struct, frozen=True, kw_only=True):
    """One change, as the journal keeps it. Everything that happened to the tree is a sequence of these."""

    number: int
    """Position in the journal; grows, with gaps."""
    operation: Operation
    path: str
    """Workspace-relative path after the change."""
    old_path: str | None = None
    """Where a moved file or directory was before."""
    before: str | None = None
    """Version before; None if the file did not exist or `before_unknown`."""
    before_unknown: bool = False
    """True where a foreign program changed a file whose former bytes were never seen."""
    after: str | None = None
    """Version after; None if the path no longer exists or names a directory."""
    size: int | None = None
    """Bytes of the file after the change; None for deletions and directories."""
    mode: int | None = None
    """Permission bits after the change, where they are known; of what went, those that it had."""
    actor: Actor
    time: float
    """Seconds since the epoch, when it was committed: of another program's change, when it was noticed."""
    state: RecordState = RecordState.PENDING
    transaction: int | None = None
    """Number of the first record committed together with this one; None if it was alone."""
