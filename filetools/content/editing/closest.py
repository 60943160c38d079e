"""Help for an edit that matches nowhere or in several places: the closest region, and the lines around each match."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import and_
from typing import Final, TypedDict

from filetools.content.differences.myers import common_prefix
from filetools.content.ends import end_of, split_lines, without_end

MOST_PLACES: Final = 5
LINES_AROUND: Final = 1
MOST_CHARACTERS: Final = 600
"""Maximum length of one place; longer ones are omitted."""


class Surroundings(TypedDict):
    """A place with the lines around it, as JSON."""

    line: int
    """First line of the place, from 1."""
    text: str
    """The exact lines, ready to be copied."""


def lines_around(text: str, lines: Sequence[int], height: int = 1) -> list[Surroundings]:
    """Return the first few places with one line before and one line after each.

    Args:
        text: The whole text.
        lines: First line of each place, from 1.
        height: Number of lines of each place.
    """
    parts = split_lines(text)
    found: list[Surroundings] = []
    for line in list(dict.fromkeys(lines))[:MOST_PLACES]:
        around = "".join(parts[max(0, line - 1 - LINES_AROUND) : line - 1 + height + LINES_AROUND])
        # Do not shorten: the text must match the file exactly.
        if len(around) <= MOST_CHARACTERS:
            found.append({"line": line, "text": around})
    return found


_MAX_CHARACTERS: Final = 4 * 1024 * 1024
_MAX_LINES: Final = 50_000
"""Limited separately, because each line is normalised and compared in every way, which costs far more than its length."""
_LEAST_SHARE: Final = 0.25
"""Minimum share of a text's letter groups that lines must contain to count as similar."""
_SHORT_CHARACTERS: Final = 12
_MOST_COMPARED: Final = 100
_MAX_SHOWN_LINES: Final = 60
_MOST_ESCAPED: Final = 40
_MAX_SHOWN_CHARACTERS: Final = 6000
_NUMBER: Final = re.compile(r"[ \t]*(\d{1,9})(?:\t|→| ?\| ?|: ?)")
_BLANKS: Final = re.compile(r"[ \t\u00a0]+")
_TYPOGRAPHY: Final = str.maketrans(
    {"\u2026": "..."}
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " ")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)


class ClosestRegion(TypedDict):
    """The lines of a file that are most similar to a text, as JSON."""

    start_line: int
    end_line: int
    text: str
    """The exact lines, ready to be copied."""
    why: list[str]
    """What differs: place, line ends, trailing blanks, indentation, blanks, case, typography, composed letters, or the text."""
    difference: str
    """The first difference that is hard to see; "" if there is none."""


_Change = Callable[[str], str]

# Each removes one kind of difference; ordered from the smallest to the largest.
_CHANGES: Final[Mapping[str, _Change]] = {
    "line ends": lambda line: line.rstrip("\r"),
    "trailing blanks": lambda line: line.rstrip(" \t\r"),
    "indentation": lambda line: line.lstrip(" \t"),
    "quotes or typographic characters": lambda line: line.replace('"', "'").translate(_TYPOGRAPHY).replace('"', "'"),
    "composed letters": lambda line: unicodedata.normalize("NFC", line),
    "case": str.casefold,
    "blanks": lambda line: _BLANKS.sub("", line),
}


def closest_region(old: str, text: str) -> ClosestRegion | None:
    """Return the lines of a file that are most similar to a text; None if none are similar or the file is too long.

    Args:
        old: The text that was not found.
        text: The whole file; None is returned for more than 4 MiB or 50,000 lines.
    """
    if not text or len(text) > _MAX_CHARACTERS or len(old) > _MAX_CHARACTERS or text.count("\n") > _MAX_LINES:
        return None
    lines = split_lines(text)
    bare = [without_end(line) + "\r" * ("\r" in end_of(line)) for line in lines]
    if end_of(lines[-1]):
        # As in the wanted text, an empty line follows the last line end.
        bare.append("")
    plain = _without_line_numbers(old)
    wanted = (old if plain is None else plain).split("\n")
    size = len(wanted) - (len(wanted) > 1 and not wanted[-1])
    numbers = "" if plain is None else "your text contains line numbers"
    if not numbers and (at := _place_after([], wanted, bare)) is not None:
        return _region(lines, at, size, ["place"], "it is before the place where it was searched for")
    for names in [[name] for name in _CHANGES] + [list(_CHANGES)]:
        at = _place_after(names, wanted, bare)
        if at is not None:
            difference = numbers or _difference(wanted[:size], bare[at : at + size], at + 1)
            return _region(lines, at, size, ["line numbers"] if numbers else _needed(names, wanted, bare), difference)
    if size < len(wanted) and (at := _place_after(list(_CHANGES), wanted[:size], bare)) is not None:
        is_last = at + size == len(lines) and text.casefold().endswith(wanted[size - 1].strip().casefold())
        why = f"line {at + size} {'is the last and has no line end' if is_last else 'continues after your text'}"
        return _region(lines, at, size, ["line ends"], numbers or why)
    at = _most_similar(wanted[:size], bare)
    return None if at is None else _region(lines, min(at, len(lines) - 1), size, ["text"], numbers)


