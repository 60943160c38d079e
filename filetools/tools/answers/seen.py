"""What a model sees of one call: text within limits, pictures and sounds, links to files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from filetools.content.ends import split_lines
from filetools.content.lines import count_lines

MAX_MEDIA_BYTES: Final = 5 * 1024 * 1024
IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


class Medium(Struct, frozen=True, kw_only=True):
    """A picture, a sound, or any other bytes that a program wants."""

    kind: Literal["image", "audio", "bytes"]
    data: str
    """In base64."""
    mime_type: str
    uri: str = ""
    """Where bytes of other kinds come from."""

    @property
    def content(self) -> dict[str, Any]:
        """The content block of MCP."""
        if self.kind == "bytes":
            return {"type": "resource", "resource": {"uri": self.uri, "mimeType": self.mime_type, "blob": self.data}}
        return {"type": self.kind, "data": self.data, "mimeType": self.mime_type}


class FileLink(Struct, frozen=True, kw_only=True):
    """A file that the text only names."""

    path: str
    size: int
    """Bytes."""
    mime_type: str | None
    descriptor: str | None = None
    """Id of the descriptor that is meant instead of a file."""

    @classmethod
    def of(cls, read: Mapping[str, Any]) -> FileLink:
        """Return the link to the file that was read."""
        return cls(path=read["path"], size=read["size"], mime_type=read.get("mime_type"))


def media_of(data: Mapping[str, Any]) -> tuple[Medium | None, tuple[FileLink, ...]]:
    """Return what a result shows beside its text: a picture or sound of at most 5 MiB, a link to any other binary."""
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
    """Most of a text that a model gets at once."""

    lines: int = MAX_LINES
    characters: int = MAX_CHARACTERS


def clipped(text: str, limits: TextLimits, *, count: int | None = None) -> tuple[str, int | None]:
    """Return the beginning of a text that keeps the limits, and its number of lines if something was left out.

    It ends at a line end; only where the first line alone is too long, inside of it. Then that line counts as given.

    Args:
        text: What may be too long.
        limits: Most lines and characters.
        count: How many lines it has, where that is known.
    """
    # Most texts are small, and counting is a hundred times quicker than looking at each line.
    if len(text) <= limits.characters and (count_lines(text) if count is None else count) <= limits.lines:
        return text, None
    kept: list[str] = []
    left = limits.characters
    lines = split_lines(text)
    for line in lines[: limits.lines]:
        if len(line) > left:
            break
        kept.append(line)
        left -= len(line)
    if len(kept) == len(lines):
        return text, None
    if not kept:
        return lines[0][: limits.characters], 1
    return "".join(kept), len(kept)


class ShownCall(Struct, frozen=True, kw_only=True):
    """One call as a model sees it."""

    text: str
    """Empty beside a picture that says it all."""
    is_error: bool = False
    structured: Mapping[str, Any] | None = None
    """The same facts for programs, where the tool has an output schema."""
    media: Medium | None = None
    links: tuple[FileLink, ...] = ()
    """Files to fetch instead of reading them in the text."""
    notes: tuple[str, ...] = ()
    """What is told beside the result, each in a block of its own, where the text must be the result and nothing else."""
