"""Who wrote each line of a file last: its versions from the oldest text that is kept to what stands there now."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from filetools.content import kind
from filetools.content.alignment import MAX_COST, differences
from filetools.content.ends import split_lines
from filetools.content.facts import inspect
from filetools.content.formats import decode
from filetools.content.myers import common_prefix, common_suffix
from filetools.errors import EncodingError, VersionGoneError
from filetools.journal.history import History, RecordFilter
from filetools.models.records import ChangeRecord, Operation, RecordState
from filetools.versions.lineage import lineage

_BYTES_PER_LINE: Final = 200
"""What a line and its author take besides the text, about."""


class Author(Struct, frozen=True, kw_only=True):
    """Who wrote a line."""

    record: ChangeRecord | None = None
    """The change; None for one that nobody has recorded yet, and for lines older than what is known."""
    before: int | None = None
    """For those: the number of the change before which they were written."""


AuthoredLines = tuple[int, int, Author]
"""Consecutive lines of one author: the first, from 1, the last, and who."""


class Annotated:
    """The lines of a text with their authors, carried from version to version. Lives for one file."""

    def __init__(self) -> None:
        self._lines: list[str] | None = None
        self._authors: list[Author] = []

    def copy(self) -> Annotated:
        """Return one that goes on by itself."""
        other = Annotated()
        other._lines, other._authors = self._lines, list(self._authors)  # the lines are never changed in place
        return other

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        lines = self._lines or []
        return sum(map(len, lines)) + _BYTES_PER_LINE * (len(lines) + 1)

    @property
    def is_known(self) -> bool:
        """Whether there is a text to go on from."""
        return self._lines is not None

    def forget(self) -> None:
        """Know nothing any more: the file was gone, or a text between is not kept."""
        self._lines = None

    def begin(self, text: str, author: Author) -> None:
        """Have one author for all lines."""
        self._lines = split_lines(text)
        self._authors = [author] * len(self._lines)

    def change(self, text: str, author: Author) -> None:
        """Go on to the next text: lines that differ are its author's."""
        old, new = self._lines, split_lines(text)
        assert old is not None
        head = common_prefix(old, new)
        # Neither the search nor the numbering of lines has to go through what is the same at both ends.
        tail = common_suffix(old, new, head)
        middle = differences(old[head : len(old) - tail], new[head : len(new) - tail], max_cost=MAX_COST)
        for old_start, old_end, new_start, new_end in reversed(middle):
            self._authors[head + old_start : head + old_end] = [author] * (new_end - new_start)
        self._lines = new

    def ranges(self) -> Iterator[AuthoredLines]:
        """Yield the lines in order, those of one author together."""
        first = 0
        for place, author in enumerate(self._authors):
            if place + 1 == len(self._authors) or self._authors[place + 1] is not author:
                yield first + 1, place + 1, author
                first = place + 1