def _without_line_numbers(text: str) -> str | None:
    """Remove consecutive line numbers from the lines of a text; None if it has none."""
    lines = text.removesuffix("\n").split("\n")
    found = [_NUMBER.match(line) for line in lines]
    numbers = [int(each[1]) - at for at, each in enumerate(found) if each is not None]
    if len(numbers) < len(lines) or len({*numbers}) > 1:
        return None
    plain = "\n".join(line[each.end() :] for line, each in zip(lines, found, strict=True) if each is not None)
    return plain + text[len(text.removesuffix("\n")) :]


def _place_after(names: Iterable[str], wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the line, from 0, where the wanted text is found after removing the named differences from both texts."""
    needle, hay = "\n".join(_changed(names, wanted)), "\n".join(_changed(names, lines))
    place = hay.find(needle) if needle.strip() else -1
    return None if place < 0 else hay.count("\n", 0, place)


def _needed(names: Sequence[str], wanted: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the differences that must be removed for the text to be found."""
    needed = list(names)
    for name in reversed(names):
        fewer = [other for other in needed if other != name]
        if fewer and _place_after(fewer, wanted, lines) is not None:
            needed = fewer
    return needed


def _changed(names: Iterable[str], lines: Sequence[str]) -> list[str]:
    changed = list(lines)
    for name in names:
        changed = list(map(_CHANGES[name], changed))
    return changed


def _most_similar(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the line, from 0, of the equally long region that shares the most letter groups with the wanted lines.

    Letter groups find parts of lines and misspelt words; groups that occur in many lines have little weight.
    """
    # One or two words have too few long groups.
    letters = 3 if sum(map(len, wanted)) > _SHORT_CHARACTERS else 2
    asked = set().union(*(_groups(line, letters) for line in wanted))
    shared = [asked & _groups(line, letters) for line in lines]
    frequency = Counter(group for found in shared for group in found)
    weights = [sum(math.log1p(len(lines) / frequency[group]) for group in found) for found in shared]
    size = min(len(wanted), len(lines))
    sums = list(accumulate(weights, initial=0.0))
    scores = [end - start for start, end in zip(sums, sums[size:], strict=False)]
    # Ignore rounding errors.
    least = max(scores) - 1e-6
    best_starts = [start for start, score in enumerate(scores) if score > least]
    groups = [_groups(line, letters) for line in wanted]
    # Of several regions, take the one whose lines best match the wanted lines one by one.
    best = max(
        best_starts[:_MOST_COMPARED], key=lambda start: sum(map(len, map(and_, groups, shared[start : start + size])))
    )
    found = set().union(*shared[best : best + size])
    return best if found and len(found) >= _LEAST_SHARE * len(asked) else None


def _groups(line: str, letters: int) -> set[str]:
    plain = " ".join(line.casefold().split())
    return {plain[at : at + letters] for at in range(max(1, len(plain) - letters + 1))} if plain else set()


def _region(lines: Sequence[str], start: int, count: int, why: list[str], difference: str) -> ClosestRegion:
    end = min(start + min(count, _MAX_SHOWN_LINES), len(lines))
    return {
        "start_line": start + 1,
        "end_line": end,
        "text": "".join(lines[start:end])[:_MAX_SHOWN_CHARACTERS],
        "why": why,
        "difference": difference,
    }


def _difference(wanted: Sequence[str], there: Sequence[str], first: int) -> str:
    """Return the first difference of lines that look alike, with invisible or similar characters escaped."""
    for number, (line, now) in enumerate(zip(wanted, there, strict=False), first):
        is_edge = number in (first, first + len(wanted) - 1)
        if is_edge and not line[:1].isspace():
            now = now.lstrip()  # the text may begin inside a line
        if line != now and not (is_edge and line in now):
            at = common_prefix(line, now)
            seen, meant = (ascii(text[at : at + _MOST_ESCAPED]) for text in (now, line))
            return f"line {number} has {seen} at its first difference, your text {meant}"
    return ""
