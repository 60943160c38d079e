"""How often a regular expression can be tried again, counted in its structure: time would depend on the machine."""

from __future__ import annotations

from re import _constants, _parser
from typing import Any, Final

_REPEATS: Final = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_NEVER_TRIED_AGAIN: Final = (_constants.ATOMIC_GROUP, _constants.POSSESSIVE_REPEAT, _constants.ASSERT_NOT)


def ways_back(expression: str) -> int:
    """Return the most repetitions in a row that a mismatch behind them makes try again.

    The time of a match is at most the length of the text to this power, times the length of the expression.

    Raises:
        AssertionError: A repetition that is tried again stands in another one: its time doubles with each character.
    """
    return max(_ways_back(_parser.parse(expression)))


def _ways_back(parsed: Any) -> tuple[int, int]:
    """Return how many stand in a row here, and the most in any part that is never tried again as a whole."""
    here = within = 0
    for kind, what in parsed:
        if kind in _REPEATS:
            least, most, body = what
            inner, deepest = _ways_back(body)
            assert inner == 0, "a repetition of repetitions"
            here += least != most
        elif kind is _constants.BRANCH:
            found = [_ways_back(branch) for branch in what[1]]
            inner, deepest = max(one for one, _ in found), max(one for _, one in found)
            here += inner
        elif kind in _NEVER_TRIED_AGAIN:
            deepest = max(_ways_back(what if kind is _constants.ATOMIC_GROUP else what[-1]))
        elif kind is _constants.SUBPATTERN:
            inner, deepest = _ways_back(what[-1])
            here += inner
        else:
            deepest = 0
        within = max(within, deepest)
    return here, within
