"""Results of calls that list and search names and contents, or watch for changes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from filetools.models.result import RecordedChange, Result
from filetools.models.words import EntryType


class Entry(Result):
    """One row of a listing."""

    name: str
    path: str
    type: EntryType
    size: int | None = None
    modified: datetime | None = None
    addressable: bool | None = None
    """False if the name on disk cannot be written as a path (backslash, not UTF-8); it is then escaped."""


class PageResult(Result):
    """Base of the pages of lists and searches."""

    path: str
    """Folder or file that was listed or searched."""
    truncated: bool = False
    next_cursor: str | None = None


class ListResult(PageResult):
    """One page of `list_files`."""

    entries: list[Entry]
    total: int | None = None
    """Total number of entries, or None if counting them would need a walk."""


class FoundResult(PageResult):
    """Base of the pages of searches."""

    total: int
    """Number of matches so far, including those of previous pages; for "files" and "count", of files with matches."""
    total_is_complete: bool
    """True if the search has ended and omitted nothing, so that `total` is final."""
    hints: list[str] | None = None
    """If a tool found nothing: what else to try."""


class SearchResult(FoundResult):
    """One page of `search_files`."""

    entries: list[Entry]
    searched: int | None = None
    """If nothing was found: the number of files and folders examined."""


CLIPPED_BEFORE: Final = 100
"""Maximum number of characters before the match in the text of a clipped line."""


class GrepMatch(Result):
    """One line that matches; with `multiline` the lines that one match touches."""

    path: str
    line: int
    """Number of its first line, from 1."""
    column: int
    """Start of the match in that line, in characters from 1."""
    text: str
    """The line without its end; for a very long line, the part around the match."""
    clipped: bool | None = None
    """True if `text` is only a part of the line."""
    end_line: int | None = None
    """Number of its last line, if different from the first."""
    before: list[str] | None = None
    """Up to `context` lines above."""
    after: list[str] | None = None
    """Up to `context` lines below."""
    matched: list[str] | None = None
    """With `only_matching`, every match that begins in the line."""
    columns: list[int] | None = None
    """Start of each of them in the line, in characters from 1."""
    origin: Literal["disk", "buffer"] = "disk"
    """"buffer" if the line is in an editor's unsaved text; it may not be in the file."""


class GrepFile(Result):
    """One file that has matches."""

    path: str
    count: int | None = None
    """Number of matching lines; None if not counted."""
    origin: Literal["disk", "buffer"] = "disk"


class GrepResult(FoundResult):
    """One page of `grep_files`, in the order of listings."""

    output_mode: Literal["content", "files", "count"]
    matches: list[GrepMatch] = []
    """For "content"."""
    files: list[GrepFile] = []
    """For "files" and "count"."""
    files_searched: int | None = None
    """If nothing was found: the number of files searched, all of which match the glob."""
    files_below: int | None = None
    """If nothing was found: the number of files that would have been searched without the glob."""
    warnings: list[dict[str, Any]] = []
    """Files that could not be searched, such as those that are too large."""


class ChangeEntry(RecordedChange):
    """One recorded change of a watched path."""

    version: str | None = None
    """Version after the change; None if the path no longer exists or is a folder."""


class WatchResult(Result):
    """Changes after a position, oldest first."""

    path: str
    changes: list[ChangeEntry]
    position: str
    """Pass it as `since` to get the changes that follow."""
    resync: bool = False
    """True if older changes are no longer known: read the files again, then continue from `position`."""
