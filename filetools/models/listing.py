"""What listings return."""

from __future__ import annotations

from datetime import datetime

from filetools.models.result import Result
from filetools.models.words import EntryType


class Entry(Result):
    """One row of a listing."""

    name: str
    path: str
    type: EntryType
    size: int | None = None
    modified: datetime | None = None
    addressable: bool | None = None
    """False where the name on disk cannot be written as a path here (backslash, not UTF-8); then shown escaped."""


class ListResult(Result):
    """One page of `list_files`."""

    path: str
    entries: list[Entry]
    total: int | None = None
    """Entries in all, or None where that is unknown without a walk."""
    truncated: bool = False
    next_cursor: str | None = None
