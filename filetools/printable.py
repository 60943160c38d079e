"""Text that leaves for a model, a person or a terminal: what could steer a terminal, begin a line or hide is escaped."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_REORDERING: Final = r"\u202a-\u202e\u2066-\u2069"
"""Characters that show a name in another order than it has."""
_SEPARATING: Final = r"\u2028\u2029\ud800-\udfff"
"""Separators of lines and paragraphs, and halves of pairs, which no terminal can show."""
_UNSEEN: Final = r"\u061c\u200b\u200e\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f"
"""Marks of direction, blanks without width, and tags: a model reads them, and a person does not."""
_UNSAFE: Final = re.compile(rf"[\x00-\x1f\x7f-\x9f{_SEPARATING}{_REORDERING}{_UNSEEN}]")
_HALVES: Final = re.compile(r"[\ud800-\udfff]")
_UNSAFE_IN_TEXT: Final = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_SEPARATING}{_REORDERING}]")
"""Tabs and ends of lines aside."""


def printable(text: str) -> str:
    """Return a name or sentence that cannot steer a terminal, begin a line, or hide something: such characters escaped."""
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def encodable(text: str) -> str:
    r"""Return a text that UTF-8 can hold: a byte of a name that is not UTF-8 becomes `\xff`, any other half `\ud800`."""
    return text if text.isascii() else _HALVES.sub(_escape, text)


def printable_text(text: str) -> str:
    """Return lines that cannot steer a terminal; their ends and tabs stay."""
    return _UNSAFE_IN_TEXT.sub(_escape, text.replace("\r\n", "\n"))


def printable_json(plain: object) -> str:
    """Return JSON on one line that UTF-8 can hold, and in which nothing is hidden."""
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return text if text.isprintable() else _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)


_NAMES: Final = frozenset(("path", "old_path", "filePath", "file_path", "filenames", "unread", "unknown"))
"""Fields of results that hold names of files."""


def with_printable_names(value: Any, field: str = "") -> Any:
    """Return a result as JSON in which the names of files can be shown; texts stay as they are."""
    if isinstance(value, str):
        return printable(value) if field in _NAMES else value
    if isinstance(value, dict):
        return {name: with_printable_names(each, name) for name, each in value.items()}
    return [with_printable_names(each, field) for each in value] if isinstance(value, list) else value


def _escape(found: re.Match[str]) -> str:
    if "\udc80" <= found[0] <= "\udcff":  # as Python decodes a byte that is not UTF-8
        return f"\\x{ord(found[0]) - 0xDC00:02x}"
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")
