"""Who wrote each line of a file last: its versions from the oldest text that is kept to what stands there now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from filetools.content import decode, diff_lines, inspect, sniff, split_lines
from filetools.content.kind import SAMPLE_BYTES
from filetools.content.myers import common_prefix
from filetools.errors import EncodingError, VersionGoneError
from filetools.journal import History, Selection
from filetools.models import ChangeRecord, Operation
from filetools.versions.lineage import lineage


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who wrote a line."""

    record: ChangeRecord | None = None
    """The change; None for one that nobody has recorded yet, and for lines older than what is known."""
    before: int | None = None
    """For those: the number of the change before which they were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoredLines:
    """Consecutive lines of one author."""

    first: int
    """From 1."""
    last: int
    author: Author


class Annotated:
    """The lines of a text with their authors, carried from version to version. Lives for one file."""

    def __init__(self) -> None:
        self._lines: list[str] | None = None
        self._authors: list[Author] = []

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
        tail = _common_tail(old, new, head)
        middle = diff_lines(old[head : len(old) - tail], new[head : len(new) - tail])
        for hunk in reversed(middle):
            added = [author] * (hunk.new_end - hunk.new_start)
            self._authors[head + hunk.old_start : head + hunk.old_end] = added
        self._lines = new

    def ranges(self) -> Iterator[AuthoredLines]:
        """Yield the lines in order, those of one author together."""
        first = 0
        for place, author in enumerate(self._authors):
            if place + 1 == len(self._authors) or self._authors[place + 1] is not author:
                yield AuthoredLines(first=first + 1, last=place + 1, author=author)
                first = place + 1


class LineHistory:
    """Walks through the versions of one file. Lives for one call; call it in a worker thread."""

    def __init__(self, history: History, kept: Callable[[str], bytes], key_of: Callable[[str], str]) -> None:
        """Know where records and texts are.

        Args:
            history: The journal's past.
            kept: Returns the bytes of a version, or raises VersionGoneError.
            key_of: Returns the lock key of a path.
        """
        self._history = history
        self._kept = kept
        self._key_of = key_of
        self._annotated = Annotated()

    def authors(self, path: str, text: str, *, now: int) -> list[AuthoredLines]:
        """Return who wrote each line of a file last.

        Args:
            path: Its path.
            text: What stands there now.
            now: The number that the next change would have.
        """
        records = list(lineage(self._history, self._key_of(path), self._key_of))[::-1]
        parents = self._history.targets([record.number for record in records], "parent")
        for record in records:
            self._follow(record, self._parents(parents.get(record.number, ())))
        if self._annotated.is_known:
            self._annotated.change(text, Author())
        else:
            self._annotated.begin(text, Author() if records else Author(before=now))
        return list(self._annotated.ranges())

    def _parents(self, numbers: Sequence[int]) -> list[ChangeRecord]:
        if not numbers:
            return []
        return self._history.select(Selection(numbers=tuple(numbers)), limit=len(numbers))[::-1]

    def _follow(self, record: ChangeRecord, parents: Sequence[ChangeRecord]) -> None:
        if record.before == record.after and self._annotated.is_known:
            return  # moved, or another mode
        text = None if record.after is None else self._text(record.after, record.path)
        if text is None:
            self._annotated.forget()
            return
        author = Author(record=record)
        if not self._annotated.is_known and not self._begin(record, text, author):
            return
        for parent in parents:
            self._pass_through(parent.before, record.path, author)
            self._pass_through(parent.after, record.path, Author(record=parent))
        self._annotated.change(text, author)

    def _begin(self, record: ChangeRecord, text: str, author: Author) -> bool:
        """Begin with a record; True if its own change is still to be told from the text before."""
        older = Author(before=record.number)
        if record.operation is Operation.FOUND:
            self._annotated.begin(text, older)
            return False
        former = None if record.before is None else self._text(record.before, record.path)
        if former is not None:
            self._annotated.begin(former, older)
            return True
        is_whole = record.before is None
        self._annotated.begin(text, author if is_whole else older)
        return False

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
        kind = sniff(content[:SAMPLE_BYTES], complete=len(content) <= SAMPLE_BYTES, name=path)
        if kind.format is None:
            return None
        try:
            return decode(content, kind.format, path=path)
        except EncodingError:
            return inspect(content, name=path)[1]


def _common_tail(old: Sequence[str], new: Sequence[str], head: int) -> int:
    most = min(len(old), len(new)) - head
    return common_prefix(old[len(old) - most :][::-1], new[len(new) - most :][::-1]) if most else 0
