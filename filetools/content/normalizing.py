"""What an old text means that does not stand in the file as it was sent: the same text in the file's own characters.

Models copy text out of what shows it: with line numbers, in a code fence, with HTML escapes, with other quotes and blanks.
Only what then stands in the file exactly once is taken; nothing is guessed.
"""

from __future__ import annotations

import html
import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from filetools.content.diff import minimal_edits
from filetools.content.ends import split_lines, without_end
from filetools.content.matching import matches_of
from filetools.content.text_edits import TextEdit, apply_text_edits

_MOST_CHARACTERS: Final = 4 * 1024 * 1024
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})[\w+.-]*[ \t]*\n(.*)\n\1\s*", re.DOTALL)
_ESCAPE: Final = re.compile(r"&(?:lt|gt|amp|quot|apos|#0?39|#x27|nbsp);")
_NUMBERS: Final = "line numbers"
_FIRST_NUMBER: Final = re.compile(r"\s*(?:[`~]{3,}[^\n]*\n\s*)?([0-9]{1,9})")
_SEPARATORS: Final = ("\t", "→", " | ", "| ", "|", ": ", ":")
"""What stands between a line and its number; a tab as `cat -n` has it first."""
_LIKE: Final = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00a0\u2007\u202f", " ")
)
"""Each stands for one character, so that places stay what they are."""

_BLANKS: Final = " \t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The one place that an old text means."""

    start: int
    end: int
    new: str
    """What stands there afterwards; what it shares with the old text is as the file has it."""
    why: str
    """What was different."""


def meant_by(old: str, new: str, text: str) -> Meant | None:
    """Return the one place in a text that an old text means; None if there is none, or more than one.

    Args:
        old: What does not stand in the text.
        new: What is to stand there instead.
        text: The whole file.
    """
    if max(len(old), len(new), len(text)) > _MOST_CHARACTERS:
        return None
    if (last := _without_last_end(old, new, text)) is not None:
        return last
    variants = list(_variants(old, new))
    for plain_old, plain_new, why in variants[1:]:
        places = matches_of(plain_old, text)
        if len(places) == 1 and _is_numbered_right(old, why, text, places[0][0]):
            (start, end) = places[0]
            return Meant(start=start, end=end, new=plain_new, why=why)
    for plain_old, plain_new, why in variants:
        found = _folded(plain_old, plain_new, text, why)
        if found is not None and _is_numbered_right(old, why, text, found.start):
            return found
    return None


def without_line_numbers(text: str) -> str | None:
    """Return the lines of a text behind their numbers, of which each is one more than the one before; None if it has none."""
    return next((plain for separator in _SEPARATORS if (plain := _numbered(text, separator)) is not None), None)


def folded_line(line: str) -> str:
    """Return a line as it is compared where it does not stand exactly: plain quotes and blanks, none at its end."""
    return line.translate(_LIKE).rstrip(_BLANKS)


def _is_numbered_right(old: str, why: str, text: str, start: int) -> bool:
    """Whether a place can be that of lines with numbers: they are whole, and the number of a single one is its own."""
    if _NUMBERS not in why:
        return True
    first = _FIRST_NUMBER.match(old)
    is_whole = not start or text[start - 1] in "\r\n"
    is_single = len(_FENCE.sub(r"\2", old).strip("\n").split("\n")) == 1
    return is_whole and (not is_single or (first is not None and int(first[1]) == text.count("\n", 0, start) + 1))


def _without_last_end(old: str, new: str, text: str) -> Meant | None:
    """Take an old text whose last line has an end that the last line of the file has not."""
    if not old.endswith("\n") or text.endswith(("\n", "\r")) or not (bare := old[:-1]):
        return None
    places = matches_of(bare, text)
    if not places or places[-1][1] != len(text):
        return None
    return Meant(start=places[-1][0], end=len(text), new=new.removesuffix("\n"), why="the last line end")


def _variants(old: str, new: str) -> Iterator[tuple[str, str, str]]:
    """Yield what the texts may have been before something was put around or into them; first as they are."""
    yield old, new, ""
    for count in range(1, len(_UNWRAPPED) + 1):
        for names in itertools.combinations(_UNWRAPPED, count):
            pairs = [(old, new)]
            for name in names:
                pairs = [made for each in pairs for made in _UNWRAPPED[name](*each)]
            for pair in pairs:
                if pair[0].strip():
                    yield (*pair, " and ".join(names))


def _unfenced(old: str, new: str) -> Iterator[tuple[str, str]]:
    found, beside = _FENCE.fullmatch(old), _FENCE.fullmatch(new)
    if found is not None:
        keeps_end = beside is None and new.endswith("\n")
        yield found[2] + ("\n" if keeps_end else ""), new if beside is None else beside[2]


