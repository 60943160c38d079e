"""The syntax of patterns: what Python's `re` and ripgrep have in common, read here so that no engine decides it.

Literals, `.`, `[...]` with ranges, `^` and `$` at lines, `|`, groups, `* + ? {m,n}` and their lazy forms, `\\b` and
`\\B`, the classes `\\d \\w \\s` and their opposites, which know Unicode, the escapes `\\t \\n \\r \\f \\v \\xHH \\uHHHH`,
and `(?i)`, `(?m)`, `(?s)` at the beginning. No look-around, no back-references: no linear engine has them. A brace that
is no count stands for itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Never

from filetools.errors import InvalidArgumentError

MAX_CHARACTERS: Final = 4_096
MAX_COUNT: Final = 1_000
MAX_DEPTH: Final = 50

_COUNT: Final = re.compile(r"\{(\d{1,4})(,(\d{1,4})?)?\}")
_FLAGS: Final = re.compile(r"\(\?([ims]+)\)")
_HEX: Final = {"x": 2, "u": 4}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_CLASSES: Final = frozenset("dDwWsS")


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    expression: str
    """For `re`."""
    literal: str | None = None
    """The character, if it is one, whatever its case."""


@dataclass(frozen=True, slots=True)
class Border:
    """A place between characters, such as the start of a line."""

    expression: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several, the first that leads to a match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same again and again."""

    body: Node
    least: int
    most: int | None
    is_lazy: bool


