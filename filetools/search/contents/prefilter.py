"""Which bytes hold no match for certain, told without decoding them: each match has a text, or a run of one set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from filetools.search.contents.expression import needles_of, run_of
from filetools.search.contents.syntax import Pattern

WINDOW: Final = 262_144
"""Bytes that are changed in one call, which holds the interpreter."""
LONG_NEEDLE: Final = 3
"""Texts of so many characters are rare enough; with shorter ones a run is looked for, too."""
FEW_MEMBERS: Final = 16
"""Up to so many bytes are looked for one by one, a tenth of the cost of finding a run."""
_COMMON: Final = " etaoinsrhldcumfpgwybvkxjqz"


class Prefilter:
    """What follows from one pattern. Immutable; lives as long as anybody keeps it."""

    def __init__(self, pattern: Pattern) -> None:
        self.needles = needles_of(pattern)
        """Texts of which each match holds one; none if there is nothing to go by."""
        self._ignore_case = pattern.ignore_case
        rarest = (min(needle.decode(), key=_frequency) for needle in self.needles)
        self._rarest = tuple({case.encode() for each in rarest for case in (each, each.upper())})
        run = run_of(pattern) if min(map(len, self.needles), default=0) < LONG_NEEDLE else None
        codes, count = run or ((), 0)
        self._run = b"\1" * count
        self._members = [bytes([code]) for code in codes]
        self._table = bytes(code in codes for code in range(256))

    def may_match(self, content: bytes) -> bool:
        """Whether bytes of an encoding with ASCII in it may hold a match."""
        return self._may_hold_needle(content) and self._may_hold_run(content)

    def _may_hold_needle(self, content: bytes) -> bool:
        needles = self.needles
        if not needles:
            return True
        if not self._ignore_case:
            return any(needle in content for needle in needles)
        # A byte is found in a tenth of the time that it takes to change the case.
        if not any(byte in content for byte in self._rarest):
            return False
        return any(needle in part for part in _parts(content, max(map(len, needles))) for needle in needles)

    def _may_hold_run(self, content: bytes) -> bool:
        run, members = self._run, self._members
        if not run:
            return True
        if len(members) <= FEW_MEMBERS and not any(member in content for member in members):
            return False
        table = self._table
        return any(
            run in content[start : start + WINDOW + len(run)].translate(table)
            for start in range(0, len(content), WINDOW)
        )


def _parts(content: bytes, overlap: int) -> Iterator[bytes]:
    """Yield bytes in lower case, in parts."""
    return (content[start : start + WINDOW + overlap].lower() for start in range(0, len(content), WINDOW))


def _frequency(character: str) -> int:
    """Return how far down among the letters of English texts one is, from the rarest; other signs are the rarest."""
    return -_COMMON.find(character) if character in _COMMON else -len(_COMMON)
