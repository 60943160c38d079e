"""One line of a .gitignore file, read as git reads it.

Everything here is bytes held in a `str` of code points 0 to 255, because git matches bytes: `?` is one byte.
Source: git 2.39, `dir.c` (parse_path_pattern, match_basename, match_pathname) and `wildmatch.c` (dowild).
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import Final

from filetools.paths.wildmatch import ANY_CHARACTER, Token, class_expression, stars, to_expression

MAX_LINE_BYTES: Final = 4096
"""Longest line that is honoured; no path is longer."""

_SPECIAL: Final = re.compile(r"[*?\[\\]")
_CLASSES: Final = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(1, 32), 127))),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class BadPatternError(ValueError):
    """Raised when git would take a line for a pattern that matches nothing; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPattern:
    """What one line asks for."""

    negated: bool
    directories_only: bool
    is_path: bool
    """Whether it is compared with the path below the ignore file's folder, else with the name."""
    literal: str
    """The text before the first wildcard, to be taken as it is."""
    rest: str
    """From the first wildcard on, as written; "" if there is none."""

    @property
    def ending(self) -> str | None:
        """The literal text after a single star at the start of a name; None if it is another kind of pattern."""
        tail = self.rest[1:]
        return tail if not self.literal and self.rest[:1] == "*" and not _SPECIAL.search(tail) else None

    @property
    def is_deep(self) -> bool:
        """Whether a `**` is followed by more, so that the rest is looked for at every folder of a path."""
        return self.is_path and "**" in self.rest.rstrip("*")

    @property
    def slashes(self) -> int | None:
        """How many slashes a path that matches has; None if that varies."""
        if "**" in self.rest or "[" in self.rest:
            return None
        return self.literal.count("/") + self.rest.count("/")

    def expression(self) -> str:
        """Return the regular expression of the whole pattern.

        Raises:
            BadPatternError: A bracket is not closed, a class is unknown, or a backslash stands at the end.
        """
        # git takes the literal beginning off before it looks at the stars, so in "a**/b" they stand at a beginning.
        return re.escape(self.literal) + to_expression(_tokens(self.rest))


def parse_line(line: str) -> GitPattern | None:
    """Return the pattern of one line without its line end, or None for a blank line or a comment.

    Raises:
        BadPatternError: It can match nothing.
    """
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
    return _pattern(body, negated=negated, directories_only=body != text)


def _pattern(body: str, *, negated: bool, directories_only: bool) -> GitPattern:
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
    """Return the line without trailing spaces, except one that is escaped. Tabs stay."""
    if not line.endswith(" "):
        return line
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 else kept


def _tokens(pattern: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "*":
            token, position = stars(pattern, position)
        elif character == "?":
            token, position = ANY_CHARACTER, position + 1
        elif character == "[":
            token, position = _bracket(pattern, position)
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
    ranges: list[tuple[str, str]] = []
    previous = ""
    first = position
    while position == first or pattern[position : position + 1] != "]":
        if position >= len(pattern):
            raise BadPatternError("a bracket is not closed")
        if (named := _named_class(pattern, position)) is not None:
            members, position = named
            ranges.extend((member, member) for member in members)
            previous = ""
        elif pattern[position] == "-" and previous and pattern[position + 1 : position + 2] not in ("", "]"):
            high, position = _literal(pattern, position + 1)
            ranges.append((previous, high))
            previous = ""
        else:
            previous, position = _literal(pattern, position)
            ranges.append((previous, previous))
    return class_expression(ranges, negated=negated), position + 1


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
