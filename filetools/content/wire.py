r"""Documents in the form of editors: LF text with positions in UTF-16 units, while each line of the file keeps its end.

CRLF, LF, and lone CR each become one "\n", independent of the rest of the text, since an editor breaks a line at each of
them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import pairwise

from filetools.content.editing.text_edits import TextEdit, composed, in_utf16, utf16_units
from filetools.content.ends import ends_like, nearest_end, with_ends
from filetools.content.lines import newline_of
from filetools.errors import InvalidArgumentError
from filetools.models.words import Newline


def in_characters(text: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    """Convert the positions of edits from UTF-16 units to characters.

    Args:
        text: The text before the edits.
        edits: In order, not overlapping, as `ordered` returns them.

    Raises:
        InvalidArgumentError: A position is after the end of the text, or between the two units of one character.
    """
    if text.isascii():
        if edits and edits[-1].end > len(text):
            raise offset_error(edits[-1].end)
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
    """Sort edits by position; insertions at the same position keep their order.

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


def offset_error(offset: int) -> InvalidArgumentError:
    """Return the error for an offset after the end of the text."""
    return InvalidArgumentError(f"The offset {offset} is after the end of the text")


def _place(text: str, known: int, units: int, offset: int) -> int:
    """Return the position `units` after a known character; `offset` is the one reported in errors."""
    # Every character has at least one unit, so this part is long enough.
    part = text[known : known + units]
    if len(part) == units and part.isascii():
        return known + units
    data = part.encode("utf-16-le", "surrogatepass")
    if len(data) < 2 * units:
        raise offset_error(offset)
    # Decode only the surplus, which is shorter: one unit for each two-unit character.
    surplus = data[2 * units :].decode("utf-16-le", "surrogatepass")
    # A split character leaves a lone second half.
    if surplus and "\udc00" <= surplus[0] <= "\udfff":
        raise InvalidArgumentError(f"The offset {offset} is between the two halves of a character")
    return known + len(part) - len(surplus)


def wire_text(text: str) -> str:
    r"""Replace each CRLF, LF or CR by one "\n"."""
    if "\r" not in text:
        return text
    # In one pass; replacing CRLF and then CR takes three times as long.
    return io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)


