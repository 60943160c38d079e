r"""Edits: replace old text by new text, all or nothing.

An old text must match exactly or, if blanks at line ends are ignored, in one place; see `matching`.

LF in the old text matches any line end of the file; CR is literal. New text without CR takes the line ends of the file: kept
lines have their own, new lines that of their neighbour. New text with CR is literal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct

from filetools.content.differences.diff import minimal_edits
from filetools.content.editing.closest import closest_region, lines_around
from filetools.content.editing.matching import lines_at, match_ignoring_blanks, matches_of
from filetools.content.editing.text_edits import TextEdit, apply_text_edits, composed, splice
from filetools.content.ends import end_of, ends_like, nearest_end, with_ends
from filetools.content.formats import TextFormat, decode
from filetools.content.lines import count_lines, mark_of, newline_of
from filetools.errors import EditAmbiguousError, EditNotFoundError, FileToolsError, InvalidArgumentError
from filetools.models.words import Newline

E = TypeVar("E", bound=FileToolsError)
MOST_REFUSALS: Final = 5
"""Maximum number of further refusals reported in one error; the rest is counted."""


class Edit(Struct, frozen=True, kw_only=True):
    """One requested replacement."""

    old: str
    """The text to replace, exactly as in the file; LF matches any line end."""
    new: str
    """The replacement."""
    count: int = 1
    """The required number of matches; all of them are replaced."""
    replace_all: bool = False
    """Replace any number of matches, at least one; `count` is ignored then."""


class EditOutcome(Struct, frozen=True, kw_only=True):
    """Result of edits of a text."""

    text: str
    spans: tuple[TextEdit, ...]
    """The changes, at positions in the text before all edits; in order, not overlapping."""
    counts: tuple[int, ...]
    """Number of matches that each edit replaced."""
    repairs: tuple[str, ...] = ()
    """One sentence for each old text that matched only without blanks at line ends."""


class BytesOutcome(Struct, frozen=True, kw_only=True):
    """Result of edits or a patch of a file."""

    content: bytes
    before: str
    """The text before."""
    outcome: EditOutcome
    text_format: TextFormat | None = None
    """The new text format, if it may have changed."""


def apply_edits(text: str, edits: Sequence[Edit], *, path: str | None = None) -> EditOutcome:
    """Apply edits to a text, each to the result of the previous one.

    Args:
        text: The whole text of the file.
        edits: The edits, at least one.
        path: Workspace-relative path, for errors.

    Raises:
        InvalidArgumentError: No edits, an empty `old`, or a `count` under 1.
        EditNotFoundError: An `old` occurs fewer than `count` times; the closest region is in the details.
        EditAmbiguousError: An `old` occurs more than `count` times; the line of every match is in the details.
    """
    _check(edits)
    spans: list[TextEdit] = []
    counts: list[int] = []
    repairs: list[str] = []
    refusals: list[EditNotFoundError | EditAmbiguousError] = []
    current = text
    for number, edit in enumerate(edits, 1):
        try:
            found, new, why = _found(current, edit, number, path)
        except (EditNotFoundError, EditAmbiguousError) as exc:
            refusals.append(exc)
            continue
        counts.append(len(found))
        if why:
            repairs.append(f"The old text of edit {number} was found except for {why}")
        if edit.old != edit.new:
            made = replacements(current, found, new)
            current = apply_text_edits(current, made)
            spans = composed(spans, made)
    if refusals:
        raise joined(refusals)
    return EditOutcome(text=current, spans=tuple(spans), counts=tuple(counts), repairs=tuple(repairs))


def joined(refusals: Sequence[E]) -> E:
    """Return the first refusal, with the others added to it."""
    first = refusals[0]
    further = refusals[1 : MOST_REFUSALS + 1]
    if further:
        more = len(refusals) - 1 - len(further)
        rest = [f"and {more} more"] if more else []
        first.message = "\n".join([first.message, *(other.message for other in further), *rest])
        first.details["others"] = [*first.details.get("others", ()), *(_other(first, other) for other in further)]
    return first


def _other(first: FileToolsError, other: FileToolsError) -> dict[str, Any]:
    """Return the details of a further refusal, for programs."""
    where = {} if other.path == first.path else {"path": None if other.path is None else str(other.path)}
    names = ("number", "closest", "lines", "others")
    return where | {name: other.details[name] for name in names if other.details.get(name)}


def edited_bytes(
    content: bytes, text_format: TextFormat, edit: Callable[[str], EditOutcome], *, path: str
) -> BytesOutcome:
    """Edit the text of a file; only the bytes of replaced characters change.

    Args:
        content: All bytes of the file.
        text_format: Its text format.
        edit: Returns the outcome for a text, as `apply_edits` and `insert_lines` do.
        path: Workspace-relative path, for errors.

    Raises:
        EncodingError: New text has a character the encoding lacks (the details name it), or the content is not text.
    """
    text = decode(content, text_format, path=path)
    return spliced(content, text, text_format, edit(text), path=path)


def spliced(content: bytes, text: str, text_format: TextFormat, outcome: EditOutcome, *, path: str) -> BytesOutcome:
    """Apply the outcome of edits of a text to the file's bytes; only the bytes of replaced characters change.

    Raises:
        EncodingError: New text has a character the encoding lacks.
    """
    made = splice(content, text, text_format, outcome.spans, path=path)
    return BytesOutcome(content=made, before=text, outcome=outcome)


def insert_lines(text: str, line: int, new_text: str) -> EditOutcome:
    """Insert lines after a line of a text.

    The new lines take the line ends of their neighbours. After an unterminated last line, they are unterminated, too.

    Args:
        text: The whole text of the file.
        line: Number of the line to insert after, from 1; 0 inserts at the beginning.
        new_text: The lines; a missing last line end is added.

    Raises:
        InvalidArgumentError: The text has no such line, or there is nothing to insert.
    """
    # Split only the part of the text before the position.
    before = text.split(mark_of(text), max(line, 0))
    is_open = len(before) == line and before[-1] != ""
    if line < 0 or (len(before) <= line and not is_open):
        raise InvalidArgumentError(f"No line {line} to insert after: the file has {count_lines(text)} lines")
    if not new_text:
        raise InvalidArgumentError("Nothing to insert")
    place = len(text) if is_open else len(text) - len(before[-1])
    neighbour = nearest_end(text, place)
    new = new_text if "\r" in new_text or not neighbour else with_ends(new_text, neighbour)
    end = neighbour or end_of(new) or "\n"
    if is_open:
        new = end + new.removesuffix(end_of(new))
    elif not end_of(new):
        new += end
    made = (TextEdit(place, place, new),)
    return EditOutcome(text=apply_text_edits(text, made), spans=made, counts=(1,))


def _check(edits: Sequence[Edit]) -> None:
    if not edits:
        raise InvalidArgumentError("No edits were given")
    for number, edit in enumerate(edits, 1):
        if not edit.old:
            raise InvalidArgumentError(
                f"Edit {number} has an empty old text",
                suggested_action="Give a line next to the place as the old text, and repeat it in the new text.",
            )
        if edit.count < 1 and not edit.replace_all:
            raise InvalidArgumentError(f"Edit {number} has a count of {edit.count}; it must be at least 1")


def _found(text: str, edit: Edit, number: int, path: str | None) -> tuple[list[tuple[int, int]], str, str]:
    """Return the matches of an edit, the text to replace them, and how the old text differed, if it did."""
    found = matches_of(edit.old, text)
    what = f"The old text of edit {number}"
    if not found and (edit.count == 1 or edit.replace_all):
        loose = match_ignoring_blanks(edit.old, edit.new, text)
        if loose is not None:
            return loose
    if not found:
        error = EditNotFoundError(path, f"{what} was not found", closest=closest_region(edit.old, text), number=number)
        error.suggested_action = _hint_for(edit.old) or (
            "The new text is in the file already: the edit may have been made. Read the file to see."
            if edit.new.strip() and edit.new in text
            else error.suggested_action
        )
        raise error
    if edit.replace_all or len(found) == edit.count:
        return found, edit.new, ""
    lines = lines_at(text, [start for start, _ in found])
    if len(found) < edit.count:
        message = f"{what} was found {len(found)} times instead of {edit.count}"
        raise EditNotFoundError(path, message, lines=lines, number=number)
    around = lines_around(text, lines, edit.old.count("\n") + 1)
    raise EditAmbiguousError(path, f"{what} matches {len(found)} times", lines=lines, number=number, around=around)


def _hint_for(old: str) -> str | None:
    """Return a hint for an old text with an ellipsis for omitted lines, or with line ends written as backslash and n."""
    left_out = next((line for line in old.split("\n") if line.strip() in ("...", "\u2026")), None)
    if left_out is not None:
        return f"Your old text has the line {left_out.strip()!r}: send all lines that it replaces, or an edit for each part."
    if "\n" not in old and "\\n" in old:
        return "Your old text has a backslash and an n: send line ends as they are."
    return None


def replacements(text: str, found: Sequence[tuple[int, int]], new: str) -> list[TextEdit]:
    """Return the edits that replace matches in a text by `new`, with the line ends of each place."""
    newline = newline_of(text)
    is_by_place = newline == "mixed" and "\n" in new and "\r" not in new
    known: dict[tuple[str, str], list[TextEdit]] = {}
    made: list[TextEdit] = []
    for start, end in found:
        old = text[start:end]
        neighbour = nearest_end(text, start) if is_by_place else ""
        if (old, neighbour) not in known:
            known[old, neighbour] = minimal_edits(old, _with_file_ends(old, new, newline, neighbour))
        made += [TextEdit(start + one.start, start + one.end, one.text) for one in known[old, neighbour]]
    return made


def _with_file_ends(old: str, new: str, newline: Newline, neighbour: str) -> str:
    if "\n" not in new or "\r" in new or newline in ("lf", "none"):
        return new
    if newline == "mixed":
        # In a text with LF, a lone CR is not a line end, so a part without LF provides none.
        return ends_like(new, old if "\n" in old else "", before=neighbour)
    return with_ends(new, "\r\n" if newline == "crlf" else "\r")
