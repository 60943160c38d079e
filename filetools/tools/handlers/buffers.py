"""Tools for editors: open, change, save and close documents, which all editors and agents on the root share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from filetools.content.editing.text_edits import TextEdit
from filetools.errors import InvalidArgumentError
from filetools.models.buffers import BufferChange, BufferClose, BufferResult, BufferSave
from filetools.tools.arguments import Parameters
from filetools.tools.handlers.reading import OnePath
from filetools.tools.tool import AnyTool, Tool

MAX_EDITS = 10_000


class BufferEdit(Parameters):
    """One edit of a document, its places in UTF-16 units of the LF text before any edit of the call."""

    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    text: str


class OneHandle(Parameters):
    """Parameters of buffer_close."""

    handle: str


class ChangeBuffer(Parameters):
    """Parameters of buffer_change."""

    handle: str
    buffer_version: Annotated[int, Field(ge=0, description="Version of the text that you edited")]
    edits: Annotated[list[BufferEdit] | None, Field(max_length=MAX_EDITS)] = None
    text: Annotated[str | None, Field(description="Whole new text, instead of edits")] = None


class SaveBuffer(Parameters):
    """Parameters of buffer_save."""

    handle: str
    buffer_version: Annotated[int | None, Field(ge=0, description="Version of your text")] = None


def edits_or_text(edits: list[BufferEdit] | None, text: str | None) -> list[TextEdit] | None:
    """Return edits in the form of the facade; None if there is a whole text instead.

    Raises:
        InvalidArgumentError: Both are given, or neither.
    """
    if (edits is None) == (text is None):
        raise InvalidArgumentError("Pass either edits or text")
    return None if edits is None else [TextEdit(each.start, each.end, each.text) for each in edits]


BUFFERS: tuple[AnyTool, ...] = (
    Tool(
        name="buffer_open",
        description=(
            "Open a file in an editor, or join the editors that have it open. Returns a handle, the LF text and its"
            " buffer_version. A handle expires 60 s after its last use; resources/updated of the buffer reports others'"
            " changes."
        ),
        parameters=OnePath,
        handler=lambda context, given: context.files.buffers.open(given.path),
        group="editor",
        result=BufferResult,
    ),
    Tool(
        name="buffer_change",
        description=(
            "Edit an open document; positions count UTF-16 units of the text at buffer_version. Returns the new"
            " version and the edits of others since. RESYNC: open it again. BUFFER_CLOSED: the handle expired."
        ),
        parameters=ChangeBuffer,
        handler=lambda context, given: context.files.buffers.change(
            given.handle,
            buffer_version=given.buffer_version,
            edits=edits_or_text(given.edits, given.text),
            text=given.text,
        ),
        group="editor",
        result=BufferChange,
    ),
    Tool(
        name="buffer_save",
        description=(
            "Write an open document to its file; what others wrote there meanwhile is merged in. EDIT_CONFLICT shows"
            " both sides: change the document, save again."
        ),
        parameters=SaveBuffer,
        handler=lambda context, given: context.files.buffers.save(given.handle, buffer_version=given.buffer_version),
        group="editor",
        result=BufferSave,
    ),
    Tool(
        name="buffer_close",
        description="Close a document. Unsaved text that nobody else has open is kept as kept_version of the path.",
        parameters=OneHandle,
        handler=lambda context, given: context.files.buffers.close(given.handle),
        group="editor",
        result=BufferClose,
    ),
)
