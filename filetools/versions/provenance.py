"""Who wrote each line of a file last: its versions from the oldest kept text to the current one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from filetools.content.differences.alignment import MAX_COST, differences
from filetools.content.differences.myers import common_prefix, common_suffix
from filetools.content.ends import split_lines
from filetools.content.facts import text_of
from filetools.errors import VersionGoneError
from filetools.journal.history import History, RecordFilter
from filetools.models.records import ChangeRecord, Operation
from filetools.versions.draft_tree import within


def lineage(
    history: History,
    key: str,
    key_of: Callable[[str], str],
    *,
    below: int | None = None,
    limit: int = 2**62,
) -> Iterator[ChangeRecord]:
    """Yield the records of a file, newest first, until it was made.

    Args:
        history: The journal's past.
        key: Lock key of the file now or, with `below`, before that record.
        key_of: Returns the lock key of a path.
        below: Only records with a smaller number.
        limit: Most records under one name.
    """
    while True:
        # It came, or went, with the folder.
        removal = history.folder_change([*within(key)][1:], below=below)
        first = 0 if removal is None else removal.number
        step = None
        for record in history.of_key(key, below=below, limit=limit):
            if record.number < first:
                break
            yield record
            step = record
            if record.before is None and not record.before_unknown:
                return
            if record.operation is Operation.MOVE:
                break
        if step is not None and step.operation is Operation.MOVE and step.old_path is not None:
            key, below = key_of(step.old_path), step.number
        elif removal is not None and removal.old_path is not None and key.startswith(f"{key_of(removal.path)}/"):
            key, below = key_of(removal.old_path) + key[len(key_of(removal.path)) :], removal.number
        else:
            return


class Author(Struct, frozen=True, kw_only=True):
    """Who wrote a line."""

    record: ChangeRecord | None = None
    """The change; None for one that nobody has recorded yet, and for lines older than what is known."""
    before: int | None = None
    """For those: the number of the change before which they were written."""


AuthoredLines = tuple[int, int, Author]
"""Consecutive lines of one author: the first, from 1, the last, and who."""


class LineHistory:
    """Carries the lines of one file with their authors from version to version. Lives for one call in a worker thread."""

    def __init__(self, history: History, kept: Callable[[str], bytes]) -> None:
        """Know the records, and what returns the bytes of a version or raises VersionGoneError."""
        self._history = history
        self._kept = kept
        self._lines: list[str] | None = None
        """None if the file was gone, or a text between is not kept."""
        self._authors: list[Author] = []

    def authors(self, records: Sequence[ChangeRecord], text: str, *, now: int) -> list[AuthoredLines]:
        """Return who wrote each line of a file last.

        Args:
            records: Its changes, oldest first.
            text: What stands there now.
            now: The number that the next change would have.
        """
        parents = self._history.targets([record.number for record in records], "parent")
        for record in records:
            self._follow(record, parents.get(record.number, ()))
        self._change(text, Author() if records else Author(before=now))
        found: list[AuthoredLines] = []
        for _, lines in groupby(enumerate(self._authors, start=1), lambda each: id(each[1])):
            several = list(lines)
            found.append((several[0][0], several[-1][0], several[0][1]))
        return found

    def _change(self, text: str, author: Author) -> None:
        """Go on to the next text: lines that differ are its author's."""
        old, new = self._lines or [], split_lines(text)
        head = common_prefix(old, new)
        # Neither the search nor the numbering of lines has to go through what is the same at both ends.
        tail = common_suffix(old, new, head)
        middle = differences(old[head : len(old) - tail], new[head : len(new) - tail], max_cost=MAX_COST)
        for old_start, old_end, new_start, new_end in reversed(middle):
            self._authors[head + old_start : head + old_end] = [author] * (new_end - new_start)
        self._lines = new

    def _follow(self, record: ChangeRecord, parents: Sequence[int]) -> None:
        if record.before == record.after and self._lines is not None:
            return  # moved, or another mode
        text = None if record.after is None else self._text(record.after, record.path)
        if text is None:
            self._lines, self._authors = None, []
            return
        author = Author(record=record)
        if self._lines is None:
            older, is_found = Author(before=record.number), record.operation is Operation.FOUND
            former = None if record.before is None or is_found else self._text(record.before, record.path)
            if former is None:
                self._change(text, author if record.before is None and not is_found else older)
                return
            self._change(former, older)
        related = self._history.select(RecordFilter(numbers=tuple(parents)), limit=len(parents)) if parents else []
        for parent in reversed(related):
            for version, by in ((parent.before, author), (parent.after, Author(record=parent))):
                between = None if version is None else self._text(version, record.path)
                if between is not None:
                    self._change(between, by)
        self._change(text, author)

    def _text(self, version: str, path: str) -> str | None:
        """Return the text of a version; None if it is not kept, or no text."""
        try:
            return text_of(self._kept(version), name=path)
        except VersionGoneError:
            return None
