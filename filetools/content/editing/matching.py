r"""Finds where a text occurs in a file: exactly, or in one place if blanks at line ends are ignored.

LF in the text matches any line end of the file. A text that contains CR is literal, since its sender has seen the file's line
ends. A text that is not found may differ in blanks at line ends; it is accepted if it then matches in one place.
"""

from __future__ import annotations

import re
from typing import Final

from filetools.content.differences.alignment import MAX_COST, differences
from filetools.content.ends import split_at, without_end
from filetools.content.lines import mark_of, newline_of

_MOST_CHARACTERS: Final = 4 * 1024 * 1024
BLANKS: Final = " \t"


def matches_of(old: str, text: str) -> list[tuple[int, int]]:
    """Return start and end of every match, from left to right.

    Args:
        old: The text to find; not empty.
        text: The whole file.
    """
    literal = old
    if "\n" in old and "\r" not in old and "\r" in text:
        newline = newline_of(text)
        if newline == "mixed":
            return [found.span() for found in re.finditer(re.escape(old).replace("\\\n", "\r?\n"), text)]
        literal = old.replace("\n", "\r" if newline == "cr" else "\r\n")
    places: list[tuple[int, int]] = []
    place = text.find(literal)
    while place >= 0:
        places.append((place, place + len(literal)))
        place = text.find(literal, place + len(literal))
    return places


def lines_at(text: str, places: list[int]) -> list[int]:
    """Return the line numbers, from 1, of ascending positions in a text."""
    end = mark_of(text)
    lines: list[int] = []
    line, counted = 1, 0
    for place in places:
        line += text.count(end, counted, place)
        counted = place
        lines.append(line)
    return lines


def match_ignoring_blanks(old: str, new: str, text: str) -> tuple[list[tuple[int, int]], str, str] | None:
    """Return the one match of an old text without blanks at line ends, its replacement, and what differed; None if unclear.

    Only blanks at line ends, and the end of the last line, may differ. Lines that the change keeps stay as in the file.

    Args:
        old: A text that is not in the file.
        new: Its replacement.
        text: The whole file.
    """
    lines = old.split("\n")
    bare = [line.rstrip(BLANKS) for line in lines]
    if max(len(old), len(new), len(text)) > _MOST_CHARACTERS or "\r" in old + new or not any(bare):
        return None
    mark = mark_of(text)
    end = r"[ \t]*\r?\n" if mark == "\n" else r"[ \t]*\r"
    # Match all blanks before the first line end or none: otherwise each attempt starting among them would scan the rest.
    expression = ("" if bare[0] else r"(?<![ \t])") + end.join(map(re.escape, bare))
    if not lines[-1]:
        expression = rf"{expression.removesuffix(end)}(?:{end}|[ \t]*\Z)"
    elif bare[-1] != lines[-1]:
        # Blanks at the end of the last line match only at the end of a line, not in the middle of one.
        expression += r"[ \t]*(?=[\r\n]|\Z)"
    search = re.compile(expression).search
    found = search(text)
    if found is None or ((other := search(text, found.start() + 1)) and other.end() != found.end()):
        return None
    matched = found[0].replace("\r\n", "\n")
    there = [without_end(line) for line in split_at(found[0], mark)]
    there += [""] * (len(lines) - len(there))
    after = (new if matched.endswith(mark) or lines[-1] else new.removesuffix("\n")).split("\n")
    made: list[str] = []
    at = 0
    for old_start, old_end, new_start, new_end in differences(lines, after, max_cost=MAX_COST):
        made += [*there[at:old_start], *after[new_start:new_end]]
        at = old_end
    why = "the last line end" if matched == old.removesuffix("\n") else "blanks at line ends"
    return [found.span()], "\n".join([*made, *there[at:]]), why
