"""One line of a .gitignore file, read as git reads it.

Everything here is bytes held in a `str` of code points 0 to 255, because git matches bytes: `?` is one byte.
Source: git 2.39, `dir.c` (parse_path_pattern, match_basename, match_pathname) and `wildmatch.c` (dowild).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct


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
        tokens: A pattern in order. `ALL` and `FOLDERS` occur at the start or after a slash.

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
    plain = ((lead, _part(body, last=False)) for lead, body in inner)
    text = "".join(part if lead is None else f"(?>{_lead(lead)}{part})" for lead, part in plain)
    return text + _lead(lead) + _part(body, last=True)


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


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\U{ord(character):08x}"


def stars(pattern: str, start: int) -> tuple[Token, int]:
    """Return the wildcard of the run of stars at `start`, and the position after it.

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


def compile_all(expressions: Iterable[str]) -> re.Pattern[str]:
    """Return one compiled expression whose `lastindex` names the first of `expressions` that matches to the end.

    Args:
        expressions: Without capturing groups.
    """
    body = "|".join(f"({expression})" for expression in expressions)
    return re.compile(f"(?:{body})\\Z", re.DOTALL)


MAX_LINE_BYTES: Final = 4096
"""Longest line that is honoured; no path is longer."""

_SPECIAL: Final = re.compile(r"[*?\[\\]")
_CLASSES: Final = {
    "alnum": "A-Za-z0-9",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x01-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
"""Named character classes, as in a regular expression."""


class BadPatternError(ValueError):
    """Raised when git would take a line for a pattern that matches nothing; the message says why."""


class GitPattern(Struct, frozen=True, kw_only=True):
    """The pattern of one line."""

    negated: bool
    directories_only: bool
    is_path: bool
    """True if it is compared with the path below the ignore file's folder, else with the name."""
    literal: str
    """The text before the first wildcard, taken literally."""
    rest: str
    """From the first wildcard on, as written; "" if there is none."""

    @property
    def lookup(self) -> tuple[str, str] | None:
        """The table in which it is found, and its text there; None if it needs an expression."""
        if not self.rest:
            return "paths" if self.is_path else "names", self.literal
        tail = self.rest[1:]
        if self.is_path or self.rest[0] != "*" or _SPECIAL.search(tail) or (tail and self.literal):
            return None
        return ("starts", self.literal) if self.literal else ("endings", tail)

    @property
    def is_deep(self) -> bool:
        """True if a `**` is followed by more, so that the rest is tried at every folder of a path."""
        return self.is_path and "**" in self.rest.rstrip("*")

    @property
    def slashes(self) -> int | None:
        """Number of slashes in a matching path; None if that varies."""
        if "**" in self.rest or "[" in self.rest:
            return None
        return self.literal.count("/") + self.rest.count("/")

    def expression(self) -> str:
        """Return the regular expression of the whole pattern.

        Raises:
            BadPatternError: A bracket is not closed, a class is unknown, or a backslash is at the end.
        """
        # git strips the literal beginning before it looks at the stars, so in "a**/b" they are at a beginning.
        return re.escape(self.literal) + to_expression(tokens_of(self.rest))


def parse_line(line: str) -> GitPattern | None:
    """Return the pattern of one line without its line end, or None for a blank line or a comment.

    Raises:
        BadPatternError: It can match nothing.
    """
    if len(line) > MAX_LINE_BYTES:
        raise BadPatternError(f"it is longer than {MAX_LINE_BYTES} bytes")
    if "\0" in line:
        raise BadPatternError("it contains NUL")
    if not line or line[0] == "#":
        return None
    text = trim(line)
    negated = text.startswith("!")
    text = text[1:] if negated else text
    body = text[:-1] if text.endswith("/") else text
    if not body or body == "/":
        if text or negated:
            raise BadPatternError("it names nothing")
        return None
    return pattern_of(body, negated=negated, directories_only=body != text)


def pattern_of(body: str, *, negated: bool, directories_only: bool) -> GitPattern:
    """Return the pattern of a line without its markers: "!" in front and a slash at the end."""
    is_path = "/" in body
    body = body.removeprefix("/")
    if body.startswith("**/") and "/" not in body[3:]:
        # Any folders, then a name: the same as the name alone, which is looked up faster.
        body, is_path = body[3:], False
    special = _SPECIAL.search(body)
    split = special.start() if special else len(body)
    return GitPattern(
        negated=negated,
        directories_only=directories_only,
        is_path=is_path,
        literal=body[:split],
        rest=body[split:],
    )


def trim(line: str) -> str:
    """Return the line without trailing spaces, except an escaped one. Tabs stay."""
    if not line.endswith(" "):
        return line
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 else kept


def tokens_of(pattern: str, *, is_lenient: bool = False) -> list[Token]:
    """Return the tokens of a pattern.

    Args:
        pattern: As written.
        is_lenient: True if a bracket that git would not accept means itself.

    Raises:
        BadPatternError: A bracket is not closed, a class is unknown, or a backslash is at the end.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "*":
            token, position = stars(pattern, position)
        elif character == "?":
            token, position = ANY_CHARACTER, position + 1
        elif character == "[":
            try:
                token, position = _bracket(pattern, position)
            except BadPatternError:
                if not is_lenient:
                    raise
                token, position = re.escape(character), position + 1
        else:
            literal, position = _literal(pattern, position)
            token = re.escape(literal)
        tokens.append(token)
    return tokens


def _literal(pattern: str, position: int) -> tuple[str, int]:
    if pattern[position] != "\\":
        return pattern[position], position + 1
    if position + 1 == len(pattern):
        raise BadPatternError("a backslash at the end escapes nothing")
    return pattern[position + 1], position + 2


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    position = start + 1
    negated = pattern[position : position + 1] in ("!", "^")
    position += negated
    body = previous = ""
    first = position
    while position == first or pattern[position : position + 1] != "]":
        if position >= len(pattern):
            raise BadPatternError("a bracket is not closed")
        if (named := _named_class(pattern, position)) is not None:
            members, position = named
            body, previous = body + members, ""
        elif pattern[position] == "-" and previous and pattern[position + 1 : position + 2] not in ("", "]"):
            high, position = _literal(pattern, position + 1)
            # An empty range, such as `z-a`, matches nothing.
            body += f"{_escaped(previous)}-{_escaped(high)}" if previous <= high else ""
            previous = ""
        else:
            previous, position = _literal(pattern, position)
            body += _escaped(previous)
    # A class never matches a slash.
    if not body:
        return ANY_CHARACTER if negated else NOTHING, position + 1
    return f"[^/{body}]" if negated else f"(?!/)[{body}]", position + 1


def _named_class(pattern: str, position: int) -> tuple[str, int] | None:
    if not pattern.startswith("[:", position):
        return None
    end = pattern.find("]", position + 2)
    if end < 0:
        raise BadPatternError("a bracket is not closed")
    if end == position + 2 or pattern[end - 1] != ":":
        return None
    name = pattern[position + 2 : end - 1]
    if name not in _CLASSES:
        raise BadPatternError(f"there is no character class [:{name}:]")
    return _CLASSES[name], end + 1
