"""How deep a JSON text is nested, told without parsing it: parsers recurse, and a text of brackets costs nothing to send."""

from __future__ import annotations

import re
from typing import Final

_MARKS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_OPENING: Final = frozenset((b"[", b"{"))


def depth_of(text: bytes | bytearray, most: int) -> int:
    """Return how deep a JSON text is nested; it is not looked at further once it is deeper than `most`."""
    if text.count(b"[") + text.count(b"{") <= most:
        return 0
    depth = deepest = 0
    for found in _MARKS.finditer(text):
        mark = found[0]
        if mark in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
            if deepest > most:
                break
        elif mark in (b"]", b"}"):
            depth -= 1
    return deepest
