"""Edits of one text that cross: carried past each other, past a caret, and taken back.

An edit puts its new text before the first character it replaces. So every new text stands in one gap between two
characters of the common text, and the text after both sides is the same whichever came first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from filetools.content.editing.text_edits import TextEdit


def transform(edits: Sequence[TextEdit], against: Sequence[TextEdit], *, is_first: bool) -> list[TextEdit]:
    """Return edits of a text as edits of what other edits of the same text leave.

    What either side removes stays removed, what either adds stays, also inside what the other removed. Applying
    `against` and then the result gives the same text as applying `edits` and then `against` transformed with the
    opposite `is_first`. Takes time linear in both lists.

    Args:
        edits: In order, not overlapping; they may touch.
        against: Edits of the same text, in the same form.
        is_first: Whether the new text of `edits` stands first where both sides have some in one place.

    Source: Ellis and Gibbs, "Concurrency control in groupware systems" (1989), and its property TP1 as named by
        Ressel, Nitsche-Ruhland and Gunzenhäuser (1996).
    """
    if not against:
        return list(edits)
    return list(_joined(_carried(edits, _Places(against), is_first)))


def moved(position: int, edits: Sequence[TextEdit], *, sticks: Literal["left", "right"]) -> int:
    """Return where a caret stands after edits.

    At an end of a replaced text it stays at that end.

    Args:
        position: How many characters stand before the caret.
        edits: In order, not overlapping.
        sticks: On which side of text that is put just where the caret stands, or of text that replaces what surrounds
            it, the caret comes to stand: "left" is before that text.
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
    """Where the gaps between the characters of a text lie after edits; asked in rising order. Lives for one call."""

    def __init__(self, edits: Sequence[TextEdit]) -> None:
        self._edits = edits
        self._next = 0
        self._end = 0
        """Up to where the text is gone that the edits passed so far removed."""
        self._shift = 0

    def before(self, place: int) -> int:
        """Return the place of a gap, before what is put there."""
        while (edit := self._coming()) is not None and edit.start < place:
            self._pass(edit)
        return max(place, self._end) + self._shift

    def behind(self, place: int) -> int:
        """Return the place of a gap, behind what is put there."""
        while (edit := self._coming()) is not None and edit.start <= place:
            self._pass(edit)
        return max(place, self._end) + self._shift

    def next_start(self, end: int) -> int:
        """Return where the next edit starts, at most `end`."""
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
        # What the other side put into the removed text stays, so the removal is cut there. A mere insertion must not
        # ask for what lies behind the gap: the next edit may put its text into the same one.
        start = edit.start
        while start < edit.end:
            first = places.behind(start)
            start = places.next_start(edit.end)
            yield TextEdit(first, places.before(start), "")


def _joined(edits: Iterator[TextEdit]) -> Iterator[TextEdit]:
    """Join those that touch where no new text leaves its gap; drop those that do nothing."""
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
