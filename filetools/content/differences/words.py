"""Splits texts into words, and merges two changes of the same lines by words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from filetools.content.differences.alignment import numbered
from filetools.content.differences.diff3 import MergeChunk, diff3
from filetools.content.editing.text_edits import TextEdit
from filetools.content.ends import split_lines

_WORD: Final = re.compile(r"\w+|[ \t]+|\r\n|.", re.DOTALL)
_MAX_CHARACTERS: Final = 100_000
_MAX_COST: Final = 100_000


def split_words(text: str) -> list[str]:
    """Split a text into words, runs of blanks, line ends and single other characters; joined they give the text again."""
    return _WORD.findall(text)


def starts_of(parts: Sequence[str]) -> list[int]:
    """Return the start of each part of a text, in characters, followed by the end of the text."""
    return list(accumulate(map(len, parts), initial=0))


def merge_words(base: str, ours: str, theirs: str) -> list[TextEdit] | None:
    """Return the edits of `ours` that apply the changes of `theirs` within lines, or None if they cannot be merged.

    Neither side may have added or removed a line: the words of a new line match others by chance, and would be merged into
    unrelated lines. At least one word must be unchanged between changes of different sides, and at least half of the base
    in total.

    Args:
        base: Some lines before both changes.
        ours: The same lines in the current text.
        theirs: The same lines in the proposed text.
    """
    if max(len(base), len(ours), len(theirs)) > _MAX_CHARACTERS:
        return None
    lines = [split_lines(text) for text in (base, ours, theirs)]
    if len({len(side) for side in lines}) > 1:
        return None
    places: list[MergeChunk] = []
    words: tuple[list[str], list[str], list[str]] = ([], [], [])
    base_words, our_words, their_words = words
    for line in zip(*lines, strict=True):
        in_line = [split_words(text) for text in line]
        for place in diff3(*numbered(*in_line), max_cost=_MAX_COST):
            if place.kind in ("conflict", "doubt"):
                return None
            places.append(_shifted(place, [len(side) for side in words]))
        for side, more in zip(words, in_line, strict=True):
            side += more
    if not _are_apart(places, base_words):
        return None
    starts = starts_of(base_words)
    if 2 * max(_changed(places, "ours", starts), _changed(places, "theirs", starts)) > len(base):
        return None
    at = starts_of(our_words)
    return [
        TextEdit(at[place.ours[0]], at[place.ours[1]], "".join(their_words[slice(*place.theirs)]))
        for place in places
        if place.kind == "theirs"
    ]


def _shifted(place: MergeChunk, by: Sequence[int]) -> MergeChunk:
    base, ours, theirs = (
        (start + shift, end + shift)
        for (start, end), shift in zip((place.base, place.ours, place.theirs), by, strict=True)
    )
    return replace(place, base=base, ours=ours, theirs=theirs)


def _are_apart(places: Sequence[MergeChunk], words: Sequence[str]) -> bool:
    """Return True if an unchanged word separates every two changes of different sides."""
    side = None
    has_word = False
    at = 0
    for place in places:
        has_word = has_word or any(each[0] == "_" or each[0].isalnum() for each in words[at : place.base[0]])
        at = place.base[1]
        if place.kind == "both":
            continue
        if side not in (None, place.kind) and not has_word:
            return False
        side, has_word = place.kind, False
    return True


def _changed(places: Sequence[MergeChunk], side: str, starts: Sequence[int]) -> int:
    return sum(starts[place.base[1]] - starts[place.base[0]] for place in places if place.kind in (side, "both"))
