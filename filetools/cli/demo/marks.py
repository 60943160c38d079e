"""Marks: what every edit of the demo leaves in a file, so that it can be found again, and proved to be whole.

A mark carries a checksum of itself. A file is whole if, its lines with marks aside, it is what it was at the start.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any, Final

_MARK: Final = re.compile(rb"\b[a-z]+-\d{4}-[0-9a-f]{8}\b")
_COMMENTS: Final = {"md": ("<!-- ", " -->"), "txt": ("- ", "")}
_WORDS: Final = (
    "count words, not letters",
    "say what it prints",
    "what of empty files?",
    "close the file when done",
    "name the largest first",
    "two lines are enough",
    "ask before it deletes",
)


def mark_of(actor: str, number: int) -> str:
    """Return the mark of an actor's edit."""
    name = f"{actor}-{number:04d}"
    return f"{name}-{zlib.crc32(name.encode('ascii')):08x}"


def marks_in(content: bytes) -> set[str]:
    """Return the marks in a file that are whole."""
    found = {match.decode("ascii") for match in _MARK.findall(content)}
    return {mark for mark in found if is_mark(mark)}


def is_mark(text: str) -> bool:
    """Whether a text is a mark, its checksum right."""
    name, _, checksum = text.rpartition("-")
    return checksum == f"{zlib.crc32(name.encode('ascii')):08x}"


def line_with(mark: str, path: str) -> str:
    """Return a line, without its end, that carries a mark as a remark of its actor, in the language of the file."""
    before, after = _COMMENTS.get(path.rpartition(".")[2], ("# ", ""))
    actor, number, _ = mark.split("-")
    words = _WORDS[(int(number) + sum(actor.encode("ascii"))) % len(_WORDS)]
    return f"{before}{actor}: {words} ({mark}){after}"


def is_whole(content: bytes, original: bytes, path: str) -> bool:
    """Whether a file is what it was at the start but for whole edits."""
    if content == original:
        return True
    if path.endswith(".json"):
        return _is_whole_json(content, original)
    kept = [line for line in content.splitlines(keepends=True) if not _is_edit(line, path)]
    return b"".join(kept) == original


def _is_edit(line: bytes, path: str) -> bool:
    marks = marks_in(line)
    if len(marks) != 1 or not line.endswith(b"\n"):
        return False
    return line.rstrip(b"\r\n").decode("utf-8", "replace") == line_with(marks.pop(), path)


def _is_whole_json(content: bytes, original: bytes) -> bool:
    try:
        plain: Any = json.loads(content)
    except ValueError:
        return False
    if not isinstance(plain, dict):
        return False
    edits = plain.pop("edits", [])
    return plain == json.loads(original) and all(is_mark(mark) for mark in edits)