def _unnumbered(old: str, new: str) -> Iterator[tuple[str, str]]:
    for separator in _SEPARATORS:
        plain = _numbered(old, separator)
        if plain is None:
            continue
        is_numbered = [_number(line, separator) is not None for line in new.split("\n") if line]
        if not any(is_numbered):
            yield plain, new
        elif all(is_numbered):
            yield plain, "\n".join(_behind_number(line, separator) for line in new.split("\n"))


def _unescaped(old: str, new: str) -> Iterator[tuple[str, str]]:
    if _ESCAPE.search(old):
        yield html.unescape(old), _ESCAPE.sub(lambda found: html.unescape(found[0]), new)


_UNWRAPPED: Final[dict[str, Callable[[str, str], Iterator[tuple[str, str]]]]] = {
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
    stripped = number.strip(_BLANKS)
    return int(stripped) if found and stripped.isascii() and stripped.isdigit() and len(stripped) < 10 else None


def _behind_number(line: str, separator: str) -> str:
    return line.partition(separator)[2] if line else line


class _FoldedText:
    """A text in which lines are compared as `folded_line` has them; knows where each place of it is in the text."""

    def __init__(self, text: str) -> None:
        lines = split_lines(text)
        self.bare = [without_end(line) for line in lines]
        self.starts = list(itertools.accumulate(map(len, lines), initial=0))
        if not lines or self.bare[-1] != lines[-1]:
            self.bare.append("")
        folded = [folded_line(line) for line in self.bare]
        self.text = "\n".join(folded)
        self.folded_starts = list(itertools.accumulate((len(line) + 1 for line in folded), initial=0))

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column, both from 0, of a place in the folded text."""
        line = bisect_right(self.folded_starts, at) - 1
        return line, at - self.folded_starts[line]


def _folded(old: str, new: str, text: str, why: str) -> Meant | None:
    if "\r" in old or not old.strip():
        return None
    lines = old.split("\n")
    needle = "\n".join(map(folded_line, lines))
    hay = _FoldedText(text)
    # Blanks at the end of the last line stand for the end of that line, and for nothing in the midst of one.
    is_line_end = lines[-1] != lines[-1].rstrip(_BLANKS)
    found = [
        at for at in _places(needle, hay.text) if not is_line_end or hay.text[at + len(needle) :][:1] in ("", "\n")
    ]
    if not needle.strip() or len(found) != 1:
        return None
    (first, column), (last, end_column) = hay.place(found[0]), hay.place(found[0] + len(needle))
    start = hay.starts[first] + column
    end = hay.starts[last] + (len(hay.bare[last]) if is_line_end else end_column)
    there = [hay.bare[line] for line in range(first, last + 1)]
    there[-1] = there[-1][: end - hay.starts[last]]
    there[0] = there[0][column:]
    differs = [name for name, is_so in _differences(lines, there) if is_so]
    return Meant(start=start, end=end, new=_carried(lines, new, there), why=" and ".join(filter(None, (why, *differs))))


def _places(needle: str, text: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


def _differences(lines: list[str], there: list[str]) -> Iterator[tuple[str, bool]]:
    kept = [(line.rstrip(_BLANKS), now.rstrip(_BLANKS)) for line, now in zip(lines, there, strict=True)]
    yield "quotes, dashes or no-break spaces", any(line != now for line, now in kept)
    yield "blanks at line ends", any(len(line) != len(now) for line, now in zip(lines, there, strict=True))


def _carried(lines: list[str], new: str, there: list[str]) -> str:
    """Return the new text in which all that it shares with the old one is as the file has it."""
    old = "\n".join(lines)
    starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))
    there_starts = list(itertools.accumulate((len(line) + 1 for line in there), initial=0))
    kept = [len(folded_line(line)) for line in there]

    def carried(at: int, *, is_behind: bool) -> int:
        line = bisect_right(starts, at) - 1
        column = at - starts[line]
        is_in_blanks = column > kept[line] or (is_behind and column == kept[line])
        return there_starts[line] + (len(there[line]) if is_in_blanks else column)

    edits: list[TextEdit] = []
    for edit in minimal_edits(old, new):
        # What is put behind a line, or takes the place of its end, finds the blanks there before it, or takes them away.
        is_behind = edit.text.startswith("\n") if edit.start == edit.end else old[edit.end : edit.end + 1] in ("", "\n")
        start = carried(edit.start, is_behind=is_behind and edit.start == edit.end)
        edits.append(TextEdit(start, carried(edit.end, is_behind=is_behind), edit.text))
    return apply_text_edits("\n".join(there), edits)
