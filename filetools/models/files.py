"""Results of calls on files and folders, and of a whole synchronisation."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias

from pydantic import SkipValidation

from filetools.models.result import ChangeResult, Result
from filetools.models.words import EntryType, Newline

Hunks: TypeAlias = SkipValidation[list[dict[str, Any]]]
"""Hunks of a structured patch as JSON. A worker creates them; validating them again would block the event loop."""


class ReadResult(Result):
    """A file, or the asked part of it, as `read_file` returns it."""

    path: str
    content: str
    """Text without BOM and with unchanged line ends, or base64 if `is_binary`."""
    encoding: str
    """Python codec name such as "utf-8", or "base64"."""
    size: int
    """Size of the whole file in bytes."""
    version: str
    """Version of the whole file, also if only a part is returned."""
    modified: datetime | None
    """None for a kept version."""
    total_lines: int | None = None
    newline: Newline | None = None
    bom: bool | None = None
    is_binary: bool = False
    mime_type: str | None = None
    truncated: bool = False
    """True if the file continues after the returned part."""
    next_offset: int | None = None
    """Start of the next part: a line number for line ranges, a byte offset for byte ranges."""
    column: int | None = None
    """Column of the first line where `content` begins, in characters from 1; None for the start of the line."""
    next_column: int | None = None
    """Column of the line `next_offset` where the next part begins; None for the start of the line."""
    is_page: bool | None = None
    """True if more was requested from a tool than a model receives at once."""
    stale: bool = False
    """True if a writer of this process was changing the file during the read."""
    origin: Literal["disk", "buffer", "version"] = "disk"
    """"buffer" for the text of a document that an editor has open."""
    disk_version: str | None = None
    """Version of the file, if `content` is not from the file."""
    buffer_is_newer: bool = False
    """True if an editor has unsaved text of the file, and `content` is not that text."""
    disk_is_newer: bool = False
    """True if `content` is unsaved text that lacks changes of the file."""


class FileChangeResult(ChangeResult):
    """Base of the results of calls that change the content of one file."""

    path: str
    version: str
    """Version after the change."""
    replaced_version: str | None = None
    """The replaced version, by which its bytes can still be read."""
    unchanged: bool = False
    """True if the file already had exactly these bytes, so that nothing was written or recorded."""
    in_buffer: bool = False
    """True if the change was made in a document with unsaved text that a person has open, and not on disk."""
    disk_version: str | None = None
    """Version of the file, if it differs from `version`, that of the unsaved text, which a read returns now."""


class WriteResult(FileChangeResult):
    """What `write_file`, `create_file`, `append_file` and `copy_file` did."""

    bytes_written: int
    """Size of the file after the write; for append, the number of bytes added."""
    created: bool
    merged: bool = False
    """True if the text was merged with changes by others; `version` is then that of the merged text."""
    foreign: Hunks = []
    """After a merge, the hunks that are in the file but not in the sent text."""
    newline: Newline | None = None


class EditResult(FileChangeResult):
    """What `edit_file` or `insert_lines` did, or in a dry run would do."""

    replaced_version: str
    counts: list[int] = []
    """Number of matches that each edit replaced."""
    structured_patch: Hunks
    """Hunks with oldStart, oldLines, newStart, newLines and lines."""
    dry_run: bool = False


class PatchedFile(Result):
    """What a patch did to one file."""

    path: str
    kind: Literal["add", "delete", "update", "move"]
    old_path: str | None = None
    version: str | None = None
    structured_patch: Hunks = []


class PatchResult(ChangeResult):
    """What `apply_patch` did to its files, all or nothing, or in a dry run would do."""

    files: list[PatchedFile]
    dry_run: bool = False


class DiffResult(Result):
    """The difference of two versions of one path."""

    path: str
    old_version: str
    new_version: str
    diff: str
    """A unified diff; empty if they are equal."""


class DeleteResult(ChangeResult):
    """What `delete_file` or `delete_directory` removed."""

    path: str
    deleted_version: str | None = None
    entries: int = 1
    """Number of files and directories removed, including the named one."""


class MoveResult(ChangeResult):
    """What `move_file` did; the bytes are untouched."""

    source: str
    destination: str
    version: str | None = None
    replaced_version: str | None = None


class DirectoryResult(ChangeResult):
    """What `create_directory` did."""

    path: str
    created: bool
    """False if the directory already existed."""


class InfoResult(Result):
    """What `file_info` knows of a path."""

    path: str
    name: str
    type: EntryType
    size: int | None = None
    modified: datetime
    created: datetime | None = None
    """Creation time, if requested and supported by the file system; a write creates a new file."""
    accessed: datetime | None = None
    """Time of the last read, if requested and recorded by the file system."""
    mode: str
    """Permission bits in octal, such as "644"."""
    version: str | None = None
    encoding: str | None = None
    newline: Newline | None = None
    bom: bool | None = None
    total_lines: int | None = None
    is_binary: bool | None = None
    mime_type: str | None = None
    links: int = 1
    locked: bool = False
    last_change: dict[str, Any] | None = None
    """Number, actor and time of the newest journal record, if there is one."""


class VersionEntry(Result):
    """One version that a path has had, or that a program tried to give it."""

    version: str
    number: int
    """Journal number of the change that created it; 0 for the version before the first change."""
    operation: str
    actor: dict[str, Any]
    time: float
    """Seconds since the epoch; for the version before the first change, the time of that change."""
    size: int | None = None
    kept: bool
    """True if `read_file(version=…)` can still return it."""


class VersionsResult(Result):
    """The history of one path, newest first."""

    path: str
    versions: list[VersionEntry]


class BatchResult(Result):
    """What a batch did; for changing batches either every item or nothing was applied."""

    results: list[WriteResult | DeleteResult]
    number: int | None = None


class ReadItem(Result):
    """One file of `read_multiple`: its content or the error that hit it."""

    path: str
    result: ReadResult | None = None
    error: dict[str, Any] | None = None


class ReadBatchResult(Result):
    """What `read_multiple` read; a file that fails does not stop the others."""

    items: list[ReadItem]
    failed: int = 0


class SyncResult(Result):
    """What `sync_all` planned or did."""

    success: bool
    preview: bool = False
    total_files: int
    synced_files: int
    failed_files: int
    duration_ms: int
    added: list[str] = []
    modified: list[str] = []
    deleted: list[str] = []
    errors: list[dict[str, Any]] = []
    unread: list[str] = []
    """With `verify`, paths of the workspace that could not be read before the comparison; see `LookResult`."""