Node = Characters | Border | Sequence | Choice | Repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern that was read. Immutable."""

    root: Node
    ignore_case: bool
    multiline: bool
    """Whether a match may go over several lines; then `.` matches line ends, too."""


def read_pattern(
    text: str,
    *,
    literal: bool = False,
    ignore_case: bool = False,
    multiline: bool = False,
    whole_words: bool = False,
) -> Pattern:
    """Return what a pattern means.

    Args:
        text: 1 to 4096 characters.
        literal: Whether every character stands for itself.
        ignore_case: Whether letters match in any case.
        multiline: Whether a match may go over several lines.
        whole_words: Whether a match has no character of a word right before or behind it.

    Raises:
        InvalidArgumentError: It is empty, too long or not of this syntax; says where and why.
    """
    if not text or len(text) > MAX_CHARACTERS:
        raise InvalidArgumentError(f"The pattern must have 1 to {MAX_CHARACTERS} characters, not {len(text)}")
    if literal:
        text, flags = text.replace("\r\n", "\n"), ""
        reader = _Reader(text, multiline=multiline)
        root: Node = Sequence(tuple(reader.character(each) for each in text))
    else:
        found = _FLAGS.match(text)
        flags, start = (found[1], found.end()) if found else ("", 0)
        reader = _Reader(text, multiline=multiline, position=start)
        root = reader.read()
    if whole_words:
        # Not \b, which would want a character of a word at either end of the match itself.
        root = Sequence((Border(r"(?<!\w)"), root, Border(r"(?!\w)")))
    return Pattern(root=root, ignore_case=ignore_case or "i" in flags, multiline=multiline)


class _Reader:
    """Reads one pattern; used once."""

    def __init__(self, text: str, *, multiline: bool, position: int = 0) -> None:
        self._text = text
        self._multiline = multiline
        self._position = position
        self._depth = 0

    def read(self) -> Node:
        root = self._choice()
        if self._position < len(self._text):
            self._refuse("this parenthesis closes no group")
        return root

    def character(self, character: str) -> Characters:
        if character in "\r\n" and not self._multiline:
            self._refuse("a match lies within one line; pass multiline=true to match line ends")
        return Characters("\n" if character == "\r" else re.escape(character), character)

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._refuse(f"groups are nested deeper than {MAX_DEPTH}")
        branches = [self._sequence()]
        while self._next() == "|":
            self._position += 1
            branches.append(self._sequence())
        self._depth -= 1
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _atom(self) -> Node:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return self._set()
        if character == "\\":
            return self._escape()
        if character == ".":
            return Characters("[\\s\\S]" if self._multiline else ".")
        if character in "^$":
            return Border(character)
        if character in "*+?":
            self._position -= 1
            self._refuse("there is nothing to repeat")
        return self.character(character)

    def _group(self) -> Node:
        if self._next() == "?":
            if not self._text.startswith("?:", self._position):
                self._refuse("of groups with (? only (?:...) is known; look-around and names are not")
            self._position += 2
        body = self._choice()
        if self._next() != ")":
            self._refuse("a group is not closed")
        self._position += 1
        # Kept apart from what follows: a count after the group means all of it.
        return body if isinstance(body, Choice) else Sequence((body,))

    def _repeated(self, atom: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return atom
        if isinstance(atom, Border):
            self._refuse("a place between characters cannot be repeated")
        is_lazy = self._next() == "?"
        self._position += is_lazy
        if self._next() in ("*", "+", "?") or _COUNT.match(self._text, self._position):
            self._refuse("what is repeated already needs a group to be repeated again")
        return Repeat(atom, *bounds, is_lazy)

    def _bounds(self) -> tuple[int, int | None] | None:
        character = self._next()
        if character in ("*", "+", "?"):
            self._position += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
        found = _COUNT.match(self._text, self._position)
        if found is None:
            return None
        least = int(found[1])
        most = least if found[2] is None else None if found[3] is None else int(found[3])
        if max(least, most or 0) > MAX_COUNT or (most is not None and most < least):
            self._refuse(f"counts go from 0 to {MAX_COUNT}, the smaller first")
        self._position = found.end()
        return least, most

    def _escape(self) -> Node:
        character = self._take("a backslash ends the pattern")
        if character in "bB":
            return Border(f"\\{character}")
        if character in _CLASSES:
            return Characters(f"\\{character}" if self._multiline else self._in_line(f"\\{character}"))
        return self.character(self._escaped(character))

    def _escaped(self, character: str) -> str:
        """Return the character that an escape stands for."""
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character in _HEX:
            digits = self._text[self._position : self._position + _HEX[character]]
            if not re.fullmatch(f"[0-9a-fA-F]{{{_HEX[character]}}}", digits):
                self._refuse(f"after \\{character} come {_HEX[character]} hex digits")
            self._position += len(digits)
            return chr(int(digits, 16))
        if character.isalnum() or not character.isascii():
            self._position -= 1
            self._refuse(f"\\{character} is not known; back-references are not")
        return character

    def _set(self) -> Node:
        is_negated = self._next() == "^"
        self._position += is_negated
        items: list[str] = []
        while self._next() != "]" or not items:
            items.append(self._item())
        self._position += 1
        if is_negated:
            return Characters(f"[^{''.join(items)}{'' if self._multiline else chr(92) + 'n'}]")
        inside = f"[{''.join(items)}]"
        return Characters(inside if self._multiline else self._in_line(inside))

    def _item(self) -> str:
        low = self._member()
        following = self._text[self._position : self._position + 2]
        if len(following) < 2 or following[0] != "-" or following[1] == "]":
            return low if low.startswith("\\") and low[1:] in _CLASSES else re.escape(low)
        self._position += 1
        high = self._member()
        if len(low) > 1 or len(high) > 1:
            self._refuse("a range goes from one character to another")
        if high < low:
            self._refuse("a range goes from the smaller character to the larger")
        return f"{re.escape(low)}-{re.escape(high)}"

    def _member(self) -> str:
        """Return one character of a set, or a class such as `\\d`."""
        character = self._take("a set is not closed")
        if character == "[" and self._next() in (":", "=", "."):
            self._refuse("sets have no named classes; use \\d, \\w, \\s or ranges")
        if character in "\r\n" and not self._multiline:
            self.character(character)
        if character != "\\":
            return character
        character = self._take("a set is not closed")
        if character in _CLASSES:
            return f"\\{character}"
        return self.character(self._escaped(character)).literal or ""

    def _in_line(self, expression: str) -> str:
        """Return a set without the line end."""
        return f"(?:(?!\\n){expression})" if re.match(expression, "\n") else expression

    def _next(self) -> str:
        return self._text[self._position : self._position + 1]

    def _take(self, problem: str = "the pattern ends too early") -> str:
        character = self._next()
        if not character:
            self._refuse(problem)
        self._position += 1
        return character

    def _refuse(self, reason: str) -> Never:
        raise InvalidArgumentError(
            f"The pattern is not valid at character {self._position + 1}: {reason}",
            suggested_action="Correct the pattern, or pass literal=true to search for the very text.",
            details={"position": self._position},
        )
