"""Where in a merge it is enough to look: around what `theirs` changed, between lines that every alignment keeps.

An alignment of two sequences that keeps as much as there can be leaves at most `slack` elements alone that both have:
as many as a given common sequence falls short of what counting the elements allows. So of `slack` + 1 elements that
stand once on both sides it keeps at least one. Where those lie in a stretch that is the same on both sides, it passes
through that stretch, and between two such stretches it is an alignment of what lies between, and nothing else. Twice
as many keep the changes of both sides apart: each has passed through its half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from filetools.content.alignment import numbered
from filetools.content.myers import common_prefix, common_suffix, kept_elements

Window = tuple[slice, slice, slice]
"""The lines of base, ours and theirs that a merge has to look at."""
_MAX_COST: Final = 200_000
"""Where the search would be dearer, it finds less in common, which is no harm: then more counts as doubtful."""


def narrowed(base: list[str], ours: list[str], theirs: list[str]) -> Window | None:
    """Return the part of a merge outside which `ours` stands as it is; None where only the whole can tell.

    Args:
        base: Lines of what both sides started from.
        ours: Lines of one side.
        theirs: Lines of the other, which shall differ from the base in few places.
    """
    head = common_prefix(base, theirs)
    tail = common_suffix(base, theirs, head)
    removed, added = base[head : len(base) - tail], theirs[head : len(theirs) - tail]
    counts = Counter(base), Counter(ours)
    slack = _slack(base, ours, counts)
    if slack is None:
        return None
    slack = max(slack, _shared(Counter(removed), Counter(added)) - _kept(removed, added))
    changed = {*removed, *added}

    def stands_once(line: str) -> bool:
        return counts[0][line] == 1 and counts[1].get(line) == 1 and line not in changed

    before = _stretch(base, ours, head, stands_once, slack)
    after = _stretch(base[::-1], ours[::-1], tail, stands_once, slack)
    window = (
        slice(before[0], len(base) - after[0]),
        slice(before[1], len(ours) - after[1]),
        slice(before[0], len(theirs) - after[0]),
    )
    parts = base[window[0]], ours[window[1]], theirs[window[2]]
    is_free = parts[0] == parts[1]
    return window if is_free or (_is_certain(*parts[:2]) and _is_certain(parts[0], parts[2])) else None


def _slack(base: list[str], ours: list[str], counts: tuple[Counter[str], Counter[str]]) -> int | None:
    """Return how many lines that both sides have an alignment may leave alone; None where lines were moved."""
    old, new = [line for line in base if line in counts[1]], [line for line in ours if line in counts[0]]
    if old == new:
        return 0
    once = {line for line in old if counts[0][line] == counts[1][line] == 1}
    if [line for line in old if line in once] != [line for line in new if line in once]:
        return None
    gaps = zip(_between(old, once), _between(new, once), strict=True)
    kept = len(once) + sum(_kept(one, other) for one, other in gaps if one and other)
    return _shared(*counts) - kept


def _shared(one: Counter[str], other: Counter[str]) -> int:
    return sum(min(count, other[line]) for line, count in one.items() if line in other)


def _kept(old: list[str], new: list[str]) -> int:
    if old == new:
        return len(old)
    if not old or not new:
        return 0
    first, second = numbered(old, new)
    return kept_elements(first, second, _MAX_COST)[0].count(1)


def _between(lines: list[str], anchors: set[str]) -> Iterator[list[str]]:
    """Yield the lines before, between and behind some."""
    gap: list[str] = []
    for line in lines:
        if line in anchors:
            yield gap
            gap = []
        else:
            gap.append(line)
    yield gap


def _stretch(
    base: list[str], ours: list[str], end: int, stands_once: Callable[[str], bool], slack: int
) -> tuple[int, int]:
    """Return where the last stretch before a place in the base begins that every alignment passes through.

    Args:
        base: What both sides started from.
        ours: One side.
        end: The place.
        stands_once: Tells the lines that stand once in each text; they are in the same order.
        slack: How many of them an alignment may leave alone.

    Returns:
        The place in each; the beginning of both, if there is no such stretch.
    """
    places: dict[str, int] = {}
    met, at, jumps = 0, -1, 0
    for place in range(end - 1, -1, -1):
        line = base[place]
        at -= 1
        is_same = at >= 0 and ours[at] == line
        if not stands_once(line):
            met = met if is_same else 0
            continue
        if not met or not is_same:
            if jumps == 1:  # as a rule there is no second
                places = {each: number for number, each in enumerate(ours)}
            met, at, jumps = 0, places[line] if jumps else ours.index(line), jumps + 1
        met += 1
        if met > 2 * slack + 1:
            return place, at
    return 0, 0


def _is_certain(old: list[str], new: list[str]) -> bool:
    """Whether all that both have stands in the same order, so that there is one way only to keep it."""
    in_old, in_new = set(old), set(new)
    return [line for line in old if line in in_new] == [line for line in new if line in in_old]
