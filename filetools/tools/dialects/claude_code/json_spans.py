"""Where the parts of a JSON text stand, so that one of them can be replaced and all others stay byte for byte."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

_BLANKS: Final = " \t\r\n"
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Part:
    """A value in a text."""

    start: int
    """Its first character, from 0."""
    end: int
    """The character behind its last."""
    value: Any


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object."""

    start: int
    """Where its name begins."""
    value: Part


def whole(text: str) -> Part:
    """Return the value that a text is.

    Raises:
        ValueError: It is no JSON.
    """
    part = part_at(text, 0)
    if _skip(text, part.end) != len(text):
        raise ValueError(f"text behind the value, at character {part.end}")
    return part


def part_at(text: str, at: int) -> Part:
    """Return the value that begins at a place, or behind the blanks there.

    Raises:
        ValueError: None does.
    """
    start = _skip(text, at)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError as exc:
        raise ValueError("it is nested too deeply") from exc
    return Part(start, end, value)


def members(text: str, part: Part) -> dict[str, Member]:
    """Return the members of an object by their names; of a name that comes twice the last one, as readers take it."""
    found: dict[str, Member] = {}
    at = _skip(text, part.start + 1)
    while text[at] != "}":
        name = part_at(text, at)
        value = part_at(text, _skip(text, name.end) + 1)
        found[name.value] = Member(name.start, value)
        at = _skip(text, value.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def items(text: str, part: Part) -> list[Part]:
    """Return the items of an array."""
    found: list[Part] = []
    at = _skip(text, part.start + 1)
    while text[at] != "]":
        found.append(part_at(text, at))
        at = _skip(text, found[-1].end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at
