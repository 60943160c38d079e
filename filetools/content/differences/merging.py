r"""Three-way merge of texts by lines, in prose also by words; and of the bytes of a file.

Line ends are part of the line, including the missing end of the last line, as in git. Before the merge:

- If all lines of `theirs` have the same end, but not all of the base's have it, `theirs` was written without regard to line
  ends (models write LF): its lines take the ends of the base's lines, and new lines that of their neighbour.
- If all lines of `ours` have the same end, but not all of the base's have it, `ours` was converted as a whole: base and
  `theirs` are converted, too.

Swapping the two sides therefore changes at most line ends. Byte-order marks are not part of a text; the file keeps its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from filetools.content.differences.alignment import numbered
from filetools.content.differences.diff import PatchHunk, changed_hunk
from filetools.content.differences.diff3 import diff3
from filetools.content.differences.words import merge_words, starts_of
from filetools.content.editing.text_edits import TextEdit, apply_text_edits, splice
from filetools.content.ends import ends_like, sole_end, split_lines, with_ends
from filetools.content.formats import TextFormat, decode
from filetools.content.lines import newline_of

MAX_CHARACTERS: Final = 16 * 1024 * 1024
MAX_LINES: Final = 400_000
"""Larger texts conflict as a whole, because merging them would take seconds."""
_MAX_COST: Final = 200_000
Kept = Literal["both", "theirs"]
"""How to resolve conflicts, if that has been decided."""


class Conflict(Struct, frozen=True, kw_only=True):
    """One place that both sides changed differently."""

    base: str
    ours: str
    theirs: str
    line: int
    """Line of the current text, from 1, where `ours` is or, if it is empty, would be."""

    def to_dict(self) -> dict[str, str | int]:
        """Return the conflict as JSON, from the point of view of the caller, who proposed `theirs`."""
        return {"base": self.base, "current": self.ours, "yours": self.theirs, "line": self.line}


class MergeResult(Struct, frozen=True, kw_only=True):
    """Result of a merge."""

    text: str | None
    """The merged text; None if there are conflicts."""
    conflicts: tuple[Conflict, ...]
    foreign: tuple[PatchHunk, ...]
    """Hunks from `theirs` to the merged text, without context: what the writer of `theirs` did not send. Empty unless
    requested."""
    edits: tuple[TextEdit, ...]
    """Edits from the current to the merged text; empty if there are conflicts."""
    is_too_large: bool = False
    """True if the texts were not compared because of their size; the single conflict then has no text."""


def merge(
    base: str, ours: str, theirs: str, *, by_words: bool, keep: Kept | None = None, with_foreign: bool = True
) -> MergeResult:
    """Merge two changes of one text.

    No line that both sides kept or that one side added is dropped. The same change on both sides counts once. Adjacent
    changes conflict, and so do changes whose result depends on which of several equal lines was meant.

    Args:
        base: The text that both sides started from.
        ours: The current text.
        theirs: The text that the caller proposes.
        by_words: True to merge conflicting lines by words. Suitable for prose only: two changes of one line of code can each
            be correct but wrong together.
        keep: Resolves conflicts: "both" puts theirs after ours, "theirs" replaces ours. None keeps them as conflicts.
        with_foreign: True to compute `foreign`.

    Returns:
        The merged text, or every conflict.
    """
    if theirs in (ours, base):
        return MergeResult(text=ours, conflicts=(), foreign=(), edits=())
    if max(len(base), len(ours), len(theirs)) > MAX_CHARACTERS:
        return _conflicted([], is_too_large=True)
    base, theirs = aligned_ends(base, ours, theirs)
    sides = split_lines(base), split_lines(ours), split_lines(theirs)
    if max(map(len, sides)) > MAX_LINES:
        return _conflicted([], is_too_large=True)
    starts, lines_added = starts_of(sides[1]), 0
    conflicts: list[Conflict] = []
    foreign: list[PatchHunk] = []
    edits: list[TextEdit] = []
    for place in diff3(*numbered(*sides), max_cost=_MAX_COST):
        old, now, new = (
            side[slice(*part)] for side, part in zip(sides, (place.base, place.ours, place.theirs), strict=True)
        )
        texts = "".join(old), "".join(now), "".join(new)
        merged, made = now, None
        if place.kind == "theirs":
            merged, made = new, [TextEdit(0, len(texts[1]), texts[2])]
        elif place.kind in ("conflict", "doubt"):
            # Comparing words would not resolve a "doubt" either.
            made = merge_words(*texts) if by_words and place.kind == "conflict" else None
            if made is None and keep is None:
                conflicts.append(Conflict(base=texts[0], ours=texts[1], theirs=texts[2], line=place.ours[0] + 1))
                continue
            # An empty list is a valid result: theirs adds nothing to ours.
            made = [TextEdit(len(texts[1]) if keep == "both" else 0, len(texts[1]), texts[2])] if made is None else made
            merged = split_lines(apply_text_edits(texts[1], made))
        start = starts[place.ours[0]]
        edits += [TextEdit(edit.start + start, edit.end + start, edit.text) for edit in made or ()]
        if with_foreign and merged != new:
            foreign.append(changed_hunk(new, place.theirs[0], merged, place.ours[0] + lines_added))
        lines_added += len(merged) - len(now)
    if conflicts:
        return _conflicted(conflicts)
    return MergeResult(text=apply_text_edits(ours, edits), conflicts=(), foreign=tuple(foreign), edits=tuple(edits))


def merge_bytes(
    base: str,
    content: bytes,
    theirs: str,
    *,
    text_format: TextFormat,
    path: str,
    by_words: bool,
    with_foreign: bool = True,
) -> tuple[bytes | None, MergeResult]:
    """Merge a proposed text into a file. Bytes that the proposal did not change stay as they are.

    Args:
        base: The text that the proposal started from.
        content: All bytes of the current file.
        theirs: The proposed text.
        text_format: The text format of the current file.
        path: Workspace-relative path, for errors.
        by_words: As in `merge`.
        with_foreign: As in `merge`.

    Returns:
        The merged bytes, or None if there are conflicts; and the merge of the texts.

    Raises:
        EncodingError: The proposal has a character that the file's encoding lacks, or the content is not text.
    """
    ours = decode(content, text_format, path=path)
    result = merge(base, ours, theirs, by_words=by_words, with_foreign=with_foreign)
    if result.text is None:
        return None, result
    return splice(content, ours, text_format, result.edits, path=path), result


def aligned_ends(base: str, ours: str, theirs: str) -> tuple[str, str]:
    """Return base and theirs with the line ends that `merge` uses to compare them."""
    base_newline = newline_of(base)
    if base_newline != "none":
        if sole_end(theirs) is not None and newline_of(theirs) != base_newline:
            theirs = ends_like(theirs, base)
        end = sole_end(ours)
        if end is not None and newline_of(ours) != base_newline:
            base, theirs = with_ends(base, end), with_ends(theirs, end)
    elif (end := sole_end(ours)) is not None and sole_end(theirs) is not None:
        theirs = with_ends(theirs, end)
    return base, theirs


def _conflicted(conflicts: Sequence[Conflict], *, is_too_large: bool = False) -> MergeResult:
    found = tuple(conflicts) or (Conflict(base="", ours="", theirs="", line=1),)
    return MergeResult(text=None, conflicts=found, foreign=(), edits=(), is_too_large=is_too_large)
