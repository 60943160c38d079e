"""All events: frozen records that listeners receive.

Events inform; nothing depends on their delivery. Those of files and folders are made from journal records after the fact
is on disk; all others exist only for listeners. Edits of documents are in the editors' form: LF text, positions in UTF-16
units of the text before them, in order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct

from filetools.content.editing.text_edits import TextEdit
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import ActorKind

ContentLoader = Callable[[], Awaitable[str | None]]
ChangeReason = Literal["typed", "merged", "disk", "undo", "saved"]
SyncDirection = Literal["to_mirror", "to_local", "both"]
PauseReason = Literal["user", "error", "permission"]

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


class PathEvent(Event, frozen=True, kw_only=True):
    """Base of the events about one path."""

    path: str
    """Workspace-relative path, after the change."""
    actor: Actor

    @property
    def source(self) -> ActorKind:
        """Kind of the actor."""
        return self.actor.kind


class TreeEvent(PathEvent, frozen=True, kw_only=True):
    """Base of the events about one file or folder."""

    seq: int | None = None
    """Journal number of the change; None if the journal does not record it."""


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
    """Loads the text for `content`."""

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
    """A file was read through a tool."""

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


class BufferEvent(PathEvent, frozen=True, kw_only=True):
    """Base of the events about one open document."""

    document: str
    """Opaque name of the document, as `files.buffers` returns it; a document that is reopened after its last editor left
    gets another one, even at the same path."""


class BufferOpened(BufferEvent, frozen=True, kw_only=True):
    """The first editor opened a document."""

    name: ClassVar[str] = "buffer:opened"

    version: int
    """Version of the document, from 1."""


class BufferChanged(BufferEvent, frozen=True, kw_only=True):
    """A document's text changed: by typing, or by merging a change of the file or of an agent."""

    name: ClassVar[str] = "buffer:changed"

    version: int
    """Version of the document after the change; one more than before."""
    edits: tuple[TextEdit, ...]
    dirty: bool
    """True if the text is not in the file, as of the newest version known."""
    reason: ChangeReason

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, edits as {start, end, text}."""
        plain = Event.to_dict(self)
        plain["edits"] = [{"start": edit.start, "end": edit.end, "text": edit.text} for edit in self.edits]
        return plain


class BufferSaved(BufferEvent, frozen=True, kw_only=True):
    """A document was saved; its text is in the file."""

    name: ClassVar[str] = "buffer:saved"

    version: int
    file_version: str
    """Version of the file."""


class BufferClosed(BufferEvent, frozen=True, kw_only=True):
    """The last editor closed a document."""

    name: ClassVar[str] = "buffer:closed"


class BufferAbandoned(BufferEvent, frozen=True, kw_only=True):
    """The last editor of a document left unsaved text, which was kept as a version of its path."""

    name: ClassVar[str] = "buffer:abandoned"

    kept_version: str


class BufferBehind(BufferEvent, frozen=True, kw_only=True):
    """The file has changed in a way that cannot be merged into the unsaved text; saving reports the conflict."""

    name: ClassVar[str] = "buffer:behind"

    disk_version: str | None
    """Version of the file; None if it is gone."""


class BufferMoved(BufferEvent, frozen=True, kw_only=True):
    """A document has another path, because its file was moved."""

    name: ClassVar[str] = "buffer:moved"

    old_path: str


class SyncStarted(Event, frozen=True, kw_only=True):
    """A synchronisation starts; the number of files is known."""

    name: ClassVar[str] = "sync:started"

    file_count: int
    direction: SyncDirection


class SyncProgress(Event, frozen=True, kw_only=True):
    """A synchronisation starts its next file."""

    name: ClassVar[str] = "sync:progress"

    current: int
    """How many files are done."""
    total: int
    current_file: str


class SyncCompleted(Event, frozen=True, kw_only=True):
    """A synchronisation ended."""

    name: ClassVar[str] = "sync:completed"

    success: bool
    timestamp: float
    """Seconds since the epoch."""
    files_processed: int
    files_failed: int


class SyncError(Event, frozen=True, kw_only=True):
    """One file, or the whole mirror when `file` is None, could not be synchronised."""

    name: ClassVar[str] = "sync:error"

    error: str
    error_code: str
    file: str | None = None


class SyncPaused(Event, frozen=True, kw_only=True):
    """Synchronisation stopped until something changes."""

    name: ClassVar[str] = "sync:paused"

    reason: PauseReason


class SyncResumed(Event, frozen=True, kw_only=True):
    """Synchronisation continues after a pause."""

    name: ClassVar[str] = "sync:resumed"


class ToolEvent(Event, frozen=True, kw_only=True):
    """Base of the events about one tool call."""

    tool_name: str
    tool_call_id: str
    path: str | None = None
    """Workspace-relative path of the call, if it has one."""


class ToolStarted(ToolEvent, frozen=True, kw_only=True):
    """A tool call starts."""

    name: ClassVar[str] = "agent:tool:started"

    arguments: Mapping[str, Any] | None = None
    """Arguments as given, without file contents."""


class ToolCompleted(ToolEvent, frozen=True, kw_only=True):
    """A tool call succeeded."""

    name: ClassVar[str] = "agent:tool:completed"

    duration_ms: int | None = None
    result: Mapping[str, Any] | None = None
    """Facts about the result, without file contents."""


class ToolFailed(ToolEvent, frozen=True, kw_only=True):
    """A tool call ended with an error."""

    name: ClassVar[str] = "agent:tool:failed"

    error: str
    error_code: str
    retryable: bool = False
    duration_ms: int | None = None


class ToolProgress(Event, frozen=True, kw_only=True):
    """A long tool call reports its progress."""

    name: ClassVar[str] = "tool:progress"

    tool_call_id: str
    current: int
    total: int | None = None
    message: str | None = None


class ApprovalRequired(ToolEvent, frozen=True, kw_only=True):
    """A tool call waits for a person."""

    name: ClassVar[str] = "tool:approval_required"

    approval_id: str
    reason: str


class ToolApproved(ToolEvent, frozen=True, kw_only=True):
    """A person allowed a tool call."""

    name: ClassVar[str] = "tool:approved"

    approval_id: str


class ToolRejected(ToolEvent, frozen=True, kw_only=True):
    """A person denied a tool call."""

    name: ClassVar[str] = "tool:rejected"

    approval_id: str
    reason: str | None = None


class ProjectEvent(Event, frozen=True, kw_only=True):
    """Base of the events about one registered project."""

    project: str
    """Its id."""


class ProjectCreated(ProjectEvent, frozen=True, kw_only=True):
    """A folder was registered as a project."""

    name: ClassVar[str] = "project:created"

    path: str
    """Absolute, links resolved."""


class ProjectUpdated(ProjectEvent, frozen=True, kw_only=True):
    """The name or folder of a project changed."""

    name: ClassVar[str] = "project:updated"

    path: str
    """Absolute, links resolved."""


class ProjectDeleted(ProjectEvent, frozen=True, kw_only=True):
    """A project was unregistered; its files stay."""

    name: ClassVar[str] = "project:deleted"


class InstanceChanged(Event, frozen=True, kw_only=True):
    """An agent or a server was registered, changed its name or status, or ended."""

    name: ClassVar[str] = "instance:changed"

    instance: str
    """Its id."""
    status: str
    """"working", "idle", or "closed"."""


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
