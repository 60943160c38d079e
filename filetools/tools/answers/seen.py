"""The parts of a call's result that a model sees: text within limits, images and audio, links to files."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final, Literal

from msgspec import Struct

from filetools.content.ends import split_lines
from filetools.content.lines import count_lines

MAX_MEDIA_BYTES: Final = 5 * 1024 * 1024
IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


class Medium(Struct, frozen=True, kw_only=True):
    """An image, audio, or other bytes requested by a program."""

    kind: Literal["image", "audio", "bytes"]
    data: str
    """In base64."""
    mime_type: str
    uri: str = ""
    """URI of bytes of other kinds."""

    @property
    def content(self) -> dict[str, Any]:
        """The content block of MCP."""
        if self.kind == "bytes":
            return {"type": "resource", "resource": {"uri": self.uri, "mimeType": self.mime_type, "blob": self.data}}
        return {"type": self.kind, "data": self.data, "mimeType": self.mime_type}


class FileLink(Struct, frozen=True, kw_only=True):
    """A link to a file that the text only names."""

    path: str
    size: int
    """Bytes."""
    mime_type: str | None
    descriptor: str | None = None
    """ID of a descriptor to link to instead of the file."""

    @classmethod
    def of(cls, read: Mapping[str, Any]) -> FileLink:
        """Return the link to the file that was read."""
        return cls(path=read["path"], size=read["size"], mime_type=read.get("mime_type"))


def media_of(data: Mapping[str, Any]) -> tuple[Medium | None, tuple[FileLink, ...]]:
    """Return what a result shows besides text: an image or audio of at most 5 MiB, or a link to any other binary file."""
    if not data.get("is_binary"):
        return None, ()
    mime_type = data.get("mime_type") or ""
    kind: Literal["image", "audio"] | None = (
        "image" if mime_type in IMAGES else "audio" if mime_type.startswith("audio/") else None
    )
    if kind is None or data["size"] > MAX_MEDIA_BYTES or data.get("truncated"):
        return None, (FileLink.of(data),)
    return Medium(kind=kind, data=data["content"], mime_type=mime_type), ()


MAX_LINES: Final = 2000
MAX_CHARACTERS: Final = 50_000


class TextLimits(Struct, frozen=True, kw_only=True):
    """Maximum amount of text that a model receives at once."""

    lines: int = MAX_LINES
    characters: int = MAX_CHARACTERS


def clipped(text: str, limits: TextLimits, *, count: int | None = None) -> tuple[str, int | None]:
    """Return the beginning of a text within the limits, and its number of lines if the rest was omitted.

    It is cut at a line end, unless the first line alone is too long; that line is then cut and counts as one.

    Args:
        text: The text.
        limits: Maximum number of lines and characters.
        count: The number of lines of the text, if known.
    """
    # Most texts are small, and counting is a hundred times faster than iterating over the lines.
    if len(text) <= limits.characters and (count_lines(text) if count is None else count) <= limits.lines:
        return text, None
    lines = split_lines(text)
    kept = sum(end <= limits.characters for end in accumulate(map(len, lines[: limits.lines])))
    if kept == len(lines):
        return text, None
    if not kept:
        return lines[0][: limits.characters], 1
    return "".join(lines[:kept]), kept


class ShownCall(Struct, frozen=True, kw_only=True):
    """One call as a model sees it."""

    text: str
    """Empty if an image is the whole result."""
    is_error: bool = False
    structured: Mapping[str, Any] | None = None
    """The same facts for programs, if the tool has an output schema."""
    media: Medium | None = None
    links: tuple[FileLink, ...] = ()
    """Files to fetch instead of reading them in the text."""
    notes: tuple[str, ...] = ()
    """Further messages, each in a separate block, for tools whose text must be exactly the result."""
