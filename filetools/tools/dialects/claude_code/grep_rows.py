"""Matches as the rows that grep prints: lines around merged, groups apart, and only so many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from filetools.models.searching import GrepMatch
from filetools.tools.seen import TextLimits, clipped

_UNSAVED = "  (unsaved text of an editor)"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepRowForm:
    """How rows look."""

    before: int
    """Lines above each match."""
    after: int
    """Lines below."""
    has_numbers: bool
    only_matching: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWindow:
    """Which rows are asked for."""

    offset: int
    limit: int

    def has_all(self, count: int) -> bool:
        """Whether so many rows are enough to know that there are more."""
        return count > self.offset + self.limit

    def cut(self, rows: list[str]) -> list[str]:
        """Return the rows of the window."""
        return rows[self.offset : self.offset + self.limit]

    def facts(self, count: int) -> dict[str, Any]:
        """Return what is told of it, where it left out anything."""
        limit = {"appliedLimit": self.limit} if self.has_all(count) else {}
        return limit | ({"appliedOffset": self.offset} if self.offset else {})


def rows_of(matches: Iterable[GrepMatch], form: GrepRowForm) -> Iterator[str]:
    """Yield the rows of matches, which come file by file and in the order of lines."""
    is_first = True
    for path, of_file in groupby(matches, key=lambda match: match.path):
        for group in _groups(of_file, form):
            if (form.before or form.after) and not is_first:
                yield "--"
            is_first = False
            for number, (sign, text) in group:
                place = f"{number}{sign}" if form.has_numbers else ""
                yield f"{path}{sign}{place}{text}"


Line = tuple[int, tuple[str, str]]


def _groups(matches: Iterable[GrepMatch], form: GrepRowForm) -> Iterator[list[Line]]:
    """Yield the lines of one file in groups without gaps; a line that matches is not repeated as one around another."""
    group: dict[int, tuple[str, str]] = {}
    for match in matches:
        lines = _lines(match, form)
        if form.only_matching:
            yield lines
            continue
        if group and lines[0][0] > max(group) + 1:
            yield sorted(group.items())
            group = {}
        for number, line in lines:
            if group.get(number, ("-", ""))[0] == "-":
                group[number] = line
    if group:
        yield sorted(group.items())


def _lines(match: GrepMatch, form: GrepRowForm) -> list[Line]:
    remark = _UNSAVED if match.origin == "buffer" else ""
    if form.only_matching:
        return [(match.line, (":", part + remark)) for text in match.matched or () for part in text.split("\n")]
    above = (match.before or [])[-form.before :] if form.before else []
    below = (match.after or [])[: form.after]
    dots = "\u2026" if match.clipped else ""
    own = [f"{dots}{text}{dots}{remark}" for text in match.text.split("\n")]
    return [
        *((number, ("-", text)) for number, text in enumerate(above, match.line - len(above))),
        *((number, (":", text)) for number, text in enumerate(own, match.line)),
        *((number, ("-", text)) for number, text in enumerate(below, (match.end_line or match.line) + 1)),
    ]


def grep_text(data: Mapping[str, Any], limits: TextLimits) -> str:
    """Return the text of what Grep found, for a model."""
    window = ", ".join(
        f"{word}: {data[name]}"
        for word, name in (("limit", "appliedLimit"), ("offset", "appliedOffset"))
        if name in data
    )
    if data["mode"] == "files_with_matches":
        if not data["filenames"]:
            return "No files found"
        head = f"Found {_counted(data['numFiles'], 'file')}{f' {window}' if window else ''}"
        return _cut("\n".join((head, *data["filenames"])), limits)
    body = _cut(data["content"], limits) or "No matches found"
    if data["mode"] == "content":
        return body + (f"\n\n[Showing results with pagination = {window}]" if window else "")
    total = f"Found {_counted(data['numMatches'], 'total occurrence')} across {_counted(data['numFiles'], 'file')}."
    return f"{body}\n\n{total}" + (f" with pagination = {window}" if window else "")


def _cut(text: str, limits: TextLimits) -> str:
    shown, kept = clipped(text, limits)
    return text if kept is None else f"{shown}[only {kept} rows shown: use head_limit and offset, or search for less]"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
