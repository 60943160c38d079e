"""Whole texts in which a writer left most of the old one out, and a line that stands for it instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_MOST_CHARACTERS: Final = 4 * 1024 * 1024
_PLACEHOLDER: Final = re.compile(
    r"""(?ix)
    \b(?:rest|remainder|remaining|existing|other|previous|original)\b [^\n]{0,40}
        \b(?:unchanged|(?:the|as)\ same|same\ as|stays?|remains?|as\ before|as\ is|here|omitted|unmodified|goes|continues)\b
    | (?:\.\.\.|\u2026)\s*(?:the\s+)?(?:rest|remainder|remaining|existing|unchanged|other|omitted|same)\b
    | \b(?:unchanged|omitted|unmodified)\b [^\n]{0,20}(?:\.\.\.|\u2026)
    | \b(?:same|unchanged)\s+as\s+before\b
    """
)
_SIGNS: Final = (
    "unchanged", "omitted", "unmodified", "rest", "remain", "existing", "other", "previous", "original", "as before",
    "...", "\u2026",
)  # fmt: skip
"""One of these is in every placeholder: a substring is found a hundred times faster than the expression."""
_LONGEST_LINE: Final = 200


def left_out(old: Callable[[], str | None], new: str) -> int | None:
    """Return the line of a new text, from 1, that says that the rest is as before, if most of the old text is gone.

    Args:
        old: Returns the text before, which is read only where such a line is; None if there is none.
        new: The text that takes its place.
    """
    lines = new.splitlines() if len(new) <= _MOST_CHARACTERS else []
    placeholders = [at for at, line in enumerate(lines, 1) if _is_placeholder(line)]
    if not placeholders or (text := old()) is None or len(text) > _MOST_CHARACTERS:
        return None
    before = {line.strip() for line in text.splitlines()} - {""}
    is_mostly_gone = 2 * len(before & {line.strip() for line in lines}) < len(before)
    return next((at for at in placeholders if is_mostly_gone and lines[at - 1].strip() not in before), None)


def _is_placeholder(line: str) -> bool:
    folded = line.lower()
    return (
        len(line) <= _LONGEST_LINE and any(sign in folded for sign in _SIGNS) and _PLACEHOLDER.search(line) is not None
    )
