"""Wildcards as regular expressions that cannot run away: what is matched once is never tried again.

Between two stars stands text of a fixed width, and its first occurrence is always as good as any later one, because a
star takes whatever follows. So each star with its text is an atomic group, and so is each `**/` with all up to the
next one: at most (length of the pattern) x (length of the path) steps in all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final


class Wild(Enum):
    """A wildcard of no fixed width."""

    STAR = "*"
    """Any text without a slash."""
    FOLDERS = "**/"
    """Nothing, or any text that ends with a slash."""
    ALL = "**"
    """Any text."""


Token = str | Wild
"""A wildcard, or a regular expression for one character that is not to be repeated."""

ANY_CHARACTER: Final = "[^/]"
NOTHING: Final = "(?!)"
GLOB_CHARACTERS: Final = "*?["


def to_expression(tokens: Iterable[Token]) -> str:
    """Return a regular expression (for DOTALL) that matches exactly what the tokens match, in linear time.

    Args:
        tokens: A pattern in order. `ALL` and `FOLDERS` stand at the start or after a slash.

    Source: the greedy argument of Robert A. van Engelen, "Fast String Matching with Wildcards, Globs, and
    Gitignore-Style Globs"; atomic groups as in Python's own `fnmatch.translate`.
    """
    parts: list[tuple[Wild | None, list[Token]]] = [(None, [])]
    for token in tokens:
        if token is Wild.FOLDERS or token is Wild.ALL:
            parts.append((token, []))
        else:
            parts[-1][1].append(token)
    *inner, (lead, body) = parts
    text = "".join(_enclosed(lead, _part(body, last=False)) for lead, body in inner)
    return text + _lead(lead) + _part(body, last=True)


def _enclosed(lead: Wild | None, text: str) -> str:
    return text if lead is None else f"(?>{_lead(lead)}{text})"


def _lead(lead: Wild | None) -> str:
    if lead is None:
        return ""
    return "(?:[^/]*+/)*?" if lead is Wild.FOLDERS else ".*?"


def _part(tokens: Sequence[Token], *, last: bool) -> str:
    chunks: list[list[str]] = [[]]
    for token in tokens:
        if isinstance(token, str):
            chunks[-1].append(token)
        elif len(chunks) == 1 or chunks[-1]:
            chunks.append([])
    head, *rest = ["".join(chunk) for chunk in chunks]
    if not rest:
        return head
    # The very last piece must reach the end, where the first occurrence is not good enough; the widest star is.
    final = f"[^/]*{rest.pop()}" if last else ""
    return head + "".join(f"(?>[^/]*?{chunk})" for chunk in rest) + final


def class_expression(ranges: Iterable[tuple[str, str]], *, negated: bool) -> str:
    """Return the expression of a character class; it never matches a slash.

    Args:
        ranges: First and last character of each range; an empty range (`z-a`) matches nothing.
        negated: Whether all other characters match instead.
    """
    kept = [(low, high) for low, high in ranges if low <= high]
    if not kept:
        return ANY_CHARACTER if negated else NOTHING
    body = "".join(f"{_escaped(low)}-{_escaped(high)}" for low, high in kept)
    return f"[^/{body}]" if negated else f"(?!/)[{body}]"


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\U{ord(character):08x}"


def stars(pattern: str, start: int) -> tuple[Token, int]:
    """Return the wildcard of the run of stars at `start`, and where the pattern goes on.

    A run of two or more is `**` only where it is a whole segment, else it is one star. `start` 0 counts as the
    beginning of a segment. As in git, an escaped slash ends the segment too, but then `**` needs it.
    """
    end = start
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    if end - start == 1 or (start and pattern[start - 1] != "/"):
        return Wild.STAR, end
    if end == len(pattern) or pattern.startswith("\\/", end):
        return Wild.ALL, end
    return (Wild.FOLDERS, end + 1) if pattern[end] == "/" else (Wild.STAR, end)


def compile_all(expressions: Sequence[str], end: str = "") -> re.Pattern[str]:
    """Return one compiled expression whose `lastindex` names the first of `expressions` that matches to the end.

    Args:
        expressions: Without capturing groups.
        end: What may follow each of them.
    """
    body = "|".join(f"({expression})" for expression in expressions)
    return re.compile(f"(?:{body}){end}\\Z", re.DOTALL)
