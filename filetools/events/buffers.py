"""Events of documents that editors have open, as frozen records; on the bus only, never in the journal.

Edits are in the editors' form: LF text, positions in UTF-16 units of the text before them, in order.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from filetools.content.editing.text_edits import TextEdit
from filetools.events.types import Event
from filetools.models.records import Actor
from filetools.models.words import ActorKind

ChangeReason = Literal["typed", "merged", "disk", "undo", "saved"]


class BufferEvent(Event, frozen=True, kw_only=True):
    """Base of the events about one open document."""

    path: str
    """Workspace-relative path of the document."""
    actor: Actor
    document: str = ""
    """Opaque name of the document, as `files.buffers` returns it; a document that is reopened after its last editor left
    gets another one, even at the same path."""

    @property
    def source(self) -> ActorKind:
        """Kind of the actor."""
        return self.actor.kind


class BufferOpened(BufferEvent, frozen=True, kw_only=True):
    """The first editor opened a document."""

    name: ClassVar[str] = "buffer:opened"

    version: int
    """Version of the document, from 1."""


class BufferChanged(BufferEvent, frozen=True, kw_only=True):
    """The text of a document changed: somebody typed, or a change of the file or of an agent was merged into it."""

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
    """The last editor of a document vanished or closed it with unsaved text, which was kept as a version of its path."""

    name: ClassVar[str] = "buffer:abandoned"

    kept_version: str


class BufferBehind(BufferEvent, frozen=True, kw_only=True):
    """The file has changed in a way that cannot be merged into the unsaved text; saving will report the conflict."""

    name: ClassVar[str] = "buffer:behind"

    disk_version: str | None
    """Version of the file; None if it is gone."""


class BufferMoved(BufferEvent, frozen=True, kw_only=True):
    """A document has another path, because its file was moved."""

    name: ClassVar[str] = "buffer:moved"

    old_path: str
