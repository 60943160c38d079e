"""Differences that are too long to show: cut around what changes, and saying exactly how much is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from filetools.content.diff import NO_END, word_edits
from filetools.content.text_edits import TextEdit

AROUND: Final = 60
"""Unchanged characters shown on each side of a change inside a long line."""
LEAST_SHOWN: Final = 400
"""Characters of each part of a difference that is shortened, as far as they go: less says nothing."""
_MOST_COMPARED: Final = 4_000_000
"""Characters of a pair of lines that are compared by words."""


def narrowed(lines: Sequence[str], most: int) -> list[str]:
    """Return the lines of a hunk; lines longer than `most` with what changes in them and what is near it.

    What is left out is unchanged, and its size stands in its place. Lines without a counterpart stay as they are.

    Args:
        lines: Lines behind " ", "-", "+" or a backslash, without their ends.
        most: Characters from which a line is long.
    """
    if all(len(line) <= most for line in lines):
        return list(lines)
    shown = [_gap(line, 0, len(line), "") if line[:1] == " " and len(line) > most else line for line in lines]
    for is_change, places in groupby(range(len(lines)), lambda place: lines[place][:1] in ("-", "+", NO_END[:1])):
        changed = list(places) if is_change else []
        removed = [place for place in changed if lines[place][:1] == "-"]
        added = [place for place in changed if lines[place][:1] == "+"]
        for old, new in zip(removed, added, strict=False):
            if max(len(lines[old]), len(lines[new])) > most:
                before, after = lines[old][1:], lines[new][1:]
                edits = list(word_edits(before, after, 0, most=_MOST_COMPARED))
                shown[old] = "-" + _around(before, edits)
                shown[new] = "+" + _around(after, _mirrored(edits))
    return shown


def _mirrored(edits: Sequence[TextEdit]) -> Iterator[TextEdit]:
    """Yield the places of edits in the text that they make."""
    shift = 0
    for edit in edits:
        start = edit.start + shift
        yield TextEdit(start, start + len(edit.text), "")
        shift += len(edit.text) - (edit.end - edit.start)


def _around(line: str, changed: Iterator[TextEdit] | Sequence[TextEdit]) -> str:
    parts: list[str] = []
    place = 0
    for each in changed:
        parts += [_gap(line, place, each.start, "end" if place == 0 else ""), line[each.start : each.end]]
        place = each.end
    return "".join([*parts, _gap(line, place, len(line), "start")])


def _gap(line: str, start: int, end: int, kept: str) -> str:
    """Return an unchanged part of a line with its middle, or all but its start or end, left out."""
    head, tail = (0 if kept == "end" else AROUND), (0 if kept == "start" else AROUND)
    left = end - start - head - tail
    if left <= AROUND:
        return line[start:end]
    return f"{line[start : start + head]}…({left:,} unchanged characters)…{line[end - tail : end]}"


def shortened(diff: str, most: int) -> str:
    """Return a difference of about `most` characters that says at its end how much is left out.

    Each run of removed, added or other lines is shown from its beginning and with an equal share, so that no long part
    hides those behind it.
    """
    if len(diff) <= most:
        return diff
    runs = ["".join(run) for _, run in groupby(diff.splitlines(keepends=True), lambda line: line[:1])]
    share = max(LEAST_SHOWN, _share([len(run) for run in runs], most))
    shown: list[str] = []
    left, lines = most, 0
    for run in runs:
        part = run[: min(share, max(0, left))]
        if len(part) < len(run):
            part = part[: part.rfind("\n") + 1] or part
            lines += run.count("\n", len(part))
            if part and not part.endswith("\n"):
                part += "…\n"
        shown.append(part)
        left -= len(part)
    text = "".join(shown)
    return f"{text}… {len(diff) - len(text):,} more characters are not shown ({lines:,} lines)\n"


def _share(sizes: Sequence[int], most: int) -> int:
    """Return the size to which the larger ones must be cut for all to fit."""
    ordered = sorted(sizes)
    for place, size in enumerate(ordered):
        if size * (len(ordered) - place) > most:
            return most // (len(ordered) - place)
        most -= size
    return ordered[-1]
