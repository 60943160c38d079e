"""Cuts texts without splitting what is displayed as one character."""

from __future__ import annotations

import unicodedata
from typing import Final

MOST_BACK: Final = 16
"""Maximum number of characters by which a cut moves back."""
_JOINER: Final = "\u200d"
_SKIN_TONES: Final = ("\U0001f3fb", "\U0001f3ff")
_TAGS: Final = ("\U000e0020", "\U000e007f")


def whole_start(text: str, most: int) -> str:
    """Return a text, or its beginning of at most `most` code points, without splitting an accented letter or an emoji."""
    return text if len(text) <= most else text[: whole_end(text, 0, most)]


def whole_end(text: str, begin: int, end: int) -> int:
    """Return the end of a part of a text: `end`, or a position shortly before it that does not split a character.

    Args:
        text: The whole text.
        begin: Start of the part.
        end: Latest end of the part, before the end of the text.
    """
    for place in range(end, max(begin, end - MOST_BACK - 1), -1):
        if not _extends_previous(text[place - 1], text[place]):
            return place
    return end


def is_one_character(text: str) -> bool:
    """Return True if a text is displayed as exactly one character, of any number of code points. Stops at the second."""
    return text != "" and all(_extends_previous(text[place - 1], text[place]) for place in range(1, len(text)))


def _extends_previous(before: str, char: str) -> bool:
    if char.isascii():
        return (before == "\r" and char == "\n") or before == _JOINER
    return (
        before == _JOINER
        or char == _JOINER
        or unicodedata.category(char) in ("Mn", "Mc", "Me")  # combining marks, including variation selectors
        or _SKIN_TONES[0] <= char <= _SKIN_TONES[1]
        or _TAGS[0] <= char <= _TAGS[1]
    )
