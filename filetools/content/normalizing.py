"""What an old text means that does not stand in the file as it was sent: the same text in the file's own characters.

Models copy text out of what shows it: with line numbers, in a code fence, with HTML escapes, with other quotes and blanks.
Only what then stands in the file exactly once, and can be replaced in one way only, is taken; nothing is guessed.
"""

from __future__ import annotations

import html
import itertools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from filetools.content.carrying import BLANKS, carried, folded_line
from filetools.content.ends import mark_of, split_at, split_lines, without_end
from filetools.content.matching import lines_at, matches_of

_MOST_CHARACTERS: Final = 4 * 1024 * 1024
_FENCED: Final = re.compile(r"\s*((`{3,}|~{3,})[\w+.-]*)[ \t]*\n(.*)\n\2\s*", re.DOTALL)
_FENCE: Final = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})", re.MULTILINE)
_ESCAPE: Final = re.compile(r"&(?:lt|gt|amp|quot|apos|#0?39|#x27|nbsp);")
_RAW: Final = re.compile(r"[<>]|&(?!(?:lt|gt|amp|quot|apos|#0?39|#x27|nbsp);)")
_MARKUP: Final = re.compile(r"</[A-Za-z]|/>|<!")
_NUMBERS: Final = "line numbers"
_FIRST_NUMBER: Final = re.compile(r"\s*(?:[`~]{3,}[^\n]*\n\s*)?([0-9]{1,9})")
_SEPARATORS: Final = ("\t", "→", " | ", "| ", "|", ": ", ":")
"""What stands between a line and its number; a tab as `cat -n` has it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The one place that an old text means."""

    start: int
    end: int
    new: str
    """What stands there afterwards; what it shares with the old text is as the file has it."""
    why: str
    """What was different."""


def meant_by(old: str, new: str, text: str, *, first: int = 0, whole_lines: bool = False) -> Meant | None:
    """Return the one place in a text that an old text means; None if there is none, or more than one.

    Args:
        old: What does not stand in the text.
        new: What is to stand there instead.
        text: The whole file.
        first: Where a place may begin.
        whole_lines: Whether a place has to be of whole lines.
    """
    if max(len(old), len(new), len(text)) > _MOST_CHARACTERS or "\r" in old or "\r" in new:
        return None
    if not whole_lines and (last := _without_last_end(old, new, text)) is not None:
        return last
    wanted = _Wanted(old, text, first, whole_lines=whole_lines)
    variants = list(_variants(old, new, text))
    return _only(wanted.exact(*each) for each in variants[1:]) or _only(wanted.folded(*each) for each in variants)


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


