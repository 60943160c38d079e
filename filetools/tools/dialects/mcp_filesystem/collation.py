"""The order of names for people, as programs in JavaScript sort them: marks, digits, letters of any case and accent."""

from __future__ import annotations

import unicodedata
from typing import Final

_MARKS: Final = {mark: rank for rank, mark in enumerate("_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$")}
"""Printable ASCII without letters and digits, in the order of the Unicode collation."""

CollationKey = tuple[tuple[tuple[int, int, str], ...], str, tuple[bool, ...], str]


def collation_key(name: str) -> CollationKey:
    """Return what to sort a name by: letters first, then accents, then lower before upper case."""
    bare = "".join(each for each in unicodedata.normalize("NFD", name) if not unicodedata.combining(each))
    folded = bare.casefold()
    return tuple(map(_rank, folded)), unicodedata.normalize("NFD", name.casefold()), tuple(map(str.isupper, bare)), name


def _rank(character: str) -> tuple[int, int, str]:
    if character.isspace():
        return 0, 0, character
    if character in _MARKS:
        return 1, _MARKS[character], character
    kind = 4 if character.isalpha() else 3 if character.isdigit() else 2
    return kind, 0, character
