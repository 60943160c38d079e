"""Words that occur once in a schedule, so that whatever becomes of a text can be followed."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(r"(.)([A-Z]\d+)\1")


class Mint:
    """Makes tokens; each begins and ends with a character of its own, so that no two share a changed character."""

    def __init__(self) -> None:
        self._count = 0

    def token(self, party: str) -> str:
        """Return a token that names its party; every third has characters of two UTF-16 units."""
        self._count += 1
        edge = chr((0x20000 if self._count % 3 == 0 else 0x4E00) + self._count)
        return f"{edge}{party}{self._count}{edge}"

    def line(self, party: str) -> str:
        """Return a line with a token in it, without its end."""
        return f"{self.token(party)} says {party.lower()}"


def tokens_in(text: str | bytes | None) -> frozenset[str]:
    """Return the tokens of a text."""
    return frozenset(all_tokens(text or ""))


def all_tokens(text: str | bytes) -> list[str]:
    """Return the tokens of a text in their order, each as often as it is there."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return [found[0] for found in _TOKEN.finditer(text)]


def party_of(token: str) -> str:
    """Return the letter of the party that a token was made for."""
    return token[1]
