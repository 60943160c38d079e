"""How a JSON text is laid out, so that what is added looks like what stands beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from filetools.tools.dialects.claude_code.json_spans import Member, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Line ends and indents around one value."""

    end: str
    """What ends a line; "" where all is on one line."""
    indent: str
    """Of the line on which the value begins."""
    unit: str
    """What each level adds."""
    ascii_only: bool
    """Whether other characters are written as escapes."""

    @classmethod
    def of_array(cls, text: str, array: Part) -> Layout:
        """Return the layout of an array without items."""
        indent = _indent(text, array.start)
        return cls(end=_end(text, array.start), indent=indent, unit=indent or " ", ascii_only=_is_escaped(text))

    def line(self, depth: int) -> str:
        """Return what begins a line of a value at a depth: line end and indent."""
        return f"{self.end}{self.indent}{self.unit * depth}" if self.end else " "

    def value(self, value: Any, *, depth: int) -> str:
        """Return a value as text, for a place at a depth; its further lines are indented."""
        if not self.end:
            return json.dumps(value, ensure_ascii=self.ascii_only)
        text = json.dumps(value, ensure_ascii=self.ascii_only, indent=self.unit)
        return text.replace("\n", self.line(depth))


def layout_of(text: str, part: Part, members: Mapping[str, Member]) -> Layout:
    """Return the layout of an object with members."""
    indent = _indent(text, part.start)
    inner = min((_indent(text, member.start) for member in members.values()), key=len, default=indent)
    unit = inner.removeprefix(indent) or " "
    first = min(member.start for member in members.values())
    is_lines = "\n" in text[part.start : first]
    return Layout(end=_end(text, first) if is_lines else "", indent=indent, unit=unit, ascii_only=_is_escaped(text))


def _indent(text: str, at: int) -> str:
    """Return the blanks at the beginning of the line of a place."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _end(text: str, at: int) -> str:
    found = text.rfind("\n", 0, at)
    if found < 0:
        return ""
    return "\r\n" if text[found - 1 : found] == "\r" else "\n"


def _is_escaped(text: str) -> bool:
    return text.isascii() and "\\u" in text
