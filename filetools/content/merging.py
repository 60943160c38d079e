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

from filetools.content.alignment import numbered
from filetools.content.diff import PatchHunk, changed_hunk
from filetools.content.ends import ends_like, sole_end, split_lines, with_ends
from filetools.content.formats import TextFormat, decode
from filetools.content.lines import newline_of
from filetools.content.text_edits import TextEdit, apply_text_edits, splice
from filetools.content.weaving import WovenPlace, weave
from filetools.content.words import merge_words, starts_of

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


class _Sides(Struct, frozen=True, kw_only=True):
    base: list[str]
    ours: list[str]
    theirs: list[str]


def merge(base: str, ours: str, theirs: str, *, by_words: bool, with_foreign: bool = True) -> MergeResult:
    """Merge two changes of one text.

    No line that both sides kept or that one side added is dropped; the same change on both sides counts once; changes
    that touch are a conflict, and so are changes whose result depends on which of several equal lines was meant.

    Args:
        base: The text that both sides started from.
        ours: The text that is there now.
        theirs: The text that the caller proposes.
        by_words: Whether a place where lines conflict is merged by words, as it may be in prose: two changes of one line
            of code can each be right and wrong together.
        with_foreign: Whether `foreign` is wanted. Without it, as a rule only what is near the changes of `theirs` is
            compared; the outcome is the same.

    Returns:
        The merged text, or every conflict.
    """
    return _woven(base, ours, theirs, by_words=by_words, with_foreign=with_foreign)


def merge_keeping(base: str, ours: str, theirs: str, keep: Kept, *, by_words: bool) -> str | None:
    """Merge two changes of one text, where somebody has said what becomes of the places in which they conflict.

    Args:
        base: The text that both sides started from.
        ours: The text that is there now.
        theirs: The text that is proposed.
        keep: "both" puts theirs behind ours there; "theirs" puts it in the place of ours.
        by_words: As in `merge`.

    Returns:
        The merged text; None if the texts are too large to be compared.
    """
    return _woven(base, ours, theirs, by_words=by_words, keep=keep).text


def _woven(
    base: str, ours: str, theirs: str, *, by_words: bool, keep: Kept | None = None, with_foreign: bool = True
) -> MergeResult:
    settled = _settled_at_once(base, ours, theirs)
    if settled is not None:
        return settled
    base, theirs = aligned_ends(base, ours, theirs)
    sides = _Sides(base=split_lines(base), ours=split_lines(ours), theirs=split_lines(theirs))
    if max(len(sides.base), len(sides.ours), len(sides.theirs)) > MAX_LINES:
        return _too_large()
    places = weave(*numbered(sides.base, sides.ours, sides.theirs), max_cost=_MAX_COST)
    weaver = _Weaver(sides, places, by_words=by_words, keep=keep, with_foreign=with_foreign)
    if weaver.conflicts:
        return _conflicted(weaver.conflicts)
    edits = tuple(weaver.edits)
    return MergeResult(
        text=apply_text_edits(ours, edits), is_clean=True, conflicts=(), foreign=tuple(weaver.foreign), edits=edits
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


def _settled_at_once(base: str, ours: str, theirs: str) -> MergeResult | None:
    if theirs in (ours, base):
        return MergeResult(text=ours, is_clean=True, conflicts=(), foreign=(), edits=())
    return _too_large() if max(len(base), len(ours), len(theirs)) > MAX_CHARACTERS else None


def _too_large() -> MergeResult:
    nothing = Conflict(base="", ours="", theirs="", line=1)
    return MergeResult(text=None, is_clean=False, conflicts=(nothing,), foreign=(), edits=(), is_too_large=True)


def _conflicted(conflicts: Sequence[Conflict]) -> MergeResult:
    return MergeResult(text=None, is_clean=False, conflicts=tuple(conflicts), foreign=(), edits=())


class _Weaver:
    """Turns the places of one merge into edits of the current lines, conflicts and foreign hunks; lives for one call."""

    def __init__(
        self, sides: _Sides, places: Sequence[WovenPlace], *, by_words: bool, keep: Kept | None, with_foreign: bool
    ) -> None:
        self._sides = sides
        self._with_foreign = with_foreign
        self._keep = keep
        self._by_words = by_words
        self._starts = starts_of(sides.ours)
        self._lines_added = 0
        self.edits: list[TextEdit] = []
        self.conflicts: list[Conflict] = []
        self.foreign: list[PatchHunk] = []
        for place in places:
            self._weave(place)

    def _weave(self, place: WovenPlace) -> None:
        base, ours, theirs = self._lines(place)
        start = self._starts[place.ours[0]]
        if place.kind == "ours":
            self._note_foreign(place, ours)
        elif place.kind == "theirs":
            self.edits.append(TextEdit(start, self._starts[place.ours[1]], "".join(theirs)))
            self._lines_added += len(theirs) - len(ours)
        elif place.kind != "both":
            texts = "".join(base), "".join(ours), "".join(theirs)
            # Where equal lines leave a doubt, words are no clearer.
            edits = merge_words(*texts) if self._by_words and place.kind == "conflict" else None
            if edits is None and self._keep is not None:
                edits = [TextEdit(len(texts[1]) if self._keep == "both" else 0, len(texts[1]), texts[2])]
            if edits is None:
                self.conflicts.append(self._conflict(place, *texts))
                return
            self.edits += [TextEdit(edit.start + start, edit.end + start, edit.text) for edit in edits]
            merged = split_lines(apply_text_edits(texts[1], edits))
            self._note_foreign(place, merged)
            self._lines_added += len(merged) - len(ours)

    def _note_foreign(self, place: WovenPlace, merged: list[str]) -> None:
        if not self._with_foreign:
            return
        theirs = self._lines(place)[2]
        new_at = place.ours[0] + self._lines_added
        self.foreign.append(changed_hunk(theirs, place.theirs[0], merged, new_at))

    def _conflict(self, place: WovenPlace, base: str, ours: str, theirs: str) -> Conflict:
        return Conflict(base=base, ours=ours, theirs=theirs, line=place.ours[0] + 1)

    def _lines(self, place: WovenPlace) -> tuple[list[str], list[str], list[str]]:
        sides = self._sides
        return sides.base[slice(*place.base)], sides.ours[slice(*place.ours)], sides.theirs[slice(*place.theirs)]
