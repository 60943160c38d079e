"""Differences of texts as hunks of a patch, as unified diffs, and as minimal edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct, structs

from filetools.content.differences.alignment import MAX_COST, Span, differences
from filetools.content.differences.myers import common_prefix, common_suffix
from filetools.content.differences.words import split_words, starts_of
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.content.ends import split_at, split_lines, without_end
from filetools.content.lines import mark_of
from filetools.content.patching.file_patch import quoted_name

_MAX_WORD_COST: Final = 20_000
_MAX_WORD_CHARACTERS: Final = 50_000
_Shown = Callable[[str], str]
NO_END: Final = "\\ No newline at end of file"


class PatchHunk(Struct, frozen=True, kw_only=True):
    """One hunk of a structured patch: changed lines with context lines."""

    old_start: int
    """First line in the old text, from 1; if there are no old lines, the line before, as in a unified diff."""
    old_lines: int
    new_start: int
    """First line in the new text, from 1; if there are no new lines, the line before."""
    new_lines: int
    lines: tuple[str, ...]
    r"""Lines prefixed by " ", "-" or "+", without line ends; "\ No newline at end of file" follows an unterminated one."""

    def to_dict(self) -> dict[str, int | list[str]]:
        """Return the hunk as JSON, with the names that clients know."""
        return {
            "oldStart": self.old_start,
            "oldLines": self.old_lines,
            "newStart": self.new_start,
            "newLines": self.new_lines,
            "lines": list(self.lines),
        }


def structured_patch(old_text: str, new_text: str, context: int = 3) -> list[PatchHunk]:
    """Return the hunks between two texts.

    Args:
        old_text: The text before.
        new_text: The text after.
        context: Number of unchanged lines around each change.
    """
    return _hunks(split_lines(old_text), split_lines(new_text), context, without_end)


def patch_of_edits(old_text: str, new_text: str, edits: Sequence[TextEdit], context: int = 3) -> list[PatchHunk]:
    """Return the hunks between two texts whose edits are known; only the text near the edits is compared.

    It changes as few lines as `structured_patch`, unless a line removed in one place is added far away among lines equal to
    it. Lines added or removed among equal lines are shown near their edit, not at the last of the equal lines.

    Args:
        old_text: The text before.
        new_text: The text after.
        edits: The edits from the old to the new text, in order, not overlapping.
        context: Number of unchanged lines around each change.
    """
    mark = mark_of(new_text)
    if mark_of(old_text) != mark and mark_of(old_text) in old_text:
        return structured_patch(old_text, new_text, context)  # the line terminator has changed, and so has every line
    windows: list[tuple[int, int, list[TextEdit]]] = []
    for edit in edits:
        start, end, inner = edit.start, edit.end, [edit]
        for _ in range(context + 1):
            start = old_text.rfind(mark, 0, max(start - 1, 0)) + 1
            end = old_text.find(mark, end) + 1 or len(old_text)
        if windows and start <= windows[-1][1]:
            start, _, before = windows.pop()
            inner = [*before, edit]
        windows.append((start, end, inner))
    hunks: list[PatchHunk] = []
    place = line = shift = 0
    for start, end, inner in windows:
        line += old_text.count(mark, place, start)
        place = start
        shifted = [TextEdit(edit.start - start, edit.end - start, edit.text) for edit in inner]
        old = split_at(old_text[start:end], mark)
        new = split_at(apply_text_edits(old_text[start:end], shifted), mark)
        hunks += (
            structs.replace(hunk, old_start=hunk.old_start + line, new_start=hunk.new_start + line + shift)
            for hunk in _hunks(old, new, context, without_end)
        )
        shift += len(new) - len(old)
    return hunks


def unified_diff(
    old_text: str, new_text: str, path_a: str, path_b: str, *, context: int = 3, is_exact: bool = False
) -> str:
    r"""Return a unified diff that `git apply` accepts; "" if the texts are equal.

    Args:
        old_text: The text before.
        new_text: The text after.
        path_a: Name of the old file, with its prefix, as in "a/src/app.py"; "/dev/null" for a new file.
        path_b: Name of the new file, as in "b/src/app.py"; "/dev/null" for a deleted one.
        context: Number of unchanged lines around each change.
        is_exact: True if only LF ends a line, as in git.

    CRLF lines keep their CR. Lines that end in CR alone are written with LF, for readability, unless `is_exact`.
    """
    old, new = (split_at(text, "\n") if is_exact else split_lines(text) for text in (old_text, new_text))
    ends = "\n" if is_exact else ("\n", "\r")
    parts = [
        f"@@ -{_range(hunk.old_start, hunk.old_lines)} +{_range(hunk.new_start, hunk.new_lines)} @@\n"
        + "".join(f"{line}\n" for line in hunk.lines)
        for hunk in _hunks(old, new, context, lambda line: line[:-1] if line.endswith(ends) else line)
    ]
    return f"--- {_label(path_a)}\n+++ {_label(path_b)}\n{''.join(parts)}" if parts else ""


def changed_hunk(old: Sequence[str], old_at: int, new: Sequence[str], new_at: int) -> PatchHunk:
    """Return the hunk that replaces some lines by others; positions are line numbers from 0."""
    return PatchHunk(
        old_start=old_at + bool(old),
        old_lines=len(old),
        new_start=new_at + bool(new),
        new_lines=len(new),
        lines=(*_marked("-", old, without_end), *_marked("+", new, without_end)),
    )


def minimal_edits(old_text: str, new_text: str) -> list[TextEdit]:
    """Return small edits from the old to the new text, in order, so that editors can keep their caret and undo.

    Changed lines are compared by words, and each changed word is trimmed to its changed characters. No edit splits a CRLF
    or, since texts are sequences of code points, a surrogate pair.
    """
    if old_text == new_text:
        return []
    old, new = split_lines(old_text), split_lines(new_text)
    at = starts_of(old)
    edits: list[TextEdit] = []
    for span in differences(old, new, max_cost=MAX_COST):
        before, after = "".join(old[span[0] : span[1]]), "".join(new[span[2] : span[3]])
        edits += _word_edits(before, after, at[span[0]])
    return edits


def _word_edits(before: str, after: str, offset: int = 0, *, most: int = _MAX_WORD_CHARACTERS) -> Iterator[TextEdit]:
    if not before or not after or len(before) + len(after) > most:
        yield _trimmed(before, after, offset)
        return
    old, new = split_words(before), split_words(after)
    at = starts_of(old)
    for span in differences(old, new, max_cost=_MAX_WORD_COST):
        yield _trimmed("".join(old[span[0] : span[1]]), "".join(new[span[2] : span[3]]), offset + at[span[0]])


def _trimmed(before: str, after: str, offset: int) -> TextEdit:
    head = common_prefix(before, after)
    if before[head - 1 : head] == "\r":
        head -= 1
    tail = common_suffix(before, after, head)
    if before[len(before) - tail : len(before) - tail + 1] == "\n":
        tail -= 1
    return TextEdit(offset + head, offset + len(before) - tail, after[head : len(after) - tail])


def _hunks(old: list[str], new: list[str], context: int, shown: _Shown) -> list[PatchHunk]:
    return [_patch_hunk(old, new, spans, context, shown) for spans in _grouped(old, new, context)]


def _grouped(old: list[str], new: list[str], context: int) -> Iterator[list[Span]]:
    """Yield groups of changes that share a hunk because the unchanged lines between them are within their context."""
    group: list[Span] = []
    for span in differences(old, new, max_cost=MAX_COST):
        if group and span[0] - group[-1][1] > 2 * context:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _patch_hunk(old: list[str], new: list[str], spans: list[Span], context: int, shown: _Shown) -> PatchHunk:
    before = min(context, spans[0][0])
    after = min(context, len(old) - spans[-1][1])
    old_start, old_end = spans[0][0] - before, spans[-1][1] + after
    new_start, new_end = spans[0][2] - before, spans[-1][3] + after
    lines: list[str] = []
    place = old_start
    for span in spans:
        lines += _marked(" ", old[place : span[0]], shown)
        lines += _marked("-", old[span[0] : span[1]], shown)
        lines += _marked("+", new[span[2] : span[3]], shown)
        place = span[1]
    lines += _marked(" ", old[place:old_end], shown)
    return PatchHunk(
        old_start=old_start + (old_end > old_start),
        old_lines=old_end - old_start,
        new_start=new_start + (new_end > new_start),
        new_lines=new_end - new_start,
        lines=tuple(lines),
    )


def _marked(mark: str, lines: Sequence[str], shown: _Shown) -> list[str]:
    marked = [mark + shown(line) for line in lines]
    # Only the last line of a text can lack a line end.
    return [*marked, NO_END] if lines and shown(lines[-1]) == lines[-1] else marked


def _range(start: int, lines: int) -> str:
    return str(start) if lines == 1 else f"{start},{lines}"


def _label(path: str) -> str:
    name = quoted_name(path)
    # As in git: a tab ends a name that contains a space.
    return f"{name}\t" if " " in name and not name.startswith('"') else name


AROUND: Final = 60
"""Unchanged characters shown on each side of a change inside a long line."""
LEAST_SHOWN: Final = 400
"""Minimum number of characters kept of each part of a shortened diff; less would be useless."""
_MOST_COMPARED: Final = 4_000_000
"""Maximum number of characters of two lines that are compared by words."""


def narrowed(lines: Sequence[str], most: int) -> list[str]:
    """Shorten the lines of a hunk that are longer than `most` to their changes and the text near them.

    Only unchanged text is omitted, and replaced by its size. Lines without a counterpart stay as they are.

    Args:
        lines: Lines prefixed by " ", "-", "+" or a backslash, without line ends.
        most: Maximum length of a line, in characters.
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
                edits = list(_word_edits(before, after, 0, most=_MOST_COMPARED))
                shown[old] = "-" + _around(before, edits)
                shown[new] = "+" + _around(after, _mirrored(edits))
    return shown


def _mirrored(edits: Sequence[TextEdit]) -> Iterator[TextEdit]:
    """Yield the positions of edits in the resulting text."""
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
    """Return an unchanged part of a line with its middle, or all but its start or end, omitted."""
    head, tail = (0 if kept == "end" else AROUND), (0 if kept == "start" else AROUND)
    left = end - start - head - tail
    if left <= AROUND:
        return line[start:end]
    return f"{line[start : start + head]}…({left:,} unchanged characters)…{line[end - tail : end]}"


def shortened(diff: str, most: int) -> str:
    """Shorten a diff to about `most` characters, and state the omitted amount at its end.

    Each run of removed, added or other lines is shown from its beginning and gets an equal share, so that no long part
    hides the following ones.
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
    """Return the size to which larger parts must be cut so that all fit."""
    ordered = sorted(sizes)
    for place, size in enumerate(ordered):
        if size * (len(ordered) - place) > most:
            return most // (len(ordered) - place)
        most -= size
    return ordered[-1]
