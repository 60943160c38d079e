"""The lines around places in a text, by which places that look alike can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypedDict

from filetools.content.ends import split_lines

MOST_PLACES: Final = 5
LINES_AROUND: Final = 1
MOST_CHARACTERS: Final = 600
"""Of one place; a longer one is left out."""


class Surroundings(TypedDict):
    """A place with the lines around it, as JSON."""

    line: int
    """Where the place begins, from 1."""
    text: str
    """The lines as they are, ready to be copied."""


def lines_around(text: str, lines: Sequence[int], height: int = 1) -> list[Surroundings]:
    """Return the first few places with a line before and a line behind each.

    Args:
        text: The whole text.
        lines: Where the places begin, from 1.
        height: How many lines each has.
    """
    parts = split_lines(text)
    found: list[Surroundings] = []
    for line in list(dict.fromkeys(lines))[:MOST_PLACES]:
        around = "".join(parts[max(0, line - 1 - LINES_AROUND) : line - 1 + height + LINES_AROUND])
        # Cut short it would be no longer what stands there.
        if len(around) <= MOST_CHARACTERS:
            found.append({"line": line, "text": around})
    return found
