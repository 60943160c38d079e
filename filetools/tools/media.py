"""What of a read is no text: pictures and sounds that a model can take as they are, and links to all other files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

MAX_MEDIA_BYTES: Final = 5 * 1024 * 1024
IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Medium:
    """A picture, a sound, or any other bytes that a program wants."""

    kind: Literal["image", "audio", "bytes"]
    data: str
    """In base64."""
    mime_type: str
    uri: str = ""
    """Where bytes of other kinds come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLink:
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

    @classmethod
    def of_descriptor(cls, frame: Mapping[str, Any]) -> FileLink:
        """Return the link to a descriptor that a frame tells of."""
        return cls(path=frame.get("path", frame["fd"]), size=0, mime_type="text/plain", descriptor=frame["fd"])


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
