"""Matches of a search as lines: with headings and colours at a terminal, and as grep writes them into a pipe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.text import Text

from filetools.cli.terminal import STDOUT, print_line, printable, printable_line

if TYPE_CHECKING:
    from filetools.models.searching import GrepMatch, GrepResult

_MATCH_STYLE: Final = "bold red"
_PROBES: Final = ("", "a ")
"""Texts in which an expression that can match nothing does so somewhere, whatever borders it wants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowForm:
    """How lines are wanted."""

    before: int
    after: int
    """Lines around each match."""
    only_matching: bool
    """Whether each match is printed on a line of its own."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a file."""

    match: GrepMatch
    text: str
    is_match: bool
    spans: tuple[tuple[int, int], ...] = ()
    """Where it matches."""


class MatchPrinter:
    """Prints the pages of one search as one."""

    def __init__(self, form: RowForm) -> None:
        self._form = form
        self._path: str | None = None
        self._last = 0
        """Number of the last line of the path that is printed."""

    def show(self, page: GrepResult) -> None:
        """Print a page."""
        for file in page.files:
            number = "" if file.count is None else f":{file.count}"
            print_line((printable(file.path), "magenta"), (number, "green"), _origin(file.origin))
        for path, matches in groupby(page.matches, key=lambda match: match.path):
            if path != self._path:
                self._begin(path)
            if self._form.only_matching:
                self._show_matches(list(matches))
            else:
                self._show_rows(list(matches))

    def _begin(self, path: str) -> None:
        is_first, self._path, self._last = self._path is None, path, 0
        if STDOUT.is_terminal:
            if not is_first:
                print_line()
            print_line((printable(path), "bold magenta"))
        elif not is_first and self._has_context:
            print_line("--")

    @property
    def _has_context(self) -> bool:
        return bool(self._form.before or self._form.after) and not self._form.only_matching

    def _show_matches(self, matches: list[GrepMatch]) -> None:
        for match in matches:
            for text in match.matched or ():
                for number, line in enumerate(text.split("\n"), match.line):
                    self._show_line(number, _Row(match, line, True, ((0, len(line)),)))

    def _show_rows(self, matches: list[GrepMatch]) -> None:
        rows: dict[int, _Row] = {}
        for match in matches:
            for number, row in _rows(match, self._form):
                if row.is_match or number not in rows:  # what is context of one may be the next one's match
                    rows[number] = row
        for number in sorted(rows):
            if number <= self._last and not rows[number].is_match:
                continue
            if self._has_context and self._last and number > self._last + 1:
                print_line(("--", "dim"))
            self._show_line(number, rows[number])
            self._last = number

    def _show_line(self, number: int, row: _Row) -> None:
        sign = ":" if row.is_match else "-"
        if STDOUT.is_terminal:
            origin = _origin(row.match.origin) if row.is_match else Text()
            print_line((str(number), "green" if row.is_match else "dim"), sign, _highlighted(row), origin)
        else:
            print_line(f"{printable(row.match.path)}{sign}{number}{sign}", printable_line(row.text))


def never_matches_nothing(pattern: str, *, literal: bool) -> bool:
    """Whether every match of a pattern has characters; a line whose only matches have none could not be highlighted."""
    if literal:
        return True
    try:
        expression = re.compile(pattern, re.MULTILINE)
    except re.error:  # the search itself says why
        return False
    return all(found.group() for text in _PROBES for found in expression.finditer(text))


def _rows(match: GrepMatch, form: RowForm) -> Iterator[tuple[int, _Row]]:
    above = (match.before or [])[-form.before :] if form.before else []
    below = (match.after or [])[: form.after]
    lines = match.text.split("\n")
    spans = () if match.clipped or len(lines) > 1 else tuple(_spans(match))
    rows = [_Row(match, line, False) for line in above]
    rows += [_Row(match, line, True, spans) for line in lines]
    rows += [_Row(match, line, False) for line in below]
    yield from enumerate(rows, match.line - len(above))


def _spans(match: GrepMatch) -> Iterator[tuple[int, int]]:
    for column, text in zip(match.columns or (), match.matched or (), strict=True):
        yield column - 1, column - 1 + len(text)


def _highlighted(row: _Row) -> Text:
    """Return a line with its matches in colour; made of parts, since what is escaped gets longer."""
    shown, position = Text(), 0
    for start, end in row.spans:
        shown.append(printable_line(row.text[position:start]))
        shown.append(printable_line(row.text[start:end]), style=_MATCH_STYLE)
        position = end
    return shown.append(printable_line(row.text[position:]))


def _origin(origin: str) -> Text:
    return Text("  (not saved)" if origin == "buffer" and STDOUT.is_terminal else "", style="yellow")
