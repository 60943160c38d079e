"""A document as an editor shows it; carets, selections and scroll position follow the text when it changes."""

from __future__ import annotations

import array
import sys
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

from filetools.content.differences.transforming import moved
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.content.wire import in_characters, ordered
from filetools.errors import InvalidArgumentError


class Selection(Struct, frozen=True, kw_only=True):
    """A selected part of a text, in UTF-16 units."""

    anchor: int
    """Where the selection was started."""
    head: int
    """Where its caret is; before the anchor in a backward selection."""


class ShownDocument(Struct, frozen=True, kw_only=True):
    """A document as one editor shows it, at one moment. Offsets count UTF-16 units, as on the wire."""

    path: str
    document: str
    """Id of the document in events."""
    text: str
    r"""The document's text, with "\n" for every line end."""
    version: int
    """Version of the document, from 1."""
    is_dirty: bool = False
    """True if the text differs from the file."""
    carets: tuple[int, ...] = ()
    selections: tuple[Selection, ...] = ()
    is_stale: bool = False
    """True after changes were missed: the text is outdated until the document is shown again."""
    is_behind: bool = False
    """True if a change of the file could not be merged into the text."""
    disk_version: str | None = None
    """Version of the file while the text is behind it; None if the file was deleted."""
    line_start: int = 0
    """Offset of the first visible line."""

    @property
    def first_line(self) -> int:
        """The first visible line, from 1."""
        return self.text.count("\n", 0, self.line_start) + 1

    def changed(self, edits: Sequence[TextEdit], *, sticks: Literal["left", "right"]) -> ShownDocument:
        """Return the document after edits, with carets, selections and scroll position moved along.

        Args:
            edits: Not overlapping, in UTF-16 units.
            sticks: The side of text inserted at a caret on which the caret ends up.

        Raises:
            InvalidArgumentError: The edits do not fit the text.
        """
        units = edits_as_units(ordered(edits))
        inside = in_characters(self.text, edits_from_units(units))
        text = apply_text_edits(self.text, inside)
        return structs.replace(
            self,
            text=text,
            carets=tuple(moved(caret, units, sticks=sticks) for caret in self.carets),
            selections=tuple(_moved_selection(one, units, sticks) for one in self.selections),
            line_start=line_start_at(text, moved(self.line_start, inside, sticks="right")),
        )

    def placed(
        self, carets: Sequence[int] | None, selections: Sequence[Selection] | None, first_line: int | None
    ) -> ShownDocument:
        """Return the document with other carets, selections or first visible line; None keeps the current ones.

        Raises:
            InvalidArgumentError: A line or offset is not in the text, or an offset is inside a surrogate pair.
        """
        wanted_carets = self.carets if carets is None else tuple(carets)
        wanted = self.selections if selections is None else tuple(selections)
        places = [*wanted_carets, *(place for one in wanted for place in (one.anchor, one.head))]
        self._check(places)
        start = self.line_start if first_line is None else self._start_of(first_line)
        return structs.replace(self, carets=wanted_carets, selections=wanted, line_start=start)

    def _check(self, places: Sequence[int]) -> None:
        for place in places:
            if place < 0:
                raise InvalidArgumentError(f"The offset {place} is before the text", path=self.path)
        in_characters(self.text, [TextEdit(place, place, "") for place in sorted(places)])

    def _start_of(self, line: int) -> int:
        parts = self.text.split("\n", max(0, line - 1))
        if len(parts) != line:
            raise InvalidArgumentError(f"The text has no line {line}", path=self.path)
        return len(self.text) - len(parts[-1])


def line_start_at(text: str, place: int) -> int:
    """Return the offset of the start of the line that contains an offset."""
    return text.rfind("\n", 0, place) + 1


def _moved_selection(selection: Selection, edits: Sequence[TextEdit], sticks: Literal["left", "right"]) -> Selection:
    first, last = sorted((selection.anchor, selection.head))
    if first == last:
        place = moved(first, edits, sticks=sticks)
        return Selection(anchor=place, head=place)
    # Text inserted at either end of the selection is not part of it.
    start, end = moved(first, edits, sticks="right"), moved(last, edits, sticks="left")
    end = max(start, end)
    is_forward = selection.anchor == first
    return Selection(anchor=start if is_forward else end, head=end if is_forward else start)


def as_units(text: str) -> str:
    """Return a text with each character outside the BMP as two surrogates."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    code = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
    return "".join(map(chr, array.array("H", text.encode(code, "surrogatepass"))))


def from_units(text: str) -> str:
    """Return a text with each surrogate pair as one character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def edits_as_units(edits: Iterable[TextEdit]) -> list[TextEdit]:
    """Return edits with their texts in units; their offsets already count units."""
    return [TextEdit(edit.start, edit.end, as_units(edit.text)) for edit in edits]


def edits_from_units(edits: Iterable[TextEdit]) -> list[TextEdit]:
    """Return edits with their texts as characters; their offsets still count units."""
    return [TextEdit(edit.start, edit.end, from_units(edit.text)) for edit in edits]
