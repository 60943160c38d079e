"""Line ends: splits texts into lines with their ends, and adapts the line ends of one text to another.

`lines.py` defines a line: it ends with LF or CRLF or, in a text without any LF, with CR.
"""

from __future__ import annotations

from typing import Final

from filetools.content.differences.alignment import MAX_COST, differences
from filetools.content.lines import mark_of, tally
from filetools.models.words import Newline

_END_OF: Final[dict[Newline, str]] = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their line ends; joined they give the text again."""
    return split_at(text, mark_of(text))


def split_at(text: str, end: str) -> list[str]:
    """Return the parts of a text that end with a character, and the rest; joined they give the text again."""
    lines = [part + end for part in text.split(end)]
    last = lines.pop()[:-1]
    if last:
        lines.append(last)
    return lines


def end_of(line: str) -> str:
    r"""Return the end of one line: "\n", "\r\n", "\r", or "" for a last line without one."""
    if line.endswith("\n"):
        return "\r\n" if line.endswith("\r\n") else "\n"
    return "\r" if line.endswith("\r") else ""


def without_end(line: str) -> str:
    """Return one line without its end."""
    return line[: len(line) - len(end_of(line))]


def sole_end(text: str) -> str | None:
    """Return the line end of all lines of a text, or None if they differ or there is none."""
    return _END_OF.get(tally(text)[0])


def with_ends(text: str, end: str) -> str:
    r"""Replace every line end of a text by `end`; a lone CR counts only in a text without LF."""
    plain = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    return plain if end == "\n" else plain.replace("\n", end)


def ends_like(text: str, model: str, *, before: str = "") -> str:
    r"""Give a text the line ends of another: common lines take the model's end, new lines that of their neighbour.

    Args:
        text: Lines whose line ends are ignored. Text after the last line end stays unterminated.
        model: The text whose line ends are used.
        before: The end of the line before the text, used for a new first line. If it is empty, that of the next line that
            has one is used; if there is none, the text keeps its line ends.
    """
    lines = split_lines(text)
    ends = _matching_ends(lines, split_lines(model))
    following = next((end for end in ends if end), "")
    last = before or following
    for place, line in enumerate(lines):
        last = ends[place] or last
        own = end_of(line)
        lines[place] = line[: len(line) - len(own)] + (last or own) if own else line
    return "".join(lines)


def nearest_end(text: str, index: int) -> str:
    """Return the last line end before `index` or, on the first line, the next one; "" if there is none."""
    mark = mark_of(text)
    place = text.rfind(mark, 0, index)
    if place < 0:
        place = text.find(mark, index)
    return "" if place < 0 else end_of(text[max(0, place - 1) : place + 1])


def _matching_ends(lines: list[str], model: list[str]) -> list[str]:
    """Return for each line the end of the corresponding line of the model, or "" if there is none."""
    old, new = [without_end(line) for line in model], [without_end(line) for line in lines]
    ends = [""] * len(lines)
    i = j = 0
    for old_start, old_end, new_start, new_end in [
        *differences(old, new, max_cost=MAX_COST),
        (len(old), 0, len(new), 0),
    ]:
        ends[j:new_start] = [end_of(line) for line in model[i:old_start]]
        # Changed lines correspond to the lines they replace, one by one.
        replaced = model[old_start : min(old_end, old_start + new_end - new_start)]
        ends[new_start : new_start + len(replaced)] = [end_of(line) for line in replaced]
        i, j = old_end, new_end
    return ends