def from_wire(text: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    r"""Convert edits of a wire text into edits of the original text.

    Lines whose end no edit touches keep it; new lines take that of their neighbour. If a removal would leave a lone CR just
    before an LF, which would be one line end, the CR becomes CRLF.

    Args:
        text: The text, with its own line ends.
        edits: Edits of `wire_text(text)`, with positions in UTF-16 units. Not overlapping, in any order. Any CRLF or CR in
            their new texts counts as "\n".

    Returns:
        Edits in order, with positions in characters of `text`.

    Raises:
        InvalidArgumentError: An offset is outside the text or inside a surrogate pair, edits overlap, or a new text has a
            lone surrogate.
    """
    given = [TextEdit(edit.start, edit.end, _checked(edit.text)) for edit in ordered(edits)]
    if "\r" not in text:
        return in_characters(text, given)
    newline = newline_of(text)
    if not text.isascii():
        # Removing every CR takes a third of the time of finding each CRLF.
        given = in_characters(text.replace("\r", "") if newline == "crlf" else wire_text(text), given)
    found = list(_in_own_places(text, given))
    found = [TextEdit(edit.start, edit.end, _with_own_ends(text, edit, newline)) for edit in found]
    return list(_with_separate_ends(text, found)) if newline == "mixed" else found


def to_wire(text: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    """Convert edits of a text into edits of its wire text; changes of line ends alone disappear.

    Args:
        text: The text, with its own line ends.
        edits: In order, not overlapping, with positions in characters of `text`.

    Returns:
        Edits of `wire_text(text)` in order, with positions in UTF-16 units.
    """
    if "\r" not in text and not any("\r" in edit.text for edit in edits):
        return in_utf16(text, edits)
    found: list[TextEdit] = []
    place = wire_place = 0
    for edit in _on_whole_ends(text, edits):
        old, new = wire_text(text[edit.start : edit.end]), wire_text(edit.text)
        start = wire_place + utf16_units(text[place : edit.start]) - text.count("\r\n", place, edit.start)
        place, wire_place = edit.end, start + utf16_units(old)
        if old != new:
            found.append(_trimmed(start, wire_place, old, new))
    return found


def _checked(text: str) -> str:
    if not text.isascii():
        try:
            text.encode("utf-16-le")
        except UnicodeEncodeError as exc:
            half = f"U+{ord(text[exc.start]):04X}"
            raise InvalidArgumentError(f"The new text has half of a character, {half}, at {exc.start}") from exc
    return wire_text(text)


def _in_own_places(text: str, edits: Sequence[TextEdit]) -> Iterator[TextEdit]:
    place = wire_place = 0
    for edit in edits:
        start = _own_place(text, place, edit.start - wire_place)
        place = _own_place(text, start, edit.end - edit.start)
        wire_place = edit.end
        if place > len(text):
            raise offset_error(edit.end)
        yield TextEdit(start, place, edit.text)


def _own_place(text: str, known: int, distance: int) -> int:
    """Return the position `distance` wire characters after a known one, counting each CRLF as one."""
    counted, place = known, known + distance
    # The part added for the CRLFs found so far may contain more; it is at most half as long each time.
    while counted < place and (more := text.count("\r\n", max(counted - 1, known), place)):
        counted, place = place, place + more
    return place + 1 if place > known and text[place - 1 : place + 1] == "\r\n" else place


def _with_own_ends(text: str, edit: TextEdit, newline: Newline) -> str:
    if "\n" not in edit.text:
        return edit.text
    if newline != "mixed":
        return with_ends(edit.text, "\r\n" if newline == "crlf" else "\r")
    old = text[edit.start : edit.end]
    neighbour = nearest_end(text, edit.start)
    # In a text with LF, the rest of the package does not treat a lone CR as a line end, so a part without LF provides none.
    return ends_like(edit.text, old if "\n" in old else "", before=neighbour)


def _with_separate_ends(text: str, edits: Sequence[TextEdit]) -> Iterator[TextEdit]:
    """Add an LF wherever an edit would place a lone CR before the LF of another line end."""
    last = ""
    place = 0
    starts = [*(edit.start for edit in edits[1:]), len(text)]
    for edit, next_start in zip(edits, starts, strict=False):
        last = text[edit.start - 1] if edit.start > place else last
        new = f"\n{edit.text}" if last == "\r" and edit.text.startswith("\n") else edit.text
        last = new[-1:] or last
        if last == "\r" and text[edit.end : min(edit.end + 1, next_start)] == "\n":
            new, last = f"{new}\n", "\n"
        place = edit.end
        yield TextEdit(edit.start, edit.end, new)


def _on_whole_ends(text: str, edits: Sequence[TextEdit]) -> Iterator[TextEdit]:
    """Join touching edits, and widen edits that split a CRLF or join a CR before them with an LF after them."""
    for edit in composed((), edits):
        start, end, new = edit.start, edit.end, edit.text
        before, behind = text[max(0, start - 1) : start], text[end : end + 1]
        takes_return = before == "\r" and "\n" in (text[start : start + 1], (new + behind)[:1])
        takes_feed = behind == "\n" and "\r" in (text[max(0, end - 1) : end], (before + new)[-1:])
        widened = f"{before * takes_return}{new}{behind * takes_feed}"
        yield TextEdit(start - takes_return, end + takes_feed, widened)


def _trimmed(start: int, end: int, old: str, new: str) -> TextEdit:
    """Remove the line ends by which an edit was widened."""
    head = old[:1] == new[:1] == "\n"
    tail = len(old) > head and len(new) > head and old[-1] == new[-1] == "\n"
    return TextEdit(start + head, end - tail, new[head : len(new) - tail])