def _variants(old: str, new: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield what the texts may have been before something was put around or into them; first as they are."""
    yield old, new, ""
    for count in range(1, len(_UNWRAPPED) + 1):
        for names in itertools.combinations(_UNWRAPPED, count):
            pairs = [(old, new)]
            for name in names:
                pairs = [made for each in pairs for made in _UNWRAPPED[name](*each, text)]
            for pair in pairs:
                if pair[0].strip():
                    yield (*pair, " and ".join(names))


def _unfenced(old: str, new: str, text: str) -> Iterator[tuple[str, str]]:
    found, beside = _FENCED.fullmatch(old), _FENCED.fullmatch(new)
    if found is None:
        return
    if _FENCE.search(text) and (beside is None or beside[1] != found[1]):
        # The fence may be one of the file, which the change takes away or makes another one.
        return
    keeps_end = beside is None and new.endswith("\n")
    yield found[3] + ("\n" if keeps_end else ""), new if beside is None else beside[3]


def _unnumbered(old: str, new: str, text: str) -> Iterator[tuple[str, str]]:
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


def _unescaped(old: str, new: str, text: str) -> Iterator[tuple[str, str]]:
    if not _ESCAPE.search(old) or _RAW.search(old):
        return
    added = Counter(_ESCAPE.findall(new)) - Counter(_ESCAPE.findall(old))
    # In a file that has escapes, or in which they would be read as such, one that is put in may be meant to stand there.
    if added and (_RAW.search(new) or _ESCAPE.search(text) or _MARKUP.search(text)):
        return
    yield _plain(old), _plain(new)


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda found: html.unescape(found[0]), text)


_UNWRAPPED: Final[dict[str, Callable[[str, str, str], Iterator[tuple[str, str]]]]] = {
    "a code fence": _unfenced,
    _NUMBERS: _unnumbered,
    "HTML escapes": _unescaped,
}


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
    stripped = number.strip(BLANKS)
    return int(stripped) if found and stripped.isascii() and stripped.isdigit() and len(stripped) < 10 else None


def _behind_number(line: str, separator: str) -> str:
    return line.partition(separator)[2] if line else line


class _Wanted:
    """Looks for the places of an old text in a file; lives for one call."""

    def __init__(self, old: str, text: str, first: int, *, whole_lines: bool) -> None:
        self._old = old
        self._text = text
        self._first = first
        self._whole_lines = whole_lines

    def exact(self, old: str, new: str, why: str) -> Meant | None:
        """Return the only place where what the old text stands for is, character by character."""
        places = [place for place in matches_of(old, self._text, overlapping=True) if self._is_possible(*place)]
        if len(places) != 1 or not self._is_numbered_right(why, places[0][0]):
            return None
        return Meant(start=places[0][0], end=places[0][1], new=new, why=why)

    def folded(self, old: str, new: str, why: str) -> Meant | None:
        """Return the only place where it is but for quotes, dashes and blanks."""
        lines = old.split("\n")
        needle = "\n".join(map(folded_line, lines))
        if not needle.strip():
            return None
        # Blanks at the end of the last line stand for the end of that line, and for nothing in the midst of one.
        is_line_end = lines[-1] != lines[-1].rstrip(BLANKS)
        found = [place for place in self._hay.places(needle, is_line_end=is_line_end) if self._is_possible(*place)]
        if len(found) != 1 or not self._is_numbered_right(why, found[0][0]):
            return None
        start, end = found[0]
        there = [without_end(line) for line in split_at(self._text[start:end], mark_of(self._text))]
        there += [""] * (len(lines) - len(there))
        made = carried(lines, new.split("\n"), there)
        if made is None:
            return None
        differs = [name for name, is_so in _differences(lines, there) if is_so]
        return Meant(start=start, end=end, new="\n".join(made), why=" and ".join(filter(None, (why, *differs))))

    @cached_property
    def _hay(self) -> _FoldedText:
        return _FoldedText(self._text)

    def _is_possible(self, start: int, end: int) -> bool:
        if start < self._first:
            return False
        is_whole = not start or self._text[start - 1] in "\r\n"
        is_ended = end == len(self._text) or self._text[end - 1] in "\r\n" or self._text[end] in "\r\n"
        return not self._whole_lines or (is_whole and is_ended)

    def _is_numbered_right(self, why: str, start: int) -> bool:
        """Whether a place can be that of lines with numbers: they are whole, and the number of a single one is its own."""
        if _NUMBERS not in why:
            return True
        first = _FIRST_NUMBER.match(self._old)
        is_whole = not start or self._text[start - 1] in "\r\n"
        is_single = len(_FENCED.sub(r"\3", self._old).strip("\n").split("\n")) == 1
        line = lines_at(self._text, [start])[0]
        return is_whole and (not is_single or (first is not None and int(first[1]) == line))


class _FoldedText:
    """A text in which lines are compared as `folded_line` has them; knows where each place of it is in the text."""

    def __init__(self, text: str) -> None:
        lines = split_lines(text)
        self._bare = [without_end(line) for line in lines]
        self._starts = list(itertools.accumulate(map(len, lines), initial=0))
        if not lines or self._bare[-1] != lines[-1]:
            self._bare.append("")
        folded = [folded_line(line) for line in self._bare]
        self._text = "\n".join(folded)
        self._folded_starts = list(itertools.accumulate((len(line) + 1 for line in folded), initial=0))

    def places(self, needle: str, *, is_line_end: bool) -> Iterator[tuple[int, int]]:
        """Yield start and end, in the text, of every place of some folded lines; overlapping ones, too."""
        at = self._text.find(needle)
        while at >= 0:
            end = at + len(needle)
            if not is_line_end or self._text[end : end + 1] in ("", "\n"):
                yield self._place(at), self._place(end, is_line_end=is_line_end)
            at = self._text.find(needle, at + 1)

    def _place(self, at: int, *, is_line_end: bool = False) -> int:
        line = bisect_right(self._folded_starts, at) - 1
        return self._starts[line] + (len(self._bare[line]) if is_line_end else at - self._folded_starts[line])


def _differences(lines: list[str], there: list[str]) -> Iterator[tuple[str, bool]]:
    kept = [(line.rstrip(BLANKS), now.rstrip(BLANKS)) for line, now in zip(lines, there, strict=True)]
    yield "quotes, dashes or no-break spaces", any(line != now for line, now in kept)
    yield "blanks at line ends", any(len(line) != len(now) for line, now in zip(lines, there, strict=True))
