"""Texts in which every character counts as one UTF-16 unit, so that places on the wire are places in a Python text."""

from __future__ import annotations

import array
import sys
from collections.abc import Iterable

from filetools.content.text_edits import TextEdit


def as_units(text: str) -> str:
    """Return a text whose characters outside the BMP are two surrogates each."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    code = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
    return "".join(map(chr, array.array("H", text.encode(code, "surrogatepass"))))


def from_units(text: str) -> str:
    """Return a text whose pairs of surrogates are one character again."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def edits_as_units(edits: Iterable[TextEdit]) -> list[TextEdit]:
    """Return edits whose places count units already, with their texts in units."""
    return [TextEdit(edit.start, edit.end, as_units(edit.text)) for edit in edits]


def edits_from_units(edits: Iterable[TextEdit]) -> list[TextEdit]:
    """Return edits with their texts as characters; places still count units."""
    return [TextEdit(edit.start, edit.end, from_units(edit.text)) for edit in edits]
