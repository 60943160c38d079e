"""Places that others count in UTF-16 units, as JavaScript and LSP do, as places in characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from filetools.content.text_edits import TextEdit
from filetools.errors import InvalidArgumentError


def in_characters(text: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    """Return edits of a text, with their places counted in UTF-16 units, with places that count its characters.

    Args:
        text: The text before the edits.
        edits: In order, not overlapping, as `ordered` returns them.

    Raises:
        InvalidArgumentError: A place is behind the end of the text, or between the two units of one character.
    """
    if text.isascii():
        if edits and edits[-1].end > len(text):
            raise behind_the_end(edits[-1].end)
        return list(edits)
    found: list[TextEdit] = []
    place = units = 0
    for edit in edits:
        start = _place(text, place, edit.start - units, edit.start)
        place = _place(text, start, edit.end - edit.start, edit.end)
        units = edit.end
        found.append(TextEdit(start, place, edit.text))
    return found


def ordered(edits: Sequence[TextEdit]) -> list[TextEdit]:
    """Return edits in the order of their places; what is put into one place keeps the order it was given in.

    Raises:
        InvalidArgumentError: Edits overlap, one ends before it starts, or one starts before the text.
    """
    found = sorted(edits, key=lambda edit: (edit.start, edit.end))
    for edit in found:
        if not 0 <= edit.start <= edit.end:
            raise InvalidArgumentError(f"An edit goes from {edit.start} to {edit.end}")
    for one, two in pairwise(found):
        if two.start < one.end:
            raise InvalidArgumentError(
                f"The edits from {one.start} to {one.end} and from {two.start} to {two.end} overlap"
            )
    return found


def behind_the_end(offset: int) -> InvalidArgumentError:
    """Return the error for a place that the text does not have."""
    return InvalidArgumentError(f"The offset {offset} is behind the end of the text")


def _place(text: str, known: int, units: int, offset: int) -> int:
    """Return the character that begins some units behind a character; `offset` names it in errors."""
    # No character has less than one unit, so these hold all that is asked for.
    part = text[known : known + units]
    if len(part) == units and part.isascii():
        return known + units
    data = part.encode("utf-16-le", "surrogatepass")
    if len(data) < 2 * units:
        raise behind_the_end(offset)
    # What is too much is measured, since it is shorter: one unit for each character of two.
    surplus = data[2 * units :].decode("utf-16-le", "surrogatepass")
    # A character that is cut apart shows its second half alone.
    if surplus and "\udc00" <= surplus[0] <= "\udfff":
        raise InvalidArgumentError(f"The offset {offset} is between the two halves of a character")
    return known + len(part) - len(surplus)
