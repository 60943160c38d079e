"""Globs as the official file server understands them: compared with the whole path below the folder that is searched."""

from __future__ import annotations

import re
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.paths.gitpattern import ANY_CHARACTER, Token, Wild, class_expression, compile_all, stars, to_expression

MAX_PATTERN_CHARACTERS: Final = 4096
MAX_CHOICES: Final = 256
_INNERMOST: Final = re.compile(r"\{([^{}]*)\}")


class PathGlob:
    """One glob. `*` and `?` stay in a folder, `**` does not, `{a,b}` is one of both; names with a dot count like all.

    Lives as long as its call.
    """

    def __init__(self, pattern: str) -> None:
        """Compile a pattern.

        Raises:
            InvalidArgumentError: It is too long, or its braces stand for too many globs.
        """
        if len(pattern) > MAX_PATTERN_CHARACTERS:
            raise InvalidArgumentError(f"Pattern {pattern[:40]!r}… has more than {MAX_PATTERN_CHARACTERS} characters")
        body = pattern.lstrip("!")
        self._is_negated = (len(pattern) - len(body)) % 2 == 1
        self._expression = compile_all([to_expression(_tokens(choice)) for choice in _choices(body)])

    def matches(self, path: str) -> bool:
        """Whether a path fits; takes time linear in its length."""
        return (self._expression.match(path) is not None) != self._is_negated


class Exclusion:
    """The patterns of what is left out, with all that is below. Lives as long as its call.

    Args:
        patterns: Globs.
        names: Whether a pattern without a star is also looked for at any depth.
    """

    def __init__(self, patterns: list[str], *, names: bool = False) -> None:
        forms: list[str] = []
        for pattern in patterns:
            forms.append(pattern)
            if names and "*" not in pattern:
                forms += [f"**/{pattern}", f"**/{pattern}/**"]
        self._globs = [PathGlob(form) for form in forms]

    def excludes(self, path: str) -> bool:
        """Whether a path is left out by itself."""
        return any(glob.matches(path) for glob in self._globs)


def _choices(pattern: str) -> list[str]:
    """Return a pattern for each way to choose from its braces; those without a comma stand for themselves."""
    waiting, found = [pattern], []
    while waiting:
        text = waiting.pop()
        brace = next((match for match in _INNERMOST.finditer(text) if "," in match[1]), None)
        if brace is None:
            found.append(text)
        else:
            waiting += [text[: brace.start()] + choice + text[brace.end() :] for choice in brace[1].split(",")]
        if len(waiting) + len(found) > MAX_CHOICES:
            raise InvalidArgumentError(f"The pattern {pattern[:40]!r} stands for more than {MAX_CHOICES} patterns")
    return found


def _tokens(pattern: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        token: Token
        if character == "*":
            token, position = stars(pattern, position)
        elif character == "?":
            token, position = ANY_CHARACTER, position + 1
        elif character == "[":
            token, position = _bracket(pattern, position)
        elif character == "\\" and position + 1 < len(pattern):
            token, position = re.escape(pattern[position + 1]), position + 2
        else:
            token, position = re.escape(character), position + 1
        tokens.append(token)
    # A star alone stands for a name, which is never empty; at the end a lone "**" is all that is below.
    return [ANY_CHARACTER, Wild.STAR] if tokens == [Wild.STAR] else tokens


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    negated = pattern[start + 1 : start + 2] in ("!", "^")
    first = start + 2 if negated else start + 1
    end = pattern.find("]", first + 1)
    if end < 0:
        return re.escape("["), start + 1
    members = pattern[first:end]
    ranges = [
        (each[0], each[2]) if len(each) == 3 else (each, each) for each in re.findall(r".-.|.", members, re.DOTALL)
    ]
    return class_expression(ranges, negated=negated), end + 1
