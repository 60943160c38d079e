"""What the calls of editors return: documents, and what became of typing, saving and closing."""

from __future__ import annotations

from typing import Any

from filetools.models.result import ChangeResult, Result
from filetools.models.words import Newline


class BufferResult(Result):
    """A document as an editor gets it."""

    handle: str
    """Names the document in further calls of the actor that opened it; opaque."""
    document: str = ""
    """Names the document in events; all who have it open get the same."""
    path: str
    text: str
    """LF text, whatever line ends the file has."""
    buffer_version: int
    """Version of the document; every change of it by anybody counts one up."""
    version: str
    """Version of the text, as a read of the path returns it."""
    disk_version: str | None
    """Version of the file; None if there is none."""
    dirty: bool
    """Whether the text is not in the file."""
    behind: bool
    """Whether the file has changed in a way that could not be merged into the text."""
    encoding: str
    bom: bool
    newline: Newline
    """Line ends that the text has in the file."""


class BufferChange(Result):
    """What became of an editor's edits."""

    buffer_version: int
    dirty: bool
    edits: list[dict[str, Any]]
    """What others did since the version that the edits were made on: {start, end, text}, to be applied to the editor's
    own text, which is the document's then."""
    actor: dict[str, Any] | None = None
    """Who did it, if one alone did: kind, id, session."""


class BufferSave(ChangeResult):
    """What saving a document did."""

    path: str
    version: str
    """Version of the file."""
    buffer_version: int
    dirty: bool
    """True only if somebody has typed since."""
    edits: list[dict[str, Any]] = []
    """What others did since the `buffer_version` of the call."""
    created: bool = False
    replaced_version: str | None = None
    unchanged: bool = False
    merged: bool = False
    """Whether changes of the file were merged in."""


class BufferClose(Result):
    """What closing a document left."""

    path: str
    kept_version: str | None
    """Version of the path under which unsaved text was kept; None if there was none, or others have it open."""
