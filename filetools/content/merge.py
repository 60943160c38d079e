r"""Three-way merge of texts: by lines, then by words; and of the bytes of a file.

The current file ("ours") has the say in everything that is not words. Before the merge:

- A `theirs` whose lines all end alike, though not all of the base's do so, was written without regard to line ends (a
  model answers in LF): its lines take the ends of the base's, new ones their neighbour's.
- An `ours` whose lines all end alike, though not all of the base's do so, was converted as a whole: base and `theirs`
  are converted too.
- Whether the last line has an end is taken from `ours`, unless it is empty. If it has none, the end of the result's
  last line is left off, unless that line is blank: then it would vanish.

Else the end of a line is part of it, as in git. Exchanging the two sides therefore exchanges at most line ends.
Byte-order marks are no part of a text; the file keeps its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from filetools.content.alignment import numbered
from filetools.content.diff import PatchHunk, changed_hunk
from filetools.content.ends import end_of, ends_like, sole_end, split_lines, with_ends
from filetools.content.formats import TextFormat, decode
from filetools.content.lines import newline_of
from filetools.content.text_edits import TextEdit, apply_text_edits, composed, splice
from filetools.content.weaving import Place, weave
from filetools.content.words import merge_words, starts_of

MAX_CHARACTERS: Final = 16 * 1024 * 1024
MAX_LINES: Final = 400_000
"""Larger texts are a conflict as a whole: merging them would take seconds."""
_MAX_COST: Final = 200_000
Kept = Literal["both", "theirs"]
"""What stays where two changes conflict, if somebody has said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One place that both sides changed differently. Lives in the error of the call that met it."""

    base: str
    ours: str
    theirs: str
    line: int
    """Line of the current text, from 1, where `ours` stands or, if it is empty, would stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What became of a merge."""

    text: str | None
    """The merged text; None if there are conflicts."""
    is_clean: bool
    conflicts: tuple[Conflict, ...]
    foreign: tuple[PatchHunk, ...]
    """What the merged text has that the writer of `theirs` did not send: hunks from `theirs` to it, without context."""
    edits: tuple[TextEdit, ...]
    """Edits that make the current text the merged one; empty if there are conflicts."""
    is_too_large: bool = False
    """Whether the texts were not compared because of their size; then the one conflict holds no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesMerge:
    """What became of the merge of a file."""

    content: bytes | None
    """The merged bytes; None if there are conflicts."""
    result: MergeResult


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    base: list[str]
    ours: list[str]
    theirs: list[str]


def merge(base: str, ours: str, theirs: str, *, by_words: bool = True) -> MergeResult:
    """Merge two changes of one text.

    No line that both sides kept or that one side added is dropped; the same change on both sides counts once; changes
    that touch are a conflict, and so are changes whose result depends on which of several equal lines was meant.

    Args:
        base: The text that both sides started from.
        ours: The text that is there now.
        theirs: The text that the caller proposes.
        by_words: Whether a place where lines conflict is merged by words, if the words do not.

    Returns:
        The merged text, or every conflict.
    """
    return _woven(base, ours, theirs, by_words=by_words)


def merge_keeping(base: str, ours: str, theirs: str, keep: Kept) -> str | None:
    """Merge two changes of one text, where somebody has said what becomes of the places in which they conflict.

    Args:
        base: The text that both sides started from.
        ours: The text that is there now.
        theirs: The text that is proposed.
        keep: "both" puts theirs behind ours there; "theirs" puts it in the place of ours.

    Returns:
        The merged text; None if the texts are too large to be compared.
    """
    return _woven(base, ours, theirs, by_words=True, keep=keep).text


