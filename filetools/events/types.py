"""Events of files, directories and the feed: frozen records that listeners receive.

Events inform; they are made from journal records after the fact is on disk, and nothing depends on their delivery.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final

from msgspec import Struct

from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import ActorKind

ContentLoader = Callable[[], Awaitable[str | None]]

_KEPT_INSIDE: Final = ("content_loader", "edits")
"""Names of the fields that have no JSON form, or one of their own."""


class Event(Struct, frozen=True, kw_only=True):
    """Base of everything the bus delivers."""

    name: ClassVar[str] = "event:unnamed"
    """Topic and fact, such as "file:created"; patterns are matched against it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form: the name as "event", then every field that is not None."""
        plain: dict[str, Any] = {"event": self.name}
        fields = ((name, getattr(self, name)) for name in self.__struct_fields__ if name not in _KEPT_INSIDE)
        plain.update(
            (name, value.to_dict() if isinstance(value, Actor) else value)
            for name, value in fields
            if value is not None
        )
        if "actor" in plain:
            plain["source"] = plain["actor"]["kind"]
        return plain


class TreeEvent(Event, frozen=True, kw_only=True):
    """Base of the events about one path."""

    path: str
    """Workspace-relative path, after the change."""
    actor: Actor
    seq: int | None = None
    """Journal number of the change; None if the journal does not record it."""

    @property
    def source(self) -> ActorKind:
        """Kind of the actor."""
        return self.actor.kind


class ContentEvent(TreeEvent, frozen=True, kw_only=True):
    """Base of the events after which a file has new bytes."""

    version: str | None = None
    """Version of the file after the change."""
    size: int | None = None
    """Bytes of the file after the change."""
    lock_acquired: float | None = None
    """Seconds since the epoch when the writer got the path's lock; None if no lock was taken."""
    lock_released: float | None = None
    """Seconds since the epoch when the writer released the path's lock."""
    content_loader: ContentLoader | None = None
    """Loads the text for `content`; ignored in comparisons."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ContentEvent) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.name, self.path, self.seq))

    async def content(self) -> str | None:
        """Load the file's text at this version.

        Returns:
            The text, or None if it is binary, too large, no longer kept, or if the publisher offers no text.

        Raises:
            FileToolsError: The store of versions could not be read.
        """
        return None if self.content_loader is None else await self.content_loader()


class FileCreated(ContentEvent, frozen=True, kw_only=True):
    """A new file was written."""

    name: ClassVar[str] = "file:created"


class FileModified(ContentEvent, frozen=True, kw_only=True):
    """An existing file has new bytes."""

    name: ClassVar[str] = "file:modified"


class FileDeleted(TreeEvent, frozen=True, kw_only=True):
    """A file was deleted."""

    name: ClassVar[str] = "file:deleted"

    version: str | None = None
    """Version that was deleted, if it was known."""


class FileRead(TreeEvent, frozen=True, kw_only=True):
    """A file was read through a tool; on the bus only, never in the journal."""

    name: ClassVar[str] = "file:read"

    version: str | None = None
    """Version that was read."""


class FileRenamed(TreeEvent, frozen=True, kw_only=True):
    """A file was moved; its bytes are the same."""

    name: ClassVar[str] = "file:renamed"

    old_path: str
    version: str | None = None


class DirectoryCreated(TreeEvent, frozen=True, kw_only=True):
    """A directory was created."""

    name: ClassVar[str] = "directory:created"


class DirectoryDeleted(TreeEvent, frozen=True, kw_only=True):
    """A directory was deleted with everything in it."""

    name: ClassVar[str] = "directory:deleted"


class DirectoryRenamed(TreeEvent, frozen=True, kw_only=True):
    """A directory was moved with everything in it."""

    name: ClassVar[str] = "directory:renamed"

    old_path: str


class Resync(Event, frozen=True, kw_only=True):
    """Events are missing; a listener that needs all of them reads the journal or the tree again."""

    name: ClassVar[str] = "feed:resync"

    position: int | None
    """Journal number after which changes are missing; None if that is unknown, so that everything must be read."""
    reason: str
    """Why they are missing, such as "overflow"."""


def from_record(
    record: ChangeRecord,
    *,
    content_loader: ContentLoader | None = None,
    lock_acquired: float | None = None,
    lock_released: float | None = None,
) -> list[Event]:
    """Return the events for a change, in the order to publish them.

    Args:
        record: The change, as the journal keeps it.
        content_loader: Loads the text of `record.after` when a listener asks for it.
        lock_acquired: Seconds since the epoch when the writer got the path's lock.
        lock_released: Seconds since the epoch when the writer released it.

    Returns:
        Nothing for a file that was merely found, a link, a folder's mode, a change of an unsaved document, and a change
        that was set back.
    """
    if record.state in (RecordState.BUFFER, RecordState.ABORTED):
        return []
    path, actor, number, old_path = record.path, record.actor, record.number, record.old_path or ""
    match record.operation:
        case Operation.CREATE | Operation.MODIFY:
            kind = FileCreated if record.operation is Operation.CREATE else FileModified
            return [
                kind(
                    path=path, actor=actor, seq=number, version=record.after, size=record.size,
                    lock_acquired=lock_acquired, lock_released=lock_released, content_loader=content_loader,
                )
            ]  # fmt: skip
        case Operation.DELETE:
            return [FileDeleted(path=path, actor=actor, seq=number, version=record.before)]
        case Operation.MOVE:
            return [FileRenamed(path=path, old_path=old_path, actor=actor, seq=number, version=record.after)]
        case Operation.CREATE_DIRECTORY:
            return [DirectoryCreated(path=path, actor=actor, seq=number)]
        case Operation.DELETE_DIRECTORY:
            return [DirectoryDeleted(path=path, actor=actor, seq=number)]
        case Operation.MOVE_DIRECTORY:
            return [DirectoryRenamed(path=path, old_path=old_path, actor=actor, seq=number)]
        case _:
            return []
