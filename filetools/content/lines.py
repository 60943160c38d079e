"""Lines of a text: their number, their line ends, and line and column of a character.

A line ends with LF, CRLF or, only in a text without any LF, CR. Text after the last line end is a line, too.
"""

from __future__ import annotations

import io

from filetools.models.words import Newline


def newline_of(text: str) -> Newline:
    """Return the line ends of a text; "mixed" if it has more than one of LF, CRLF and lone CR, "none" if it has none."""
    return tally(text)[0]


def count_lines(text: str) -> int:
    """Return the number of lines of a text; 0 for an empty text."""
    return tally(text)[1]


def tally(text: str) -> tuple[Newline, int]:
    """Return `newline_of` and `count_lines` from one pass of counting."""
    feeds = text.count("\n")
    if "\r" not in text:
        return ("lf" if feeds else "none"), feeds + (text != "" and not text.endswith("\n"))
    ends, last = (feeds, "\n") if feeds else (text.count("\r"), "\r")
    # The decoder records which line ends it saw, in a third of the time of counting CR and CRLF.
    decoder = io.IncrementalNewlineDecoder(None, translate=False)
    decoder.decode(text, final=True)
    newline: Newline = "crlf" if decoder.newlines == "\r\n" else "cr" if decoder.newlines == "\r" else "mixed"
    return newline, ends + (not text.endswith(last))


def mark_of(text: str) -> str:
    r"""Return the character that ends every line of a text: "\n", or "\r" if it has "\r" but no "\n"."""
    return "\n" if "\n" in text or "\r" not in text else "\r"


def position_in(text: str, index: int) -> tuple[int, int]:
    """Return line and column, both from 1, of the character at `index`."""
    end = mark_of(text)
    return text.count(end, 0, index) + 1, index - text.rfind(end, 0, index)
