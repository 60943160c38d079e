"""Pages of a content search: files in listing order, lines in file order."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import Any, Final

from msgspec import Struct

from filetools.content.facts import text_of
from filetools.errors import (
    AccessDeniedError,
    FileToolsError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotFoundError,
)
from filetools.models.searching import CLIPPED_BEFORE, GrepResult
from filetools.paths.lexical import is_addressable
from filetools.paths.names import escaped
from filetools.paths.patterns import matcher_of
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.contents.options import GrepOptions
from filetools.search.contents.pattern import MAX_COUNTED, line_end_from, plain_lines
from filetools.search.contents.reading import FileReader
from filetools.search.contents.unsaved import Unsaved, place_of, without_file
from filetools.search.options import CursorValue, decode_cursor, encode_cursor
from filetools.search.source import GONE, Abort, Listable, Source
from filetools.search.walk import Found, OrderedWalk

MAX_SHOWN: Final = 500
"""Maximum number of characters shown of a line; of a longer line, the part around the match is shown."""


class Span(Struct, frozen=True):
    """A match with the numbers of its lines."""

    start: int
    end: int
    line: int
    """From 1."""
    end_line: int


def numbered(text: str, spans: Sequence[int]) -> Iterator[Span]:
    """Yield the spans of a text with their line numbers."""
    line, counted = 1, 0
    for start, end in zip(spans[::2], spans[1::2], strict=True):
        line += text.count("\n", counted, start)
        counted = start
        last = end - 1 if end > start and text[end - 1] == "\n" else end
        yield Span(start, end, line, line + text.count("\n", start, last))


def by_line(text: str, spans: Iterator[Span]) -> Iterator[tuple[Span, dict[str, Any]]]:
    """Yield the first span of every line in which a span begins, with the texts and columns of all spans of the line."""
    for _, group in groupby(spans, key=lambda span: span.line):
        found = list(group)
        start = text.rfind("\n", 0, found[0].start) + 1
        texts = [text[span.start : min(span.end, span.start + MAX_SHOWN)] for span in found]
        yield found[0], {"matched": texts, "columns": [span.start - start + 1 for span in found]}


def described(text: str, span: Span, context: int) -> dict[str, Any]:
    """Return the fields of a match: line number, column, text, context lines."""
    first = text.rfind("\n", 0, span.start) + 1
    last = span.end - 1 if span.end > span.start and text[span.end - 1] == "\n" else span.end
    stop = line_end_from(text, last)
    shown, is_clipped = _clipped(text[first : min(stop, first + 64 * MAX_SHOWN + span.start)], span.start - first)
    fields: dict[str, Any] = {"line": span.line, "column": span.start - first + 1, "text": shown}
    if is_clipped:
        fields["clipped"] = True
    if span.end_line != span.line:
        fields["end_line"] = span.end_line
    if context:
        fields["before"] = _above(text, first, context)
        fields["after"] = _below(text, stop, context)
    return fields


def _clipped(text: str, position: int) -> tuple[str, bool]:
    if len(text) <= MAX_SHOWN:
        return text, False
    start = max(0, min(position - CLIPPED_BEFORE, len(text) - MAX_SHOWN))
    return text[start : start + MAX_SHOWN], True


def _above(text: str, first: int, count: int) -> list[str]:
    found: list[str] = []
    while first > 0 and len(found) < count:
        start = text.rfind("\n", 0, first - 1) + 1
        found.append(text[start : min(first - 1, start + MAX_SHOWN)])
        first = start
    return found[::-1]


def _below(text: str, stop: int, count: int) -> list[str]:
    found: list[str] = []
    while stop + 1 < len(text) and len(found) < count:
        start, stop = stop + 1, line_end_from(text, stop + 1)
        found.append(text[start : min(stop, start + MAX_SHOWN)])
    return found


ROWS: Final = 512
"""Number of entries taken from the walk at a time."""
MOST_WARNINGS: Final = 20

Looked = Callable[[int], None]
IsWithheld = Callable[[WorkspacePath], bool]


def grep_page(
    store: Listable,
    path: WorkspacePath,
    options: GrepOptions,
    cursor: str | None = None,
    *,
    unsaved: Unsaved | None = None,
    abort: Abort | None = None,
    is_withheld: IsWithheld | None = None,
    looked: Looked | None = None,
) -> GrepResult:
    """Return one page of the matches in files, for a worker thread.

    A cursor is a position in the order of files plus a line, and stays valid while files are added and removed.

    Args:
        store: The store to search.
        path: A folder, or one file, which is then searched regardless of its name.
        options: The pattern and the options of the search.
        cursor: `next_cursor` of the previous page; None for the first.
        unsaved: Unsaved texts that replace files.
        abort: Called for every file and while a text is matched; True stops the search.
        is_withheld: Called for every file that may match; True omits it together with its unsaved text.
        looked: Called after each file with the number of files so far.

    Raises:
        InvalidArgumentError: The pattern is not valid, an option is out of range, or the cursor is of another search.
        PathNotFoundError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError: For the path itself.
        CallTimeoutError: Matching one file took too long.
        AbortedError: `abort` returned True.
    """
    page = _Page(store, path, options, unsaved or Unsaved(), abort, is_withheld, looked)
    return page.build(cursor)


def search_text(text: str, options: GrepOptions, *, what: str, abort: Abort | None = None) -> list[dict[str, Any]]:
    """Return the matching lines of a text in the form of search rows, for a worker thread.

    Args:
        text: The text to search; LF ends a line.
        options: The pattern and the options; `limit` is the maximum number of rows.
        what: Name of the text, for errors.
        abort: Called while the text is matched; True stops the search.

    Raises:
        InvalidArgumentError, CallTimeoutError, AbortedError
    """
    spans = options.checked().find(text, what, most=options.limit, abort=abort)
    return [described(text, span, options.context) for span in numbered(text, spans)]


class _Page:
    """Builds one page. Use once."""

    def __init__(
        self, store: Listable, path: WorkspacePath, options: GrepOptions, unsaved: Unsaved, abort: Abort | None,
        is_withheld: IsWithheld | None, looked: Looked | None,
    ) -> None:  # fmt: skip
        self._store = store
        self._path = path
        self._options = options
        self._unsaved = unsaved
        self._source = Source(store, abort, "The search")
        self._is_withheld = is_withheld
        self._looked = looked
        self._pattern, self._abort = options.checked(), abort
        self._fits = matcher_of(options.glob) if options.glob is not None else None
        self._fingerprint = options.fingerprint(path)
        self._rows: list[dict[str, Any]] = []
        self._place: dict[str, CursorValue] = {}
        """Position of the last row of the page."""
        self._is_full = False
        self._warnings: list[dict[str, Any]] = []
        self._left_out = 0
        self._after: tuple[str, int] | None = None
        self._found = 0
        self._below = 0
        self._searched = 0

    def build(self, cursor: str | None) -> GrepResult:
        """Return the page after `cursor`."""
        if cursor is not None:
            fields = decode_cursor(cursor, {"after": str, "line": int, "found": int}, of=self._fingerprint)
            self._after, self._found = (str(fields["after"]), int(fields["line"])), max(int(fields["found"]), 0)
        with closing(FileReader(self._store, self._options.max_file_bytes)) as self._reader:
            for path in self._files():
                self._source.check()
                self._search(path)
                if self._is_full:
                    break
        return self._result()

    def _files(self) -> Iterator[str]:
        """Yield the paths to search, in order."""
        facts = None if self._path.is_root else self._store.stat(self._path)
        is_unsaved = self._unsaved.has(self._path)
        if facts is None and not self._path.is_root and not is_unsaved:
            raise PathNotFoundError(self._path)
        if is_unsaved or (facts is not None and facts.type == "file"):
            self._below = self._searched = 1
            yield str(self._path)
            return
        if facts is not None and facts.type == "other":
            raise NotRegularFileError(self._path)
        fits, looked = self._fits, self._looked
        for path, kind in self._walked():
            if kind != "file":
                continue
            self._below += 1
            if fits is not None and not fits(path):
                continue
            self._searched += 1
            if looked is not None:
                looked(self._searched)
            yield path

    def _walked(self) -> Iterator[Found]:
        listing = self._options.listing()
        rules = listing.rules()
        walk = OrderedWalk(self._source, self._path, listing, rules, on_closed=self._warn)
        more = without_file(self._unsaved, self._store, self._path, listing, rules)
        if self._after is not None:
            relative, line = self._after
            last = place_of(f"{self._path}/{relative}" if self._path else relative)
            more = [each for each in more if place_of(each) > last or (place_of(each) == last and line)]
            walk.resume(relative, is_directory=False, again=line > 0)
        rows = _rows(walk)
        without: list[Found] = [(path, "file") for path in more]
        return heapq.merge(rows, without, key=lambda row: place_of(*row)) if more else rows

    def _search(self, path: str) -> None:
        text, origin = self._text(path)
        # Before matching, since the time limit could reveal contents of a hidden file; but only for files that may match,
        # since checking every file would double the time of a search for a rare text.
        if text is None or (self._is_withheld is not None and self._is_withheld(WorkspacePath(path))):
            return
        skipped = self._skipped_lines(path)
        mode = self._options.output_mode
        most = 1 if mode == "files" else MAX_COUNTED
        every = self._options.only_matching
        if mode == "content" and not skipped and not every:
            most = self._options.limit + 1 - len(self._rows)
        if mode == "count" and not every:
            spans, count = [], self._pattern.count(text, path, abort=self._abort)
        else:
            spans = self._pattern.find(text, path, most=most, every=every, abort=self._abort)
            count = len(spans) // 2
        if not count:
            return
        shown = path if is_addressable(path) else escaped(path)
        if mode != "content":
            self._add({"path": shown, "origin": origin, **({} if mode == "files" else {"count": count})}, path, 0)
            return
        found = numbered(text, spans)
        for span, more in by_line(text, found) if every else ((span, {}) for span in found):
            if span.line > skipped:
                fields = described(text, span, self._options.context)
                self._add(
                    {"path": shown, "origin": origin, **fields, **more}, path, span.line if every else span.end_line
                )
                if self._is_full:
                    return

    def _skipped_lines(self, path: str) -> int:
        """Return the last line covered by the previous pages."""
        if self._after is None or not self._after[1]:
            return 0
        relative, line = self._after
        is_same = path == (f"{self._path}/{relative}" if self._path and relative else relative or self._path)
        return line if is_same else 0

    def _text(self, path: str) -> tuple[str | None, str]:
        if self._unsaved.has(path) and (unsaved := self._unsaved.text(path)) is not None:
            return plain_lines(unsaved), "buffer"
        try:
            content = self._reader.read(path)
        except FileToolsError as error:
            if isinstance(error, AccessDeniedError) or not isinstance(error, _REPLACED):
                self._warn(error)
            return None, "disk"
        # In UTF-16 and UTF-32, every ASCII character has a NUL next to it, or the text begins with a byte-order mark.
        may_be_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff") or content.find(b"\0", 0, 8192) >= 0
        if not may_be_wide and not self._pattern.may_match(content):
            return None, "disk"
        text = text_of(content)
        if text is None and self._options.all:
            text = content.decode("latin-1").translate(_CONTROLS)
        return None if text is None else plain_lines(text), "disk"

    def _add(self, row: dict[str, Any], path: str, line: int) -> None:
        if len(self._rows) == self._options.limit:
            self._is_full = True
            return
        self._rows.append(row)
        relative = path[len(self._path) + 1 :] if self._path else path
        self._place = {"after": relative, "line": line}

    def _warn(self, error: FileToolsError) -> None:
        self._left_out += 1
        if len(self._warnings) < MOST_WARNINGS:
            self._warnings.append({"code": error.code, "message": f"Not searched: {error.message}"})

    def _result(self) -> GrepResult:
        found = self._found + len(self._rows)
        is_content = self._options.output_mode == "content"
        cursor = encode_cursor({**self._place, "found": found, "of": self._fingerprint}) if self._is_full else None
        return GrepResult.model_validate(
            {
                "path": str(self._path),
                "output_mode": self._options.output_mode,
                "matches": self._rows if is_content else [],
                "files": [] if is_content else self._rows,
                "total": found,
                "total_is_complete": not self._is_full and not self._left_out,
                "truncated": self._is_full,
                "next_cursor": cursor,
                **({} if found else {"files_searched": self._searched, "files_below": self._below}),
                "warnings": self._warnings,
            }
        )


_REPLACED: Final = (*GONE, NotRegularFileError, PathIsDirectoryError)
"""Errors that mean a file seen a moment ago was removed, or replaced by something else."""
_CONTROLS: Final = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"}


def _rows(walk: OrderedWalk) -> Iterator[Found]:
    while rows := walk.take(ROWS):
        yield from rows
