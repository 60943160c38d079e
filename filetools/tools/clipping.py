"""Cutting texts for models: at a line end, so that reading can go on at the next line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from filetools.content.ends import split_lines
from filetools.content.lines import count_lines

MAX_LINES: Final = 2000
MAX_CHARACTERS: Final = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLimits:
    """Most of a text that a model gets at once."""

    lines: int = MAX_LINES
    characters: int = MAX_CHARACTERS


def clipped(text: str, limits: TextLimits, *, count: int | None = None) -> tuple[str, int | None]:
    """Return the beginning of a text that keeps the limits, and its number of lines if something was left out.

    It ends at a line end; only where the first line alone is too long, inside of it. Then that line counts as given.

    Args:
        text: What may be too long.
        limits: Most lines and characters.
        count: How many lines it has, where that is known.
    """
    # Most texts are small, and counting is a hundred times quicker than looking at each line.
    if len(text) <= limits.characters and (count_lines(text) if count is None else count) <= limits.lines:
        return text, None
    kept: list[str] = []
    left = limits.characters
    lines = split_lines(text)
    for line in lines[: limits.lines]:
        if len(line) > left:
            break
        kept.append(line)
        left -= len(line)
    if len(kept) == len(lines):
        return text, None
    if not kept:
        return lines[0][: limits.characters], 1
    return "".join(kept), len(kept)
