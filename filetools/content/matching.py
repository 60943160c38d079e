r"""Where a text occurs in a file: exactly, or as the one place that it can only mean.

LF in the text stands for any line end of the file. A text that holds CR is taken literally: whoever sends CR knows the
file's line ends. A text that is not there may have been copied with line numbers, or may differ in the blanks at line
ends. It is accepted only if one place fits and the change can be made in one way only.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from filetools.content.alignment import MAX_COST, differences
from filetools.content.ends import mark_of, split_at, split_lines, without_end
from filetools.content.lines import newline_of

_MOST_CHARACTERS: Final = 4 * 1024 * 1024
_BLANKS: Final = " \t"
_NUMBERS: Final = "line numbers"
_FIRST_NUMBER: Final = re.compile(r"\s*([0-9]{1,9})")
_SEPARATORS: Final = ("\t", "→", " | ", "| ", "|", ": ", ":")
"""What stands between a line and its number; a tab as `cat -n` has it first."""


class Meant(Struct, frozen=True, kw_only=True):
    """The one place that an old text means."""

    start: int
    end: int
    new: str
    """Replaces it; lines that the change keeps are as the file has them."""
    why: str
    """What was different."""


def matches_of(old: str, text: str, *, overlapping: bool = False) -> list[tuple[int, int]]:
    """Return start and end of every match, from left to right.

    Args:
        old: What to look for; not empty.
        text: The whole file.
        overlapping: Whether a match may begin within the one before.
    """
    step = 1 if overlapping else len(old)
    if "\n" not in old or "\r" in old or "\r" not in text:
        return [(start, start + len(old)) for start in _places(old, text, step)]
    newline = newline_of(text)
    if newline == "cr":
        return [(start, start + len(old)) for start in _places(old, text.replace("\r", "\n"), step)]
    if newline == "crlf":
        literal = old.replace("\n", "\r\n")
        return [(start, start + len(literal)) for start in _places(literal, text, 1 if overlapping else len(literal))]
    plain = text.replace("\r\n", "\n")
    ends = _shortened_ends(text)
    return [
        (start + bisect_left(ends, start), start + len(old) + bisect_left(ends, start + len(old)))
        for start in _places(old, plain, step)
    ]


def lines_at(text: str, places: list[int]) -> list[int]:
    """Return the line, from 1, of each of some rising places in a text."""
    end = "\n" if "\n" in text else "\r"
    lines: list[int] = []
    line, counted = 1, 0
    for place in places:
        line += text.count(end, counted, place)
        counted = place
        lines.append(line)
    return lines


def _places(old: str, text: str, step: int) -> Iterator[int]:
    place = text.find(old)
    while place >= 0:
        yield place
        place = text.find(old, place + step)


def _shortened_ends(text: str) -> list[int]:
    """Return where in the text with LF for CRLF those LF stand that were CRLF."""
    ends: list[int] = []
    place = text.find("\r\n")
    while place >= 0:
        ends.append(place - len(ends))
        place = text.find("\r\n", place + 2)
    return ends


def meant_by(old: str, new: str, text: str, *, first: int = 0, whole_lines: bool = False) -> Meant | None:
    """Return the one place in a text that an old text means; None if there is none, or more than one.

    Args:
        old: A text that is not in it.
        new: Its replacement.
        text: The whole file.
        first: Where a place may begin.
        whole_lines: Whether a place has to be of whole lines.
    """
    if max(len(old), len(new), len(text)) > _MOST_CHARACTERS or "\r" in old or "\r" in new:
        return None
    if not whole_lines and (last := _without_last_end(old, new, text)) is not None:
        return last
    variants = [(old, new, ""), *((*each, _NUMBERS) for each in _unnumbered(old, new))]
    return _only(_but_for_blanks(old, text, first, each, whole_lines=whole_lines) for each in variants)


def without_line_numbers(text: str) -> str | None:
    """Return the lines of a text behind their numbers, of which each is one more than the one before; None if it has none."""
    return next((plain for separator in _SEPARATORS if (plain := _numbered(text, separator)) is not None), None)


def _only(found: Iterable[Meant | None]) -> Meant | None:
    """Return what all that were found say; None if they differ, or there are none."""
    meanings = {(each.start, each.end, each.new): each for each in reversed([each for each in found if each])}
    return next(iter(meanings.values())) if len(meanings) == 1 else None


def _without_last_end(old: str, new: str, text: str) -> Meant | None:
    """Take an old text whose last line has an end that the last line of the file has not."""
    if not old.endswith("\n") or text.endswith(("\n", "\r")) or not (bare := old[:-1]):
        return None
    places = matches_of(bare, text, overlapping=True)
    if not places or places[-1][1] != len(text):
        return None
    return Meant(start=places[-1][0], end=len(text), new=new.removesuffix("\n"), why="the last line end")


def _unnumbered(old: str, new: str) -> Iterator[tuple[str, str]]:
    for separator in _SEPARATORS:
        plain, changed = _numbered(old, separator), _unnumbered_new(old, new, separator)
        if plain is not None and changed is not None:
            yield plain, changed


def _unnumbered_new(old: str, new: str, separator: str) -> str | None:
    """Return a new text without the numbers of lines; None if it cannot be told whether some of it is such a number."""
    kept, lines = set(old.split("\n")), new.split("\n")
    numbers = [_number(line, separator) for line in lines if line]
    own = [_number(line, separator) for line in lines if line and line not in kept]
    if not any(number is not None for number in own):
        return "\n".join(_behind_number(line, separator) if line in kept else line for line in lines)
    counted = [number for number in numbers if number is not None]
    first = _number(old.split("\n", 1)[0], separator)
    is_counted = first is not None and all(0 <= b - a <= 1 for a, b in itertools.pairwise((first, *counted)))
    if len(counted) < len(numbers) or not is_counted:
        return None
    return "\n".join(_behind_number(line, separator) for line in lines)


def _numbered(text: str, separator: str) -> str | None:
    lines = text.split("\n")
    rows = lines[:-1] if len(lines) > 1 and not lines[-1] else lines
    numbers = [_number(line, separator) for line in rows]
    first = numbers[0]
    if first is None or numbers != list(range(first, first + len(rows))):
        return None
    return "\n".join(_behind_number(line, separator) for line in lines)


def _number(line: str, separator: str) -> int | None:
    number, found, _ = f"{line}{' ' if line.endswith(separator.rstrip(' ')) else ''}".partition(separator)
    stripped = number.strip(_BLANKS)
    return int(stripped) if found and stripped.isascii() and stripped.isdigit() and len(stripped) < 10 else None


def _behind_number(line: str, separator: str) -> str:
    return line.partition(separator)[2] if line else line


def _but_for_blanks(
    old: str, text: str, first: int, variant: tuple[str, str, str], *, whole_lines: bool
) -> Meant | None:
    """Return the only place that differs in the blanks at line ends; lines that the change keeps stay as the file has them."""
    plain, new, why = variant
    lines = plain.split("\n")
    needle = "\n".join(line.rstrip(_BLANKS) for line in lines)
    if not needle.strip():
        return None
    # Blanks at the end of the last line stand for the end of that line, and for nothing in the midst of one.
    is_line_end = lines[-1] != lines[-1].rstrip(_BLANKS)
    found = [
        place
        for place in _stripped_places(needle, text, is_line_end=is_line_end)
        if _is_possible(text, *place, first, whole_lines=whole_lines)
    ]
    if len(found) != 1 or not _is_numbered_right(old, text, why, found[0][0]):
        return None
    start, end = found[0]
    there = [without_end(line) for line in split_at(text[start:end], mark_of(text))]
    there += [""] * (len(lines) - len(there))
    made: list[str] = []
    at = 0
    after = new.split("\n")
    for old_start, old_end, new_start, new_end in differences(lines, after, max_cost=MAX_COST):
        made += [*there[at:old_start], *after[new_start:new_end]]
        at = old_end
    made += there[at:]
    has_other_blanks = not matches_of(plain, text[start:end])
    reasons = (why, "blanks at line ends" if has_other_blanks else "")
    return Meant(start=start, end=end, new="\n".join(made), why=" and ".join(filter(None, reasons)))


def _stripped_places(needle: str, text: str, *, is_line_end: bool) -> Iterator[tuple[int, int]]:
    """Yield start and end of every place that is the needle but for blanks at line ends; overlapping ones, too."""
    lines = split_lines(text)
    bare = [without_end(line) for line in lines]
    starts = list(itertools.accumulate(map(len, lines), initial=0))
    if not lines or bare[-1] != lines[-1]:
        bare.append("")
    stripped = [line.rstrip(_BLANKS) for line in bare]
    stripped_starts = list(itertools.accumulate((len(line) + 1 for line in stripped), initial=0))
    hay = "\n".join(stripped)
    for at in _places(needle, hay, 1):
        end = at + len(needle)
        if is_line_end and hay[end : end + 1] not in ("", "\n"):
            continue
        line, last = bisect_right(stripped_starts, at) - 1, bisect_right(stripped_starts, end) - 1
        column = len(bare[last]) if is_line_end else end - stripped_starts[last]
        yield starts[line] + at - stripped_starts[line], starts[last] + column


def _is_possible(text: str, start: int, end: int, first: int, *, whole_lines: bool) -> bool:
    if start < first:
        return False
    is_whole = not start or text[start - 1] in "\r\n"
    is_ended = end == len(text) or text[end - 1] in "\r\n" or text[end] in "\r\n"
    return not whole_lines or (is_whole and is_ended)


def _is_numbered_right(old: str, text: str, why: str, start: int) -> bool:
    """Whether a place can be that of lines with numbers: they are whole, and the number of a single one is its own."""
    if not why:
        return True
    number = _FIRST_NUMBER.match(old)
    is_whole = not start or text[start - 1] in "\r\n"
    is_single = "\n" not in old.strip("\n")
    return is_whole and (not is_single or (number is not None and int(number[1]) == lines_at(text, [start])[0]))