class RememberedLines:
    """What the last walks found, by the record that they ended with, so that the next goes on from there.

    Lives as long as the workspace is open; safe in every thread.
    """

    def __init__(self, most_bytes: int = 32 * 1024 * 1024) -> None:
        self._most_bytes = most_bytes
        self._found: OrderedDict[int, tuple[ChangeRecord, Annotated, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, record: ChangeRecord) -> Annotated | None:
        """Return the lines as a record left them, if they are remembered."""
        with self._lock:
            found = self._found.get(record.number)
            # A state directory that was put back gives numbers a second time.
            is_it = found is not None and (found[0].after, found[0].time) == (record.after, record.time)
            return found[1].copy() if found is not None and is_it else None

    def put(self, record: ChangeRecord, lines: Annotated, *, instead_of: ChangeRecord | None) -> None:
        """Remember the lines as a record left them.

        Args:
            record: The record.
            lines: The lines.
            instead_of: The record from which the walk went on; its lines are not needed any more.
        """
        size = lines.size
        with self._lock:
            for former in (record, instead_of):
                self._found.pop(record.number if former is None else former.number, None)
            if size <= self._most_bytes:
                self._found[record.number] = record, lines.copy(), size
            while sum(each for _, _, each in self._found.values()) > self._most_bytes:
                self._found.popitem(last=False)


class LineHistory:
    """Walks through the versions of one file. Lives for one call; call it in a worker thread."""

    def __init__(
        self,
        history: History,
        kept: Callable[[str], bytes],
        key_of: Callable[[str], str],
        remembered: RememberedLines,
    ) -> None:
        """Know where records and texts are.

        Args:
            history: The journal's past.
            kept: Returns the bytes of a version, or raises VersionGoneError.
            key_of: Returns the lock key of a path.
            remembered: What former walks found.
        """
        self._history = history
        self._kept = kept
        self._key_of = key_of
        self._remembered = remembered
        self._annotated = Annotated()

    def authors(self, path: str, text: str, *, now: int) -> list[AuthoredLines]:
        """Return who wrote each line of a file last.

        Args:
            path: Its path.
            text: What stands there now.
            now: The number that the next change would have.
        """
        last, records = self._new_records(path)
        # A change that is still under way may be set back: it is looked at anew the next time.
        settled = next((at for at, each in enumerate(records) if each.state != RecordState.APPLIED), len(records))
        parents = self._history.targets([record.number for record in records], "parent")
        for place, record in enumerate(records, start=1):
            self._follow(record, parents.get(record.number, ()))
            if place == settled and self._annotated.is_known:
                self._remembered.put(record, self._annotated, instead_of=last)
        if self._annotated.is_known:
            self._annotated.change(text, Author())
        else:
            self._annotated.begin(text, Author() if records or last is not None else Author(before=now))
        return list(self._annotated.ranges())

    def _new_records(self, path: str) -> tuple[ChangeRecord | None, list[ChangeRecord]]:
        """Return the record whose lines are remembered, and those after it, the oldest first."""
        records: list[ChangeRecord] = []
        for record in lineage(self._history, self._key_of(path), self._key_of):
            if record.state is RecordState.APPLIED and (found := self._remembered.get(record)) is not None:
                self._annotated = found
                return record, records[::-1]
            records.append(record)
        return None, records[::-1]

    def _follow(self, record: ChangeRecord, parents: Sequence[int]) -> None:
        if record.before == record.after and self._annotated.is_known:
            return  # moved, or another mode
        text = None if record.after is None else self._text(record.after, record.path)
        if text is None:
            self._annotated.forget()
            return
        author = Author(record=record)
        if not self._annotated.is_known:
            older, is_found = Author(before=record.number), record.operation is Operation.FOUND
            former = None if record.before is None or is_found else self._text(record.before, record.path)
            if former is None:
                self._annotated.begin(text, author if record.before is None and not is_found else older)
                return
            self._annotated.begin(former, older)
        related = self._history.select(RecordFilter(numbers=tuple(parents)), limit=len(parents)) if parents else []
        for parent in reversed(related):
            self._pass_through(parent.before, record.path, author)
            self._pass_through(parent.after, record.path, Author(record=parent))
        self._annotated.change(text, author)

    def _pass_through(self, version: str | None, path: str, author: Author) -> None:
        text = None if version is None else self._text(version, path)
        if text is not None:
            self._annotated.change(text, author)

    def _text(self, version: str, path: str) -> str | None:
        """Return the text of a version; None if it is not kept, or no text."""
        try:
            content = self._kept(version)
        except VersionGoneError:
            return None
        is_whole = len(content) <= kind.SAMPLE_BYTES
        found = kind.sniff(content[: kind.SAMPLE_BYTES], complete=is_whole, name=path)
        if found.format is None:
            return None
        try:
            return decode(content, found.format, path=path)
        except EncodingError:
            return inspect(content, name=path)[1]
