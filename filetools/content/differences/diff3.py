"""Compares two changed versions of a sequence with their base, and finds the places changed by one side or by both.

Two changes touch if no unchanged element of the base is between them. Touching changes whose positions are certain conflict.
If a change has several possible positions, the last one is used, as in git, unless another position would give a different
result: then the intention is ambiguous, and it is a conflict, too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import product
from operator import itemgetter
from typing import Literal

from msgspec import Struct

from filetools.content.differences.alignment import Alignment, Span, align
from filetools.content.differences.myers import Ids

Range = tuple[int, int]
Kind = Literal["ours", "theirs", "both", "conflict", "doubt"]


class MergeChunk(Struct, frozen=True, kw_only=True):
    """One place where at least one side differs from the base. Ranges are elements, from 0, ends excluded."""

    kind: Kind
    """The side whose change applies; "both" made the same one; "doubt" is a conflict caused only by repetitions."""
    base: Range
    ours: Range
    theirs: Range


def diff3(base: Ids, ours: Ids, theirs: Ids, *, max_cost: int) -> list[MergeChunk]:
    """Return every changed place, in order. The two sides are treated equally.

    Args:
        base: The common base, with elements as small integers.
        ours: One side.
        theirs: The other side.
        max_cost: Maximum number of steps of each of the at most four searches.
    """
    return list(_Diff3(base, ours, theirs, max_cost).chunks())


class _Diff3:
    """Both sides of one merge and their alignments."""

    def __init__(self, base: Ids, ours: Ids, theirs: Ids, max_cost: int) -> None:
        self._ours, self._theirs = ours, theirs
        self._alignments = align(base, ours, max_cost=max_cost), align(base, theirs, max_cost=max_cost)
        self._is_certain = all(each.certain is each.late for each in self._alignments)

    def chunks(self) -> Iterator[MergeChunk]:
        """Yield the chunks of the certain alignments, each resolved."""
        ours, theirs = self._alignments
        for place in self._joined(ours.certain, theirs.certain):
            if place.kind != "conflict" or self._is_certain:
                yield place
            else:
                yield from self._resolved(place)

    def _resolved(self, place: MergeChunk) -> list[MergeChunk]:
        o, t = (_within(each, place.base) for each in self._alignments)
        o_shift, t_shift = place.ours[0] - place.base[0], place.theirs[0] - place.base[0]
        late = list(self._joined(o.late, t.late, o_shift, t_shift))
        if any(part.kind == "conflict" for part in late):
            return late
        wanted = self._merged(place, late)
        for first, second in product((o.late, *o.others), (t.late, *t.others)):
            other = list(self._joined(first, second, o_shift, t_shift))
            if all(part.kind != "conflict" for part in other) and self._merged(place, other) != wanted:
                return [MergeChunk(kind="doubt", base=place.base, ours=place.ours, theirs=place.theirs)]
        return late

    def _joined(
        self, ours: Sequence[Span], theirs: Sequence[Span], o_shift: int = 0, t_shift: int = 0
    ) -> Iterator[MergeChunk]:
        """Yield the changes of both sides, joining those that touch; the shifts convert base positions to each side's."""
        o = t = 0
        while o < len(ours) or t < len(theirs):
            o_from, t_from = o, t
            start, end = min((side[at] for side, at in ((ours, o), (theirs, t)) if at < len(side)))[:2]
            while True:
                # Changes of one side never touch each other, so a change that begins at `end` touches the other side's.
                if o < len(ours) and ours[o][0] <= end:
                    end, o = max(end, ours[o][1]), o + 1
                elif t < len(theirs) and theirs[t][0] <= end:
                    end, t = max(end, theirs[t][1]), t + 1
                else:
                    break
            o_start, t_start = start + o_shift, start + t_shift
            o_shift = ours[o - 1][3] - ours[o - 1][1] if o else o_shift
            t_shift = theirs[t - 1][3] - theirs[t - 1][1] if t else t_shift
            o_range, t_range = (o_start, end + o_shift), (t_start, end + t_shift)
            is_same = self._ours[slice(*o_range)] == self._theirs[slice(*t_range)]
            kind: Kind = "ours" if t == t_from else "theirs" if o == o_from else "both" if is_same else "conflict"
            yield MergeChunk(kind=kind, base=(start, end), ours=o_range, theirs=t_range)

    def _merged(self, place: MergeChunk, parts: Sequence[MergeChunk]) -> list[int]:
        """Return the merged elements of a place whose parts are all clean."""
        found: list[int] = []
        at = place.ours[0]
        for part in parts:
            found += self._ours[at : part.ours[0]]
            found += self._theirs[slice(*part.theirs)] if part.kind == "theirs" else self._ours[slice(*part.ours)]
            at = part.ours[1]
        return [*found, *self._ours[at : place.ours[1]]]


def _within(alignment: Alignment, base: Range) -> Alignment:
    """Return the changes within a part of the base; the part is a changed place, so no change crosses its ends."""
    late, *others = (
        spans[bisect_left(spans, base[0], key=itemgetter(0)) : bisect_right(spans, base[1], key=itemgetter(1))]
        for spans in (alignment.late, *alignment.others)
    )
    return Alignment(late=late, certain=[], others=tuple(others))
