"""Changes of lines that look like those of a file, carried over to the file's own characters.

What a change leaves is as the file has it, character by character; what it puts in is as it was written, unless a
character of it must be one of the file's. Where it could be either, nothing is carried.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from filetools.content.alignment import MAX_COST, differences
from filetools.content.myers import common_prefix, common_suffix

_LIKE: Final = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00a0\u2007\u202f", " ")
)
"""Each stands for one character, so that places stay what they are."""

BLANKS: Final = " \t"


def folded_line(line: str) -> str:
    """Return a line as it is compared where it does not stand exactly: plain quotes and blanks, none at its end."""
    return line.translate(_LIKE).rstrip(BLANKS)


def carried(old: Sequence[str], new: Sequence[str], there: Sequence[str]) -> list[str] | None:
    """Return the new lines in which all that they share with the old ones is as the file has it.

    Args:
        old: Lines as somebody sent them, without their ends.
        new: What is to stand there instead.
        there: The same lines as the file has them; each folded is the old one folded.

    Returns:
        The lines, or None if a character that the change moves could be the sent one or the file's.
    """
    known = _plain_ones(old, there)
    made: list[str] = []
    at = 0
    for old_start, old_end, new_start, new_end in differences(old, new, max_cost=MAX_COST):
        made += there[at:old_start]
        at = old_end
        sides = old[old_start:old_end], new[new_start:new_end], there[old_start:old_end]
        if all(sides):
            changed = _changed(*sides, known)
            if changed is None:
                return None
            made += changed.split("\n")
        else:
            made += [line.translate(known) for line in sides[1]]
    return [*made, *there[at:]]


def _changed(old: Sequence[str], new: Sequence[str], there: Sequence[str], known: Mapping[int, str]) -> str | None:
    """Return changed lines: their first and last characters as the file has them where the change keeps those."""
    before, after, its = "\n".join(old), "\n".join(new), "\n".join(there)
    head = common_prefix(before, after)
    tail = common_suffix(before, after, head)
    places = _Places(old, there)
    left, right = places.behind(head), places.ahead(len(before) - tail)
    middle = _rewritten(
        before[head : len(before) - tail], its[left : max(left, right)], after[head : len(after) - tail], known
    )
    return None if middle is None else its[:left] + middle + its[max(left, right) :]


class _Places:
    """Where the characters of some lines are in the same lines of a file, which have other blanks at their ends."""

    def __init__(self, old: Sequence[str], there: Sequence[str]) -> None:
        self._old_starts = list(itertools.accumulate((len(line) + 1 for line in old), initial=0))
        self._starts = list(itertools.accumulate((len(line) + 1 for line in there), initial=0))
        self._kept = [len(folded_line(line)) for line in old]
        self._sizes = [len(line) for line in there]

    def behind(self, at: int) -> int:
        """Return where a change begins: before the blanks of a line whose text it goes on with."""
        line, column = self._line(at)
        return self._starts[line] + min(column, self._kept[line])

    def ahead(self, at: int) -> int:
        """Return where a change ends: behind the blanks of a line of whose text it leaves nothing."""
        line, column = self._line(at)
        return self._starts[line] + (column if column < self._kept[line] else self._sizes[line])

    def _line(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._old_starts, at) - 1
        return line, at - self._old_starts[line]


def _rewritten(old: str, there: str, new: str, known: Mapping[int, str]) -> str | None:
    """Return what is put in the place of a text: its quotes, dashes and blanks are those that the file has there.

    They are where there are as many of a kind, in the same order; where the file has other ones than were sent, and
    there are more or fewer now, nobody can say which are which.
    """
    new = new.translate(known)
    sent, own = _without_blanks(old), _without_blanks(there)
    kinds = {plain[0] for plain in map(_plain, _differing(sent, own))}
    rest = [each for each in own if _plain(each) in kinds]
    places = [at for at, each in enumerate(new) if _plain(each) in kinds]
    if not places:
        return new
    if [_plain(each) for each in rest] != [_plain(new[at]) for at in places]:
        return None
    characters = list(new)
    for at, each in zip(places, rest, strict=True):
        characters[at] = each
    return "".join(characters)


def _without_blanks(text: str) -> str:
    return "".join(line[: len(folded_line(line))] for line in text.split("\n"))


def _differing(sent: str, own: str) -> list[str]:
    return [its for each, its in zip(sent, own, strict=False) if each != its and _plain(each) == _plain(its)]


def _plain(character: str) -> str:
    return character.translate(_LIKE)


def _plain_ones(old: Sequence[str], there: Sequence[str]) -> Mapping[int, str]:
    """Return the typographic characters that were sent for plain ones wherever they were: whoever sent them means those."""
    meant: dict[str, set[str]] = {}
    for line, its in zip(old, there, strict=True):
        for each, own in zip(line, its, strict=False):
            if not each.isascii() and _plain(each) != each:
                meant.setdefault(each, set()).add(own)
    return {ord(each): next(iter(own)) for each, own in meant.items() if len(own) == 1 and next(iter(own)).isascii()}
