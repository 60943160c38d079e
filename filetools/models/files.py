"""Results of calls on files and folders, and of a whole synchronisation."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias

from pydantic import SkipValidation

from filetools.models.result import ChangeResult, Result
from filetools.models.words import EntryType, Newline

Hunks: TypeAlias = SkipValidation[list[dict[str, Any]]]
"""Hunks of a structured patch as JSON. A worker makes them; going through them once more would hold up the loop."""


class ReadResult(Result):
    """A file, or the asked part of it, as `read_file` returns it."""

    path: str
    content: str
    """Text with its line ends unchanged and without BOM, or base64 where `is_binary`."""
    encoding: str
    """Python codec name such as "utf-8", or "base64"."""
    size: int
    """Bytes of the whole file."""
    version: str
    """Version of the whole file, whatever part was returned."""
    modified: datetime | None
    """None for a kept version."""
    total_lines: int | None = None
    newline: Newline | None = None
    bom: bool | None = None
    is_binary: bool = False
    mime_type: str | None = None
    truncated: bool = False
    """Whether the file goes on after the returned part."""
    next_offset: int | None = None
    """Where the next part starts: a line number for line ranges, a byte position for byte ranges."""
    column: int | None = None
    """Where in its first line `content` begins, in characters from 1; None for its beginning."""
    next_column: int | None = None
    """Where in the line `next_offset` the next part starts; None for its beginning."""
    is_page: bool | None = None
    """True if a tool was asked for more, and this is what a model gets at once."""
    stale: bool = False
    """Whether a writer of this process was at work on the file during the read."""
    origin: Literal["disk", "buffer", "version"] = "disk"
    """"buffer" for the text of a document that an editor has open."""
    disk_version: str | None = None
    """Version of the file, where `content` is not the file's."""
    buffer_is_newer: bool = False
    """Whether an editor has unsaved text of the file, which `content` is not."""
    disk_is_newer: bool = False
    """Whether the file has changed in a way that is not in the unsaved text that `content` is."""


class WriteResult(ChangeResult):
    """What `write_file`, `create_file`, `append_file` and `copy_file` did."""

    path: str
    bytes_written: int
    """Bytes of the file after the write; for append, the bytes added."""
    created: bool
    version: str
    replaced_version: str | None = None
    """Version that was replaced; its bytes stay readable by that version."""
    unchanged: bool = False
    """True if the file already held exactly these bytes, so nothing was written or recorded."""
    in_buffer: bool = False
    """Whether the change went into the document that a person has open, and not to the disk: it needs unsaved text."""
    disk_version: str | None = None
    """Version of the file, where unsaved text makes `version`, that of what a read returns now, another one."""
    merged: bool = False
    """Whether the sent text was merged with what others had written meanwhile; then `version` is of the merged text."""
    foreign: Hunks = []
    """After a merge, the hunks that the file has and the sent text has not."""
    newline: Newline | None = None


class EditResult(ChangeResult):
    """What `edit_file` or `insert_lines` did, or in a dry run would do."""

    path: str
    version: str
    """Version after the change."""
    replaced_version: str
    counts: list[int] = []
    """How many matches each edit replaced."""
    structured_patch: Hunks
    """Hunks of oldStart, oldLines, newStart, newLines and lines."""
    dry_run: bool = False
    unchanged: bool = False
    in_buffer: bool = False
    """Whether the change went into the document that a person has open, and not to the disk: it needs unsaved text."""
    disk_version: str | None = None
    """Version of the file, where unsaved text makes `version`, that of what a read returns now, another one."""


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
    """How many files and directories went, the named one included."""


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
    """When it was made, where that was asked for and the file system tells; a written file is a new one."""
    accessed: datetime | None = None
    """When it was read last, where that was asked for, and as far as the file system keeps it."""
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
    """Number, actor and time of the newest journal record, where there is one."""


class VersionEntry(Result):
    """One version that a path has had, or that a program tried to give it."""

    version: str
    number: int
    """Journal number of the change that made it; 0 of what stood there before the first one."""
    operation: str
    actor: dict[str, Any]
    time: float
    """Seconds since the epoch; of what stood there before, of the first change."""
    size: int | None = None
    kept: bool
    """Whether `read_file(version=…)` can still give it back."""


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
    """With `verify`, paths of the workspace that could not be looked at before; see `LookResult`."""
