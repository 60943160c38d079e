"""Where a file is most like a text that is not in it, and why the two differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypedDict

from filetools.content.ends import end_of, split_lines, without_end

_MAX_CHARACTERS: Final = 4 * 1024 * 1024
_MAX_LINES: Final = 50_000
"""A line costs far more than its characters: it is changed and compared in every way there is."""
_MAX_SHOWN_LINES: Final = 60
_MAX_SHOWN_CHARACTERS: Final = 6000
_WORD: Final = re.compile(r"\w+")
_BLANKS: Final = re.compile(r"[ \t\u00a0]+")
_TYPOGRAPHY: Final = str.maketrans(
    {"\u2026": "..."}
    | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00a0\u2007\u202f", " ")
    | dict.fromkeys("\u200b\ufeff", "")
)


class ClosestRegion(TypedDict):
    """The lines of a file that are most like a text, as JSON."""

    start_line: int
    end_line: int
    text: str
    """The lines as they are, ready to be copied."""
    shown: str
    """The same with tabs as →, trailing blanks as · and CR as ␍."""
    why: list[str]
    """What differs: line ends, trailing blanks, indentation, blanks, case, typographic characters, or the text."""


_Change = Callable[[str], str]

# Each makes lines alike that differ in one way only; from the smallest difference to the largest.
_CHANGES: Final[Mapping[str, _Change]] = {
    "line ends": lambda line: line.rstrip("\r"),
    "trailing blanks": lambda line: line.rstrip(" \t\r"),
    "indentation": lambda line: line.lstrip(" \t"),
    "quotes or typographic characters": lambda line: line.replace('"', "'").translate(_TYPOGRAPHY).replace('"', "'"),
    "case": str.casefold,
    "blanks": lambda line: _BLANKS.sub("", line),
}


def closest_region(old: str, text: str) -> ClosestRegion | None:
    """Return the lines of a text that are most like another text; None if nothing is, or it is too long.

    Args:
        old: What was looked for and not found.
        text: The whole file; of more than 4 MiB or 50,000 lines nothing is returned.
    """
    if not text or len(text) > _MAX_CHARACTERS or len(old) > _MAX_CHARACTERS or text.count("\n") > _MAX_LINES:
        return None
    lines = split_lines(text)
    bare = [without_end(line) + _hidden_return(line) for line in lines]
    if end_of(lines[-1]):
        # As in the wanted text, nothing stands behind the last end.
        bare.append("")
    wanted = old.split("\n")
    size = len(wanted) - (len(wanted) > 1 and not wanted[-1])
    for names in [[name] for name in _CHANGES] + [list(_CHANGES)]:
        at = _place_after(names, wanted, bare)
        if at is not None:
            return _region(lines, at, size, _needed(names, wanted, bare))
    at = _likest(wanted, bare)
    return None if at is None else _region(lines, min(at, len(lines) - 1), size, ["text"])


def _hidden_return(line: str) -> str:
    return "\r" if "\r" in end_of(line) else ""


def _place_after(names: Iterable[str], wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the line, from 0, where the wanted text stands once some differences are taken out of both."""
    needle, hay = "\n".join(_changed(names, wanted)), "\n".join(_changed(names, lines))
    place = hay.find(needle) if needle.strip() else -1
    return None if place < 0 else hay.count("\n", 0, place)


def _needed(names: Sequence[str], wanted: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return those of the differences without which the text would not be found."""
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


def _likest(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the line, from 0, where the same number of lines shares the most words with the wanted ones."""
    words = [set(_WORD.findall(line.casefold())) for line in lines]
    frequency = Counter(word for found in words for word in found)
    asked = {word for line in wanted for word in _WORD.findall(line.casefold())}
    weights = [sum(1 / frequency[word] for word in found & asked) for found in words]
    size = min(len(wanted), len(lines))
    score = sum(weights[:size])
    best, best_score = 0, score
    for start in range(1, len(lines) - size + 1):
        score += weights[start + size - 1] - weights[start - 1]
        # The sum runs up and down; what is left of rounding must not count as better.
        if score > best_score + 1e-9:
            best, best_score = start, score
    return best if best_score > 1e-9 else _likest_by_letters(wanted, lines)


def _likest_by_letters(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    longest = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()))
    asked = _pairs(wanted[longest])
    scores = [2 * len(asked & pairs) / (len(asked) + len(pairs) or 1) for pairs in map(_pairs, lines)]
    best = max(range(len(scores)), key=scores.__getitem__)
    return max(0, best - longest) if scores[best] > 0.3 else None


def _pairs(line: str) -> set[str]:
    plain = line.strip().casefold()
    return {plain[at : at + 2] for at in range(len(plain) - 1)}


def _region(lines: Sequence[str], start: int, count: int, why: list[str]) -> ClosestRegion:
    end = min(start + min(count, _MAX_SHOWN_LINES), len(lines))
    found = lines[start:end]
    return {
        "start_line": start + 1,
        "end_line": end,
        "text": "".join(found)[:_MAX_SHOWN_CHARACTERS],
        "shown": "\n".join(map(_shown, found))[:_MAX_SHOWN_CHARACTERS],
        "why": why,
    }


def _shown(line: str) -> str:
    bare = without_end(line)
    kept = bare.rstrip(" \t")
    trailing = bare[len(kept) :].replace(" ", "·")
    return (kept + trailing).replace("\t", "→") + ("␍" if "\r" in end_of(line) else "")
