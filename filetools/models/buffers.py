"""Results of editor calls: documents, and the outcome of changing, saving and closing them."""

from __future__ import annotations

from typing import Any

from filetools.models.result import ChangeResult, Result
from filetools.models.words import Newline


class BufferResult(Result):
    """A document as an editor gets it."""

    handle: str
    """Opaque ID of the document in further calls of the actor that opened it."""
    document: str
    """ID of the document in events, the same for everybody who has it open."""
    path: str
    text: str
    """Text with LF line ends, independent of the file's line ends."""
    buffer_version: int
    """Version of the document, incremented by every change by anybody."""
    version: str
    """Version of the text, as a read of the path returns it."""
    disk_version: str | None
    """Version of the file; None if there is none."""
    dirty: bool
    """True if the text differs from the file."""
    behind: bool
    """True if the file has changed in a way that could not be merged into the text."""
    encoding: str
    bom: bool
    newline: Newline
    """Line ends of the text in the file."""


class BufferChange(Result):
    """What became of an editor's edits."""

    buffer_version: int
    dirty: bool
    edits: list[dict[str, Any]]
    """Changes by others since the version that was edited: {start, end, text}. Applied to the editor's own text, they give
    the document's text."""
    actor: dict[str, Any] | None = None
    """Their actor, if there is only one: kind, id, session."""


class BufferSave(ChangeResult):
    """What saving a document did."""

    path: str
    version: str
    """Version of the file."""
    buffer_version: int
    dirty: bool
    """True only if somebody has edited the document since."""
    edits: list[dict[str, Any]] = []
    """Changes by others since the `buffer_version` of the call."""
    created: bool = False
    replaced_version: str | None = None
    unchanged: bool = False
    merged: bool = False
    """True if changes of the file were merged."""


class BufferClose(Result):
    """What closing a document left."""

    path: str
    kept_version: str | None
    """Version under which unsaved text was kept; None if there was none, or if others have the document open."""
