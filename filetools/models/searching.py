"""What the calls return that list and search: names, lines of files, and changes as they come."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

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


class SearchResult(Result):
    """One page of `search_files`."""

    path: str
    """Folder that was searched."""
    entries: list[Entry]
    total: int
    """Matches so far, those of the pages before included."""
    total_is_complete: bool
    """Whether there are no more than `total`: the search came to its end."""
    truncated: bool = False
    next_cursor: str | None = None
    searched: int | None = None
    """Where nothing was found: files and folders that were looked at."""
    hints: list[str] | None = None
    """At the tools' doors, where nothing was found: what else to try."""


class GrepMatch(Result):
    """One line that matches; with `multiline` the lines that one match touches."""

    path: str
    line: int
    """Number of its first line, from 1."""
    column: int
    """Where the match begins in that line, in characters from 1."""
    text: str
    """The line without its end; of a very long one the part around the match."""
    clipped: bool | None = None
    """True if `text` is a part of the line."""
    end_line: int | None = None
    """Number of its last line, where that is another one."""
    before: list[str] | None = None
    """Lines above, as many as `context` says."""
    after: list[str] | None = None
    """Lines below."""
    matched: list[str] | None = None
    """With `only_matching` every match that begins in the line."""
    columns: list[int] | None = None
    """Where each of them begins, in characters of the line from 1."""
    origin: Literal["disk", "buffer"] = "disk"
    """"buffer" if it stands in text that an editor has not saved; such a line may not be in the file."""


class GrepFile(Result):
    """One file that has matches."""

    path: str
    count: int | None = None
    """How many of its lines match; None where nobody counted."""
    origin: Literal["disk", "buffer"] = "disk"


class GrepResult(Result):
    """One page of `grep_files`, in the order of listings."""

    path: str
    """Folder or file that was searched."""
    output_mode: Literal["content", "files", "count"]
    matches: list[GrepMatch] = []
    """For "content"."""
    files: list[GrepFile] = []
    """For "files" and "count"."""
    total: int
    """Matches so far, those of the pages before included; for "files" and "count" the files that have some."""
    total_is_complete: bool
    """Whether there are no more than `total`: the search came to its end and left nothing out."""
    truncated: bool = False
    next_cursor: str | None = None
    files_searched: int | None = None
    """Where nothing was found: files that were looked at, all of which fit the glob."""
    files_below: int | None = None
    """Where nothing was found: files that would have been without the glob."""
    hints: list[str] | None = None
    """At the tools' doors, where nothing was found: what else to try."""
    warnings: list[dict[str, Any]] = []
    """Files that could not be searched, such as those that are too large."""


class ChangeEntry(Result):
    """One recorded change."""

    number: int
    """Its place in the journal."""
    operation: str
    path: str
    old_path: str | None = None
    """Where a moved file or folder was."""
    version: str | None = None
    """Version after the change; None if the path is gone or is a folder."""
    actor: dict[str, Any]
    time: float
    """Seconds since the epoch, when it was recorded: of another program's change, when it was noticed."""


class WatchResult(Result):
    """Changes after a position, oldest first."""

    path: str
    changes: list[ChangeEntry]
    position: str
    """Pass it as `since` to get what follows."""
    resync: bool = False
    """True if what lies between is not known any more: look at the files again, then go on from `position`."""
