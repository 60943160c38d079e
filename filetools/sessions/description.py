"""What is told of a file that an agent made, changed or deleted."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from filetools.content.media import mime_type_of
from filetools.errors import ChecksumCalculationError, FileToolsError
from filetools.models.words import VERSION_PREFIX
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.folder import FolderStore

FileAction = Literal["created", "modified", "deleted"]
Attribution = Literal["folder", "call", "alone"]
_BLOCK_BYTES: Final = 256 * 1024
_HEAD_BYTES: Final = 512


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
    """Why a change by another program counts as the run's, of which it may be; None if the run is known to have made it."""
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


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reading of a file's bytes told."""

    version: str
    size: int
    head: bytes
    """Its first bytes, for the signature."""
    content: bytes | None
    """All of them, if they were to be kept."""


def read_file(reads: FolderStore, path: WorkspacePath, *, keep: bool = False) -> Reading:
    """Read a file once, in blocks.

    Args:
        reads: Reads the root.
        path: The file.
        keep: Whether to return its bytes.

    Raises:
        ChecksumCalculationError: It cannot be read.
    """
    digest, size, head, parts = hashlib.sha256(), 0, b"", list[bytes]()
    try:
        with reads.opened(path) as (file, whole):
            # No further than it was long, else whoever writes it quickly would keep the reader for ever.
            while size < whole and (block := file.read(min(_BLOCK_BYTES, whole - size))):
                digest.update(block)
                size, head = size + len(block), head or block[:_HEAD_BYTES]
                parts += [block] if keep else []
    except FileToolsError as error:
        raise ChecksumCalculationError(f"The bytes of {path} cannot be read", {"path": path}, error) from error
    return Reading(VERSION_PREFIX + digest.hexdigest(), size, head, b"".join(parts) if keep else None)


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
