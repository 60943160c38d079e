"""What is told of a file that an agent made, changed or deleted."""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime
from typing import Any, Literal

from filetools.content.media import mime_type_of
from filetools.dataclass import dataclass

FileAction = Literal["created", "modified", "deleted"]
Attribution = Literal["folder", "call", "alone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredFile:
    """One file that a run created, changed or deleted, as the run left it."""

    path: str
    """Relative to the root, with "/"."""
    action: FileAction
    size: int | None = None
    """In bytes; None if it was deleted, or nobody knows."""
    version: str | None = None
    """"sha256:" and the hash of its bytes; None if it was deleted, or nobody knows."""
    created: float | None = None
    """When it was made, or when this run first touched it, in seconds since the epoch."""
    modified: float | None = None
    """When the run touched it last, in seconds since the epoch."""
    attributed: Attribution | None = None
    """Why a change by another program counts as the run's: it lies in a folder of the run alone, a tool call names it, or no
    other run was alive. None if the run is known to have made it."""
    tool: str | None = None
    """The tool whose call names it last."""
    turn: int | None = None
    """The agent's turn in which that was, from 1."""
    settled: bool = True
    """False if it was still being written when it was described."""
    mime_type: str | None = None
    """Where its bytes were looked at; else its name tells."""
    content: bytes | None = None
    """Its bytes, where they were asked for."""
    is_content_omitted: bool = False
    """Whether they were asked for and are too many."""


def describe(file: DiscoveredFile, root: str) -> dict[str, Any]:
    """Return the JSON form of a file: where it is, what was done to it, and, unless it was deleted, what it is.

    Args:
        file: The file.
        root: Absolute path of its root.
    """
    relative = file.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    path = os.path.join(root, *relative.split("/"))
    name = relative.rpartition("/")[2]
    told: dict[str, Any] = {"absolute_path": path, "relative_path": relative, "filename": name}
    if file.action != "deleted":
        told |= {
            "size_bytes": file.size, "created_at": _utc(file.created), "modified_at": _utc(file.modified),
            "checksum": file.version, "mime_type": file.mime_type or mime_type_of(name),
        }  # fmt: skip
    told |= {"action": file.action, "path": path, "attributed": file.attributed, "tool": file.tool, "turn": file.turn}
    told |= {} if file.settled else {"settled": False}
    return {key: value for key, value in (told | _content(file)).items() if value is not None}


def _utc(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _content(file: DiscoveredFile) -> dict[str, str]:
    if file.is_content_omitted:
        return {"content_omitted": "too_large"}
    if file.content is None:
        return {}
    try:
        return {"content": file.content.decode(), "content_encoding": "utf-8"}
    except UnicodeDecodeError:
        return {"content_base64": base64.b64encode(file.content).decode("ascii")}
