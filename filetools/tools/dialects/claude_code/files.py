"""Read, Write and Edit: files with line numbers, pictures and PDFs, and exact replacements; and how paths are resolved."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from filetools.content.differences.diff import structured_patch
from filetools.content.editing.edits import Edit
from filetools.content.lines import count_lines
from filetools.errors import AbsolutePathError, FileToolsError, InvalidArgumentError, PathExistsError
from filetools.models.files import ReadResult, WriteResult
from filetools.tools.answers.nearby import similar_paths
from filetools.tools.answers.seen import IMAGES, MAX_MEDIA_BYTES, Medium, ShownCall, TextLimits
from filetools.tools.arguments import Parameters
from filetools.tools.dialects.dialect import UNSAVED, numbered, presented, repairs_of
from filetools.tools.roots import ServedPath
from filetools.tools.tool import AnyTool, Tool, ToolContext

GROUP: Final = "claude-code"


async def located(context: ToolContext, raw_path: str | None) -> ServedPath:
    """Resolve a path, absolute inside the root or relative to it; None is the root.

    Raises:
        AbsolutePathError: It lies outside the root; names the root and similar paths in it.
    """
    try:
        return context.roots.locate(raw_path or "")
    except AbsolutePathError as error:
        root = context.roots.first
        found = await similar_paths(root.files, (raw_path or "").replace("\\", "/").strip("/"))
        error.details.update({"root": root.absolute("")} | ({"similar": found} if found else {}))
        hint = f"Did you mean {found[0]!r}? " if found else ""
        error.suggested_action = f"{hint}Use a path relative to the root, or one below it."
        raise


PDF: Final = "application/pdf"


class Read(Parameters):
    """Parameters of Read."""

    file_path: Annotated[str, Field(description="Absolute, or relative to the root")]
    offset: Annotated[int | None, Field(ge=0, description="First line, from 1")] = None
    limit: Annotated[int | None, Field(ge=1, description="Number of lines")] = None


async def read(context: ToolContext, given: Read) -> dict[str, Any]:
    """Read a file, or some of its lines."""
    place = await located(context, given.file_path)
    made = await _lines(place, given.offset, given.limit)
    if made.is_binary:
        return _binary(made, place.absolute)
    return {"type": "text", "file": _text(made, place.absolute, given)}


async def _lines(place: ServedPath, offset: int | None, limit: int | None) -> ReadResult:
    """Return lines of a file, or the whole file if it is binary."""
    try:
        # Lines that the model does not see must not count as read.
        return await place.files.read_file(place.path, offset=offset or None, limit=limit, page=True)
    except InvalidArgumentError:
        whole = await place.files.read_file(place.path)
        if not whole.is_binary:
            raise
        return whole


def _text(made: ReadResult, path: str, given: Read) -> dict[str, Any]:
    count = count_lines(made.content)
    first = max(1, given.offset or 1)
    return {
        "filePath": path,
        "content": made.content,
        "numLines": count,
        "startLine": first,
        "totalLines": made.total_lines if made.total_lines is not None else first - 1 + count,
        **({"truncatedByTokenCap": True} if made.truncated and (given.limit is None or count < given.limit) else {}),
    }


def _binary(made: ReadResult, path: str) -> dict[str, Any]:
    mime_type = made.mime_type or "application/octet-stream"
    if made.size > MAX_MEDIA_BYTES or mime_type not in (*IMAGES, PDF):
        raise InvalidArgumentError(f"This tool cannot show binary files of this kind: {mime_type}, {made.size} bytes")
    if mime_type == PDF:
        return {"type": "pdf", "file": {"filePath": path, "base64": made.content, "originalSize": made.size}}
    return {"type": "image", "file": {"base64": made.content, "type": mime_type, "originalSize": made.size}}


def _shown_read(data: Mapping[str, Any], _limits: TextLimits) -> str | ShownCall:
    file = data["file"]
    if data["type"] == "image":
        return ShownCall(text="", media=Medium(kind="image", data=file["base64"], mime_type=file["type"]))
    if data["type"] == "pdf":
        uri = f"file://{file['filePath']}"
        return ShownCall(text="", media=Medium(kind="bytes", data=file["base64"], mime_type=PDF, uri=uri))
    if not file["content"]:
        if file["totalLines"] == 0:
            return "Warning: the file exists but the contents are empty."
        return (
            f"Warning: the file exists but is shorter than the provided offset ({file['startLine']})."
            f" The file has {file['totalLines']} lines."
        )
    # The text is already within the limits; the line numbers are not counted, so that all of it is shown.
    text = numbered(file["content"], file["startLine"])
    following = file["startLine"] + file["numLines"] if file.get("truncatedByTokenCap") else None
    if following is not None and not file["content"].endswith(("\n", "\r")):
        onwards = f"; offset {following} continues after it" if following <= file["totalLines"] else ""
        text += f"[line {file['startLine']} is cut here; Grep with -o shows other parts of it{onwards}]\n"
    elif following is not None:
        text += f"[lines {file['startLine']}-{following - 1} of {file['totalLines']}; offset {following} continues]\n"
    return text.removesuffix("\n")


MOST_COMPARED: Final = 1_000_000
"""Maximum length of texts for which a patch is computed, in characters."""
_MERGED: Final = (
    " Others had changed it since you saw it, and their changes were merged with yours. Read it before you replace it"
    " again."
)


class Write(Parameters):
    """Parameters of Write."""

    file_path: Annotated[str, Field(description="Absolute, or relative to the root")]
    content: str


class EditText(Parameters):
    """Parameters of Edit."""

    file_path: Annotated[str, Field(description="Absolute, or relative to the root")]
    old_string: str
    new_string: Annotated[str, Field(description="Must differ from old_string")]
    replace_all: bool = False


async def write(context: ToolContext, given: Write) -> dict[str, Any]:
    """Create or replace a file."""
    place = await located(context, given.file_path)
    made = await place.files.write_file(place.new_path, given.content, require_read=context.require_read)
    return await _written(place, given.content, made)


async def edit(context: ToolContext, given: EditText) -> dict[str, Any]:
    """Replace exact text in a file."""
    if given.old_string == given.new_string:
        raise InvalidArgumentError("No changes to make: old_string and new_string are exactly the same.")
    place = await located(context, given.file_path)
    if not given.old_string:
        return await _created(place, given)
    change = Edit(old=given.old_string, new=given.new_string, replace_all=given.replace_all)
    made = await place.files.edit_file(place.path, [change])
    original = await _version(place, made.replaced_version)
    edited = _edited(place, given, None if original is None else original.content, made.structured_patch)
    return edited | ({"inBuffer": True} if made.in_buffer else {}) | repairs_of(made.warnings)


async def _created(place: ServedPath, given: EditText) -> dict[str, Any]:
    try:
        await place.files.create_file(place.new_path, given.new_string)
    except PathExistsError as error:
        error.suggested_action = "Give the text to be replaced as old_string; an empty one creates a new file."
        raise
    return _edited(place, given, None, await _patch("", given.new_string))


def _edited(place: ServedPath, given: EditText, original: str | None, patch: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "filePath": place.absolute,
        "oldString": given.old_string,
        "newString": given.new_string,
        "originalFile": original,
        "structuredPatch": patch,
        "userModified": False,
        "replaceAll": given.replace_all,
    }


async def _written(place: ServedPath, content: str, made: WriteResult) -> dict[str, Any]:
    original = None if made.created else await _version(place, made.replaced_version or made.version)
    now = await _version(place, made.version)
    current = content if now is None else now.content
    patch = [] if original is None or now is None else await _patch(original.content, now.content)
    is_as_sent = made.merged or current.replace("\r\n", "\n") == content.replace("\r\n", "\n")
    return {
        "type": "create" if made.created else "update",
        "filePath": place.absolute,
        "content": current,
        "structuredPatch": patch,
        "originalFile": None if original is None else original.content,
        "userModified": not is_as_sent,
        **({"merged": True} if made.merged else {}),
        **repairs_of(made.warnings),
        **({"inBuffer": True} if made.in_buffer else {}),
    }


async def _version(place: ServedPath, version: str) -> ReadResult | None:
    """Return a kept version, which does not count as read; None if it is not text, too large, or no longer kept."""
    try:
        read = await place.files.read_file(place.path, version=version)
    except FileToolsError:
        return None
    return None if read.is_binary else read


async def _patch(old: str, new: str) -> list[dict[str, Any]]:
    if max(len(old), len(new)) > MOST_COMPARED:
        return []
    # In a thread: it may take a third of a second.
    return [hunk.to_dict() for hunk in await asyncio.to_thread(structured_patch, old, new)]


def _shown_write(data: Mapping[str, Any], _limits: TextLimits) -> str:
    if data["type"] == "create":
        return f"File created successfully at: {data['filePath']}"
    modified = " A person changed the text before it was written." if data["userModified"] else ""
    return f"The file {data['filePath']} has been updated successfully.{_remarks(data)}{modified}"


def _shown_edit(data: Mapping[str, Any], _limits: TextLimits) -> str:
    if data["replaceAll"]:
        return (
            f"The file {data['filePath']} has been updated. All occurrences were successfully replaced.{_remarks(data)}"
        )
    return f"The file {data['filePath']} has been updated successfully.{_remarks(data)}"


def _remarks(data: Mapping[str, Any]) -> str:
    return (_MERGED if data.get("merged") else "") + (f" {UNSAVED}" if data.get("inBuffer") else "")


FILES: tuple[AnyTool, ...] = (
    Tool(
        name="Read",
        description=(
            "Read a file: text with line numbers as from cat -n, each with a tab, which are not part of the file; pictures"
            " (PNG, JPEG, GIF, WebP), and PDFs. By default the first 2000 lines; offset and limit read parts. It also reads"
            " text that a person has not saved yet."
        ),
        parameters=Read,
        handler=read,
        group=GROUP,
        effect="read",
        looks_at="file",
        has_body=True,
        present=presented(_shown_read),
    ),
    Tool(
        name="Write",
        description=(
            "Create a file, with missing folders, or replace all of it. A file that exists must have been read first, whole;"
            " what others have changed since is merged, or refused if it overlaps. Prefer Edit for changes."
        ),
        parameters=Write,
        handler=write,
        group=GROUP,
        is_idempotent=True,
        present=presented(_shown_write),
    ),
    Tool(
        name="Edit",
        description=(
            "Replace exact text in a file. old_string must be in the file exactly once, with its indentation and without the"
            " line numbers of Read; or set replace_all. An empty old_string creates a new file."
        ),
        parameters=EditText,
        handler=edit,
        group=GROUP,
        present=presented(_shown_edit),
    ),
)
