"""Lines of a text: their number, their ends, and where in them a character stands.

A line is ended by LF, by CRLF, or, only in a text without any LF, by CR. Text after the last end is a line too.
"""

from __future__ import annotations

from filetools.models import Newline


def newline_of(text: str) -> Newline:
    """Return which line ends a text has; "mixed" if LF, CRLF and lone CR do not stand alone, "none" if it has none."""
    return tally(text)[0]


def count_lines(text: str) -> int:
    """Return how many lines a text has; an empty text has 0."""
    return tally(text)[1]


def tally(text: str) -> tuple[Newline, int]:
    """Return `newline_of` and `count_lines` from one pass of counting."""
    feeds = text.count("\n")
    if "\r" not in text:
        return ("lf" if feeds else "none"), feeds + (text != "" and not text.endswith("\n"))
    returns = text.count("\r")
    pairs = text.count("\r\n") if feeds else 0
    ends, last = (feeds, "\n") if feeds else (returns, "\r")
    return _newline(feeds - pairs, pairs, returns - pairs), ends + (not text.endswith(last))


def _newline(feeds: int, pairs: int, returns: int) -> Newline:
    if (feeds > 0) + (pairs > 0) + (returns > 0) > 1:
        return "mixed"
    if pairs:
        return "crlf"
    return "lf" if feeds else "cr"


def position_in(text: str, index: int) -> tuple[int, int]:
    """Return line and column, both from 1, of the character at `index`."""
    end = "\n" if "\n" in text else "\r"
    return text.count(end, 0, index) + 1, index - text.rfind(end, 0, index)
