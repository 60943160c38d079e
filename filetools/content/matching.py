r"""Where a text occurs in a file, if LF in it stands for any line end of the file.

A text that holds CR is taken literally: whoever sends CR knows the file's line ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from filetools.content.lines import newline_of


def matches_of(old: str, text: str, *, overlapping: bool = False) -> list[tuple[int, int]]:
    """Return start and end of every match, from left to right.

    Args:
        old: What to look for; not empty.
        text: The whole file.
        overlapping: Whether a match may begin within the one before.
    """
    step = 1 if overlapping else len(old)
    if "\n" not in old or "\r" in old or "\r" not in text:
        return [(start, start + len(old)) for start in _places(old, text, step)]
    newline = newline_of(text)
    if newline == "cr":
        return [(start, start + len(old)) for start in _places(old, text.replace("\r", "\n"), step)]
    if newline == "crlf":
        literal = old.replace("\n", "\r\n")
        return [(start, start + len(literal)) for start in _places(literal, text, 1 if overlapping else len(literal))]
    plain = text.replace("\r\n", "\n")
    ends = _shortened_ends(text)
    return [
        (start + bisect_left(ends, start), start + len(old) + bisect_left(ends, start + len(old)))
        for start in _places(old, plain, step)
    ]


def lines_at(text: str, places: list[int]) -> list[int]:
    """Return the line, from 1, of each of some rising places in a text."""
    end = "\n" if "\n" in text else "\r"
    lines: list[int] = []
    line, counted = 1, 0
    for place in places:
        line += text.count(end, counted, place)
        counted = place
        lines.append(line)
    return lines


def _places(old: str, text: str, step: int) -> Iterator[int]:
    place = text.find(old)
    while place >= 0:
        yield place
        place = text.find(old, place + step)


def _shortened_ends(text: str) -> list[int]:
    """Return where in the text with LF for CRLF those LF stand that were CRLF."""
    ends: list[int] = []
    place = text.find("\r\n")
    while place >= 0:
        ends.append(place - len(ends))
        place = text.find("\r\n", place + 2)
    return ends