def _woven(base: str, ours: str, theirs: str, *, by_words: bool, keep: Kept | None = None) -> MergeResult:
    settled = _settled_at_once(base, ours, theirs)
    if settled is not None:
        return settled
    base, theirs = aligned_ends(base, ours, theirs)
    last_end = _lacking_end(base, ours, theirs)
    sides = _Sides(
        base=_completed(base, last_end), ours=_completed(ours, last_end), theirs=_completed(theirs, last_end)
    )
    if max(len(sides.base), len(sides.ours), len(sides.theirs)) > MAX_LINES:
        return _too_large()
    places = weave(*numbered(sides.base, sides.ours, sides.theirs), max_cost=_MAX_COST)
    weaver = _Weaver(sides, places, by_words=by_words, keep=keep)
    if weaver.conflicts:
        return _conflicted(weaver.conflicts)
    edits = _on_real_text(ours, weaver.edits, last_end)
    text = apply_text_edits(ours, edits)
    return MergeResult(text=text, is_clean=True, conflicts=(), foreign=tuple(weaver.foreign), edits=tuple(edits))


def merge_bytes(
    base: str, content: bytes, theirs: str, *, text_format: TextFormat, path: str, by_words: bool = True
) -> BytesMerge:
    """Merge a proposed text into a file; bytes of the file that the proposal did not touch stay as they are.

    Args:
        base: The text that the proposal started from.
        content: All bytes of the current file.
        theirs: The proposed text.
        text_format: How the current file stores its text.
        path: Workspace-relative path, for errors.
        by_words: As in `merge`.

    Raises:
        EncodingError: The proposal has a character that the file's encoding lacks, or the content is not text.
    """
    result = merge(base, decode(content, text_format, path=path), theirs, by_words=by_words)
    merged = splice(content, text_format, result.edits, path=path) if result.is_clean else None
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


def _lacking_end(base: str, ours: str, theirs: str) -> str:
    """Return the end that a last line without one is compared with."""
    for text in (ours, base, theirs):
        lines_end = sole_end(text) or next((end for end in map(end_of, split_lines(text)[:1]) if end), None)
        if lines_end is not None:
            return lines_end
    return "\n"


def _completed(text: str, end: str) -> list[str]:
    lines = split_lines(text)
    if lines and not end_of(lines[-1]):
        lines[-1] += end
    return lines


def _on_real_text(ours: str, edits: Sequence[TextEdit], last_end: str) -> list[TextEdit]:
    """Return edits of the completed lines as edits of the text, whose last line may lack an end."""
    if not ours or end_of(ours):
        return list(edits)
    completing = [TextEdit(len(ours), len(ours), last_end)]
    done = composed(completing, edits)
    text = apply_text_edits(ours, done)
    end = end_of(text)
    if not end or not split_lines(text)[-1].removesuffix(end):
        return done
    return composed(done, [TextEdit(len(text) - len(end), len(text), "")])


class _Weaver:
    """Turns the places of one merge into edits of the current lines, conflicts and foreign hunks; lives for one call."""

    def __init__(self, sides: _Sides, places: Sequence[Place], *, by_words: bool, keep: Kept | None) -> None:
        self._sides = sides
        self._keep = keep
        self._by_words = by_words
        self._starts = starts_of(sides.ours)
        self._lines_added = 0
        self.edits: list[TextEdit] = []
        self.conflicts: list[Conflict] = []
        self.foreign: list[PatchHunk] = []
        for place in places:
            self._weave(place)

    def _weave(self, place: Place) -> None:
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

    def _note_foreign(self, place: Place, merged: list[str]) -> None:
        theirs = self._lines(place)[2]
        new_at = place.ours[0] + self._lines_added
        self.foreign.append(changed_hunk(theirs, place.theirs[0], merged, new_at))

    def _conflict(self, place: Place, base: str, ours: str, theirs: str) -> Conflict:
        return Conflict(base=base, ours=ours, theirs=theirs, line=place.ours[0] + 1)

    def _lines(self, place: Place) -> tuple[list[str], list[str], list[str]]:
        sides = self._sides
        return sides.base[slice(*place.base)], sides.ours[slice(*place.ours)], sides.theirs[slice(*place.theirs)]
