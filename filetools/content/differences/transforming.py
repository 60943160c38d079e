"""Operational transformation: carries concurrent edits of one text, and carets, past each other.

An edit inserts its new text before the first character it replaces. Every new text is therefore in one gap between two
characters of the common text, and the result is the same whichever side comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from filetools.content.editing.text_edits import TextEdit


def transform(edits: Sequence[TextEdit], against: Sequence[TextEdit], *, is_first: bool) -> list[TextEdit]:
    """Transform edits of a text into edits of the text after other edits of the same text.

    Text removed by either side stays removed; text added by either side stays, even inside text that the other removed.
    Applying `against` and then the result gives the same text as applying `edits` and then `against` transformed with the
    opposite `is_first`. Takes time linear in both lists.

    Args:
        edits: In order, not overlapping; they may touch.
        against: Edits of the same text, in the same form.
        is_first: True if the new text of `edits` comes first where both sides insert at one position.

    Source: Ellis and Gibbs, "Concurrency control in groupware systems" (1989), and its property TP1 as named by
        Ressel, Nitsche-Ruhland and Gunzenhäuser (1996).
    """
    if not against:
        return list(edits)
    return list(_joined(_carried(edits, _Places(against), is_first)))


def moved(position: int, edits: Sequence[TextEdit], *, sticks: Literal["left", "right"]) -> int:
    """Return the position of a caret after edits.

    A caret at an end of a replaced text stays at that end.

    Args:
        position: Number of characters before the caret.
        edits: In order, not overlapping.
        sticks: The side on which the caret stays if text is inserted at its position or replaces the text around it; "left"
            is before that text.
    """
    shift = 0
    for edit in edits:
        if edit.start > position:
            break
        if edit.start == position and (edit.end > position or sticks == "left"):
            break
        if edit.end > position:
            return edit.start + shift + (len(edit.text) if sticks == "right" else 0)
        shift += len(edit.text) - (edit.end - edit.start)
    return position + shift


class _Places:
    """Maps gaps between the characters of a text to their positions after edits. Query in ascending order."""

    def __init__(self, edits: Sequence[TextEdit]) -> None:
        self._edits = edits
        self._next = 0
        self._end = 0
        """End of the text removed by the edits passed so far."""
        self._shift = 0

    def before(self, place: int) -> int:
        """Return the position of a gap, before text inserted there."""
        while (edit := self._coming()) is not None and edit.start < place:
            self._pass(edit)
        return max(place, self._end) + self._shift

    def behind(self, place: int) -> int:
        """Return the position of a gap, after text inserted there."""
        while (edit := self._coming()) is not None and edit.start <= place:
            self._pass(edit)
        return max(place, self._end) + self._shift

    def next_start(self, end: int) -> int:
        """Return the start of the next edit, at most `end`."""
        edit = self._coming()
        return end if edit is None else min(edit.start, end)

    def _coming(self) -> TextEdit | None:
        return self._edits[self._next] if self._next < len(self._edits) else None

    def _pass(self, edit: TextEdit) -> None:
        self._next += 1
        self._end = edit.end
        self._shift += len(edit.text) - (edit.end - edit.start)


def _carried(edits: Sequence[TextEdit], places: _Places, is_first: bool) -> Iterator[TextEdit]:
    for edit in edits:
        place = places.before(edit.start) if is_first else places.behind(edit.start)
        yield TextEdit(place, place, edit.text)
        # Text that the other side inserted into the removed text stays, so the removal is split there. A pure insertion must
        # not query the position after the gap: the next edit may insert into the same gap.
        start = edit.start
        while start < edit.end:
            first = places.behind(start)
            start = places.next_start(edit.end)
            yield TextEdit(first, places.before(start), "")


def _joined(edits: Iterator[TextEdit]) -> Iterator[TextEdit]:
    """Join adjacent edits unless that would move new text out of its gap; drop edits without effect."""
    start = end = 0
    parts: list[str] = []
    for edit in edits:
        if edit.start > end or (edit.text and start < end):
            if start < end or parts:
                yield TextEdit(start, end, "".join(parts))
            start, parts = edit.start, []
        end = edit.end
        if edit.text:
            parts.append(edit.text)
    if start < end or parts:
        yield TextEdit(start, end, "".join(parts))
