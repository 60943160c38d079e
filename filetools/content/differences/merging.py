r"""Three-way merge of texts: by lines, in prose by words too; and of the bytes of a file.

The end of a line is part of it, also the missing end of the last line, as in git. Before the merge:

- A `theirs` whose lines all end alike, though not all of the base's do so, was written without regard to line ends (a
  model answers in LF): its lines take the ends of the base's, new ones their neighbour's.
- An `ours` whose lines all end alike, though not all of the base's do so, was converted as a whole: base and `theirs`
  are converted too.

Exchanging the two sides therefore exchanges at most line ends. Byte-order marks are no part of a text; the file keeps
its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from filetools.content.differences.alignment import numbered
from filetools.content.differences.diff import PatchHunk, changed_hunk
from filetools.content.differences.weaving import weave
from filetools.content.differences.words import merge_words, starts_of
from filetools.content.editing.text_edits import TextEdit, apply_text_edits, splice
from filetools.content.ends import ends_like, sole_end, split_lines, with_ends
from filetools.content.formats import TextFormat, decode
from filetools.content.lines import newline_of

MAX_CHARACTERS: Final = 16 * 1024 * 1024
MAX_LINES: Final = 400_000
"""Larger texts are a conflict as a whole: merging them would take seconds."""
_MAX_COST: Final = 200_000
Kept = Literal["both", "theirs"]
"""What stays where two changes conflict, if somebody has said so."""


class Conflict(Struct, frozen=True, kw_only=True):
    """One place that both sides changed differently. Lives in the error of the call that met it."""

    base: str
    ours: str
    theirs: str
    line: int
    """Line of the current text, from 1, where `ours` stands or, if it is empty, would stand."""

    def to_dict(self) -> dict[str, str | int]:
        """Return the place as JSON, named from the side of the caller, whose text is the proposed one."""
        return {"base": self.base, "current": self.ours, "yours": self.theirs, "line": self.line}


class MergeResult(Struct, frozen=True, kw_only=True):
    """What became of a merge."""

    text: str | None
    """The merged text; None if there are conflicts."""
    is_clean: bool
    conflicts: tuple[Conflict, ...]
    foreign: tuple[PatchHunk, ...]
    """What the merged text has that the writer of `theirs` did not send: hunks from `theirs` to it, without context.
    Empty where nobody asked for them."""
    edits: tuple[TextEdit, ...]
    """Edits that make the current text the merged one; empty if there are conflicts."""
    is_too_large: bool = False
    """Whether the texts were not compared because of their size; then the one conflict holds no text."""


class BytesMerge(Struct, frozen=True, kw_only=True):
    """What became of the merge of a file."""

    content: bytes | None
    """The merged bytes; None if there are conflicts."""
    result: MergeResult


def merge(
    base: str, ours: str, theirs: str, *, by_words: bool, keep: Kept | None = None, with_foreign: bool = True
) -> MergeResult:
    """Merge two changes of one text.

    No line that both sides kept or that one side added is dropped; the same change on both sides counts once; changes
    that touch are a conflict, and so are changes whose result depends on which of several equal lines was meant.

    Args:
        base: The text that both sides started from.
        ours: The text that is there now.
        theirs: The text that the caller proposes.
        by_words: Whether a place where lines conflict is merged by words, as it may be in prose: two changes of one line
            of code can each be right and wrong together.
        keep: What becomes of places in conflict, if somebody has said so: "both" puts theirs behind ours, "theirs" puts
            it in the place of ours.
        with_foreign: Whether `foreign` is wanted.

    Returns:
        The merged text, or every conflict.
    """
    if theirs in (ours, base):
        return MergeResult(text=ours, is_clean=True, conflicts=(), foreign=(), edits=())
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
    for place in weave(*numbered(*sides), max_cost=_MAX_COST):
        old, now, new = (
            side[slice(*part)] for side, part in zip(sides, (place.base, place.ours, place.theirs), strict=True)
        )
        texts = "".join(old), "".join(now), "".join(new)
        merged, made = now, None
        if place.kind == "theirs":
            merged, made = new, [TextEdit(0, len(texts[1]), texts[2])]
        elif place.kind in ("conflict", "doubt"):
            # Comparing words would not settle it either.
            made = merge_words(*texts) if by_words and place.kind == "conflict" else None
            if made is None and keep is None:
                conflicts.append(Conflict(base=texts[0], ours=texts[1], theirs=texts[2], line=place.ours[0] + 1))
                continue
            # Empty is an answer: theirs adds nothing to ours.
            made = [TextEdit(len(texts[1]) if keep == "both" else 0, len(texts[1]), texts[2])] if made is None else made
            merged = split_lines(apply_text_edits(texts[1], made))
        start = starts[place.ours[0]]
        edits += [TextEdit(edit.start + start, edit.end + start, edit.text) for edit in made or ()]
        if with_foreign and merged != new:
            foreign.append(changed_hunk(new, place.theirs[0], merged, place.ours[0] + lines_added))
        lines_added += len(merged) - len(now)
    if conflicts:
        return _conflicted(conflicts)
    return MergeResult(
        text=apply_text_edits(ours, edits), is_clean=True, conflicts=(), foreign=tuple(foreign), edits=tuple(edits)
    )


def merge_bytes(
    base: str,
    content: bytes,
    theirs: str,
    *,
    text_format: TextFormat,
    path: str,
    by_words: bool,
    with_foreign: bool = True,
) -> BytesMerge:
    """Merge a proposed text into a file; bytes of the file that the proposal did not touch stay as they are.

    Args:
        base: The text that the proposal started from.
        content: All bytes of the current file.
        theirs: The proposed text.
        text_format: How the current file stores its text.
        path: Workspace-relative path, for errors.
        by_words: As in `merge`.
        with_foreign: As in `merge`.

    Raises:
        EncodingError: The proposal has a character that the file's encoding lacks, or the content is not text.
    """
    ours = decode(content, text_format, path=path)
    result = merge(base, ours, theirs, by_words=by_words, with_foreign=with_foreign)
    merged = splice(content, ours, text_format, result.edits, path=path) if result.is_clean else None
    return BytesMerge(content=merged, result=result)


def aligned_ends(base: str, ours: str, theirs: str) -> tuple[str, str]:
    """Return base and theirs with the line ends under which `merge` compares them."""
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
    return MergeResult(text=None, is_clean=False, conflicts=found, foreign=(), edits=(), is_too_large=is_too_large)
