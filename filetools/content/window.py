"""The record of a part of a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of a file's text, line ends untouched."""

    content: str
    first: int
    """Where it begins: a line number for line ranges (negative if counted from the end), else a byte of the file."""
    truncated: bool
    """Whether the file goes on after it."""
    next_offset: int | None
    """Where the next part begins, counted as `first`; None if nothing follows."""
    total_lines: int | None = None
    """Lines of the whole file, where they are known."""
    cut_at: int | None = None
    """Byte where the rest of a cut line begins: it is longer than a window, and `next_offset` is the line after it."""
