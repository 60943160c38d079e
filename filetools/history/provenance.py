"""Provenance: the last author of each line, from the diffs between a file's kept versions, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from filetools.content.differences.alignment import MAX_COST, differences
from filetools.content.differences.myers import common_prefix, common_suffix
from filetools.content.ends import split_lines
from filetools.content.facts import text_of
from filetools.errors import VersionGoneError
from filetools.history.draft_tree import within
from filetools.journal.records import History, RecordFilter
from filetools.models.records import DIRECTORY_REMOVALS, ChangeRecord, Operation


def lineage(
    history: History,
    key: str,
    key_of: Callable[[str], str],
    *,
    below: int | None = None,
    limit: int = 2**62,
) -> Iterator[ChangeRecord]:
    """Yield the records of a file, newest first, back to its creation, over moves of the file and of folders above it.

    Args:
        history: The journal's past records.
        key: Lock key of the file now or, with `below`, before that record.
        key_of: Returns the lock key of a path.
        below: Only records with a smaller number.
        limit: Most records under one name.
    """
    while True:
        for record in history.of_file(key, [*within(key)][1:], below=below, limit=limit):
            here, below = key_of(record.path), record.number
            if record.operation not in DIRECTORY_REMOVALS:
                yield record
                if record.before is None and not record.before_unknown:
                    return
            elif record.old_path is None or not key.startswith(f"{here}/"):
                return  # what was here before went with the folder
            if record.old_path is not None:
                key = key_of(record.old_path) + key[len(here) :]
                break
        else:
            return


Author = ChangeRecord | int | None
"""Who wrote a line: the change, or the number of a later change if the line is older than the known records; None if the
change is not recorded yet."""
AuthoredLines = tuple[int, int, Author]
"""Consecutive lines of one author: number of the first line, from 1, of the last line, and the author."""


class LineHistory:
    """The lines of one file and their authors, updated from version to version. Lives for one call in a worker thread."""

    def __init__(self, history: History, kept: Callable[[str], bytes]) -> None:
        """Take the journal's past records, and a function that returns a version's bytes or raises VersionGoneError."""
        self._history = history
        self._kept = kept
        self._lines: list[str] | None = None
        """None if the file did not exist, or its text is not kept."""
        self._authors: list[Author] = []

    def authors(self, records: Sequence[ChangeRecord], text: str, *, now: int) -> list[AuthoredLines]:
        """Return the last author of each line.

        Args:
            records: The file's records, oldest first.
            text: The current text.
            now: The number that the next record would have.
        """
        parents = self._history.related([record.number for record in records], "parent")
        for record in records:
            self._follow(record, parents.get(record.number, ()))
        self._change(text, None if records else now)
        several = (list(lines) for _, lines in groupby(enumerate(self._authors, start=1), lambda each: each[1]))
        return [(lines[0][0], lines[-1][0], lines[0][1]) for lines in several]

    def _change(self, text: str, author: Author) -> None:
        """Replace the lines by the next text; lines that differ are by its author."""
        old, new = self._lines or [], split_lines(text)
        head = common_prefix(old, new)
        # Equal lines at both ends need no search and no renumbering.
        tail = common_suffix(old, new, head)
        middle = differences(old[head : len(old) - tail], new[head : len(new) - tail], max_cost=MAX_COST)
        for old_start, old_end, new_start, new_end in reversed(middle):
            self._authors[head + old_start : head + old_end] = [author] * (new_end - new_start)
        self._lines = new

    def _follow(self, record: ChangeRecord, parents: Sequence[int]) -> None:
        if record.before == record.after and self._lines is not None:
            return  # a move, or a change of mode
        text = None if record.after is None else self._text(record.after, record.path)
        if text is None:
            self._lines, self._authors = None, []
            return
        if self._lines is None:
            is_found = record.operation is Operation.FOUND
            former = None if record.before is None or is_found else self._text(record.before, record.path)
            if former is None:
                self._change(text, record if record.before is None and not is_found else record.number)
                return
            self._change(former, record.number)
        related = self._history.select(RecordFilter(numbers=tuple(parents)), limit=len(parents)) if parents else []
        for parent in reversed(related):
            for version, by in ((parent.before, record), (parent.after, parent)):
                between = None if version is None else self._text(version, record.path)
                if between is not None:
                    self._change(between, by)
        self._change(text, record)

    def _text(self, version: str, path: str) -> str | None:
        """Return the text of a version; None if it is not kept, or binary."""
        try:
            return text_of(self._kept(version), name=path)
        except VersionGoneError:
            return None
