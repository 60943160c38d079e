"""Words: texts as sequences of words, and the merge of two changes of the same lines by them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from filetools.content.alignment import numbered
from filetools.content.text_edits import TextEdit
from filetools.content.weaving import Place, weave

_WORD: Final = re.compile(r"\w+|[ \t]+|\r\n|.", re.DOTALL)
_MAX_CHARACTERS: Final = 100_000
_MAX_COST: Final = 100_000


def split_words(text: str) -> list[str]:
    """Return the words, runs of blanks, line ends and single other characters a text is made of; joined they are it."""
    return _WORD.findall(text)


def starts_of(parts: Sequence[str]) -> list[int]:
    """Return where each part of a text starts, in characters, and at last where the text ends."""
    return list(accumulate(map(len, parts), initial=0))


def merge_words(base: str, ours: str, theirs: str) -> list[TextEdit] | None:
    """Return the edits of `ours` that bring in what `theirs` changed, or None if that cannot be told.

    Both sides must have left at least one word, blank or sign unchanged between their changes, and at least half of the
    base unchanged in all: what matches by chance between unrelated lines says nothing.

    Args:
        base: Some lines before both changes.
        ours: The same lines as they are.
        theirs: The same lines as the other side would have them.
    """
    if max(len(base), len(ours), len(theirs)) > _MAX_CHARACTERS:
        return None
    base_words, our_words, their_words = split_words(base), split_words(ours), split_words(theirs)
    places = weave(*numbered(base_words, our_words, their_words), max_cost=_MAX_COST)
    if any(place.kind in ("conflict", "doubt") for place in places):
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


def _changed(places: Sequence[Place], side: str, starts: Sequence[int]) -> int:
    return sum(starts[place.base[1]] - starts[place.base[0]] for place in places if place.kind in (side, "both"))
