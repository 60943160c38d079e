"""Matches as callers see them: line numbers, the lines themselves, and those around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

MAX_SHOWN: Final = 500
"""Characters of a line that are shown; of a longer one the part around the match."""
_BEFORE: Final = 100
"""Characters of a clipped line before the match."""


@dataclass(frozen=True, slots=True)
class Span:
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


def by_line(text: str, spans: Iterator[Span]) -> Iterator[tuple[Span, list[str], list[int]]]:
    """Yield the first span of every line in which one begins, and the texts and columns of all of them."""
    for _, group in groupby(spans, key=lambda span: span.line):
        found = list(group)
        start = text.rfind("\n", 0, found[0].start) + 1
        texts = [text[span.start : min(span.end, span.start + MAX_SHOWN)] for span in found]
        yield found[0], texts, [span.start - start + 1 for span in found]


def described(text: str, span: Span, context: int) -> dict[str, Any]:
    """Return the fields of a match: number, column, text, lines around."""
    first = text.rfind("\n", 0, span.start) + 1
    last = span.end - 1 if span.end > span.start and text[span.end - 1] == "\n" else span.end
    stop = _line_end(text, last)
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
    start = max(0, min(position - _BEFORE, len(text) - MAX_SHOWN))
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
        start, stop = stop + 1, _line_end(text, stop + 1)
        found.append(text[start : min(stop, start + MAX_SHOWN)])
    return found


def _line_end(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found
