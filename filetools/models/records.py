"""Actors and change records: plain records that stay inside the product."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from filetools.models.words import ActorKind


class Actor(Struct, frozen=True, kw_only=True):
    """The originator of calls or changes: one agent, person, foreign program or part of filetools."""

    kind: ActorKind
    """The kind of actor; set by the interface, never by a client."""
    id: str
    """Name of this actor within its kind."""
    session: str | None = None
    """Groups the calls of one conversation or editor window."""
    call: str | None = None
    """The single call, if a tool call has an ID."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without fields that are None."""
        known = {"kind": self.kind, "id": self.id, "session": self.session, "call": self.call}
        return {name: value for name, value in known.items() if value is not None}


EXTERNAL: Final = Actor(kind="external", id="external")
"""Any program that changed a file without filetools."""
SYSTEM: Final = Actor(kind="system", id="filetools")
"""filetools itself, when it recovers or repairs."""


def sayable(actor: Mapping[str, Any]) -> str:
    """Return an actor, given in JSON-compatible form, as words for a sentence, such as "agent alice"."""
    return "another program" if actor["kind"] == "external" else f"{actor['kind']} {actor['id']}"


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file that another actor has changed since an actor read or wrote it."""

    path: str
    by: Actor
    """The actor of the last change."""
    version: str | None
    """The current version; None if the file was deleted."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without fields that are None."""
        by = {name: value for name, value in self.by.to_dict().items() if name != "call"}
        return {"path": self.path, "by": by} | (
            {"version": self.version} if self.version is not None else {"deleted": True}
        )


class Operation(StrEnum):
    """The kind of change in a change record."""

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
    """A folder's mode changed; versions are those of its octal digits, such as "755". No event is sent."""
    LINK = "link"
    """A symbolic link was created, removed or redirected; versions are those of its target's text. No event is sent."""


DIRECTORY_REMOVALS: Final = (Operation.DELETE_DIRECTORY, Operation.MOVE_DIRECTORY)
"""Operations that remove a whole folder from its path; they are ordered against every change below it."""
WITHOUT_BYTES: Final = (Operation.LINK, Operation.MODIFY_DIRECTORY)
"""Operations on entries that have a short text instead of bytes: a link's target, a folder's mode."""


class RecordState(StrEnum):
    """The state of a change record."""

    PENDING = "pending"
    """Committed; the file may not have the change yet."""
    APPLIED = "applied"
    """The file has the change."""
    ABORTED = "aborted"
    """Reverted by a later compensating record, because the file could not be replaced."""
    BUFFER = "buffer"
    """It changed an unsaved document only."""


class ChangeRecord(Struct, frozen=True, kw_only=True):
    """One change in the journal. The history of the tree is a sequence of these records."""

    number: int
    """Position in the journal; increasing, with gaps."""
    operation: Operation
    path: str
    """Workspace-relative path after the change."""
    old_path: str | None = None
    """The old path of a moved file or directory."""
    before: str | None = None
    """Version before; None if the file did not exist or `before_unknown`."""
    before_unknown: bool = False
    """True if a foreign program changed a file whose previous bytes were never seen."""
    after: str | None = None
    """Version after; None if the path no longer exists or names a directory."""
    size: int | None = None
    """Size of the file after the change, in bytes; None for deletions and directories."""
    mode: int | None = None
    """Permission bits after the change, if known; for deletions, those before it."""
    actor: Actor
    time: float
    """Commit time in seconds since the epoch; for another program's change, the time when it was noticed."""
    state: RecordState = RecordState.PENDING
    transaction: int | None = None
    """Number of the first record committed together with this one; None if it was alone."""
