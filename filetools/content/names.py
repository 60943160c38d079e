r"""Names of files in patches, quoted as git does it: "a/caf\303\251" with the bytes of UTF-8 in octal.

Source: git's documentation of `core.quotePath`.
"""

from __future__ import annotations

import re
from typing import Final

_ESCAPES: Final = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_LETTERS: Final = {value: letter for letter, value in _ESCAPES.items()}
_ESCAPE: Final = re.compile(rb'\\(?:([0-3][0-7]{2})|([abtnvfr"\\]))')
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')


def quoted_name(name: str) -> str:
    """Return a name as git writes it: in quotes, with escapes, if it holds control characters, quotes or backslashes."""
    if not any(ord(character) < 32 or character in '"\\\x7f' for character in name):
        return name
    return '"' + "".join(map(_quoted, name)) + '"'


def _quoted(character: str) -> str:
    code = ord(character)
    if code in _LETTERS:
        return "\\" + _LETTERS[code]
    return f"\\{code:03o}" if code < 32 or code == 127 else character


def read_name(text: str) -> tuple[str, str]:
    """Return the name at the start of a text and what follows it; a name without quotes reaches to a tab or the end.

    Raises:
        ValueError: The quotes do not end, hold an escape git does not know, or bytes that are not UTF-8.
    """
    if not text.startswith('"'):
        name, tab, rest = text.partition("\t")
        return name, tab + rest
    quoted = _QUOTED.match(text)
    if quoted is None:
        raise ValueError("a quoted name without end")
    raw = quoted[1].encode("utf-8", "surrogatepass")
    if b"\\" in _ESCAPE.sub(b"", raw):
        raise ValueError("an unknown escape in a quoted name")
    return _ESCAPE.sub(_unescaped, raw).decode(), text[quoted.end() :]


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 8)]) if escape[1] else bytes([_ESCAPES[escape[2].decode()]])
