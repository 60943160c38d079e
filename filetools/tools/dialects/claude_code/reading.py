"""Read: a file with line numbers, a picture, or a PDF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from filetools.content.lines import count_lines
from filetools.errors import InvalidArgumentError
from filetools.models.files import ReadResult
from filetools.tools.answers.seen import IMAGES, MAX_MEDIA_BYTES, Medium, ShownCall, TextLimits
from filetools.tools.arguments import Parameters
from filetools.tools.dialects.claude_code.places import GROUP, located
from filetools.tools.dialects.dialect import numbered, presented
from filetools.tools.roots import ServedPath
from filetools.tools.tool import AnyTool, Tool, ToolContext

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


def _shown(data: Mapping[str, Any], _limits: TextLimits) -> str | ShownCall:
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


READING: tuple[AnyTool, ...] = (
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
        level="auto",
        effect="read",
        looks_at="file",
        is_idempotent=True,
        has_body=True,
        present=presented(_shown),
    ),
)
