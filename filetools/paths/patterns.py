"""Exclude patterns of listings, watching and the mirror, and the globs of searches.

Patterns are relative to the workspace root, and a backslash in them counts as a slash, as in paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.paths.gitpattern import (
    GLOB_CHARACTERS,
    GitPattern,
    compile_all,
    pattern_of,
    to_expression,
    tokens_of,
)
from filetools.paths.ignore import IgnoreRules, IgnoreStack, rule_of

MAX_PATTERN_CHARACTERS: Final = 256
_FORBIDDEN: Final = re.compile(r'[<>"|]')
_BRACKETED: Final = re.compile(r"[*?\[]")
_LETTER: Final = re.compile(r"\w")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_CHOICE: Final = re.compile(r"\{[^{},]*,[^{}]*\}")
MAX_GLOBS: Final = 64


def compile_patterns(patterns: Sequence[str], *, defaults: Sequence[str] = ()) -> ExcludeRules:
    """Return the rules of exclude patterns.

    A pattern without slash matches a name at any depth, one with a slash (not counting a last one) a path from the
    root; both leave out all that is below. `*` and `?` do not cross a slash, `**/` stands for any folders or nothing,
    a trailing slash means folders only, case counts, and every other character means itself.

    Args:
        patterns: The caller's own.
        defaults: Those they are added to; repeats count once.

    Raises:
        InvalidArgumentError: A pattern is empty, longer than 256 characters, or contains one of `< > " |`.
    """
    return _compiled(tuple(dict.fromkeys((*map(_checked, defaults), *map(_checked, patterns)))))


def _checked(pattern: str) -> str:
    if not pattern.strip("/\\ \t\r\n"):
        raise InvalidArgumentError(f"Exclude pattern {pattern!r} is empty")
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        shown = f"{pattern[:40]}..."
        raise InvalidArgumentError(f"Exclude pattern {shown!r} is longer than {MAX_PATTERN_CHARACTERS} characters")
    if found := _FORBIDDEN.search(pattern):
        raise InvalidArgumentError(f"Exclude pattern {pattern!r} contains {found[0]!r}")
    return pattern


class ExcludeRules(IgnoreStack):
    """Compiled exclude patterns. Immutable and thread-safe."""

    __slots__ = ("is_of_names", "patterns")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        rules = [rule_of(_read(pattern), number) for number, pattern in enumerate(patterns)]
        self.is_of_names = not any(pattern.is_path for pattern, *_ in rules)
        """True if no pattern has a slash, so that all folders have the same filter."""
        super().__init__((IgnoreRules(rules, text=str),) if rules else ())

    def matches(self, path: str, is_directory: bool) -> bool:
        """True if a path is excluded, by itself or with a folder above it; see `IgnoreStack.ignores`."""
        # One look at all names decides most paths, in a fifth of the time of checking each folder.
        return (
            not self.is_of_names or any(rules.ranks(path.split("/"), True, None) for rules in self.levels)
        ) and self.ignores(path, is_directory)


_compiled: Final = lru_cache(maxsize=64)(ExcludeRules)


def _read(pattern: str) -> GitPattern:
    text = pattern.replace("\\", "/")
    return pattern_of(text.rstrip("/").replace("[", "\\["), negated=False, directories_only=text.endswith("/"))


class Glob:
    """A search pattern with `*`, `?`, `[...]` and `**/`. Immutable.

    Without a slash it is compared with the name, at any depth; with one, with the whole path from the root. Case
    counts. An unclosed bracket means itself, and a name that is spelled like the pattern matches, too.
    """

    __slots__ = ("_expression", "_is_path", "_literal")

    def __init__(self, pattern: str) -> None:
        """Compile a pattern.

        Args:
            pattern: 1 to 4096 characters.

        Raises:
            InvalidArgumentError: It is empty or too long.
        """
        body = pattern.replace("\\", "/").removeprefix("./")
        if not body.strip("/") or len(body) > 4096:
            raise InvalidArgumentError(f"The glob {pattern[:40]!r} must have 1 to 4096 characters")
        self._is_path = "/" in body
        self._literal = body.lstrip("/")
        self._expression = compile_all([to_expression(tokens_of(self._literal, is_lenient=True))])

    def matches(self, path: str) -> bool:
        """True if the path of a file or folder matches; takes time linear in its length."""
        text = path if self._is_path else path[path.rfind("/") + 1 :]
        return text == self._literal or self._expression.match(text) is not None


def alternatives(pattern: str) -> list[str]:
    """Return a glob for each way to choose from the braces of a pattern, such as `*.{ts,tsx}`, and the pattern itself.

    Braces are not nested.

    Raises:
        InvalidArgumentError: There are more than 64.
    """
    found = [""]
    for position, part in enumerate(_BRACES.split(pattern)):
        choices = part.split(",") if position % 2 else [part]
        found = [before + choice for before in found for choice in choices]
        if len(found) > MAX_GLOBS:
            raise InvalidArgumentError(f"The glob {pattern[:40]!r} stands for more than {MAX_GLOBS} globs")
    return list(dict.fromkeys((*found, pattern)))  # a name may hold braces


def matcher_of(pattern: str) -> Callable[[str], bool]:
    """Return a function that tests whether a path matches a glob, or one of its `alternatives`.

    Raises:
        InvalidArgumentError: It is empty or too long, or stands for more than 64 globs.
    """
    globs = [Glob(each) for each in alternatives(pattern)]
    return globs[0].matches if len(globs) == 1 else lambda path: any(glob.matches(path) for glob in globs)


def is_glob(pattern: str) -> bool:
    """True if a search pattern is a glob rather than a part of a path."""
    return any(character in pattern for character in GLOB_CHARACTERS) or _CHOICE.search(pattern) is not None


def glob_below(folder: str, pattern: str) -> str:
    """Return the glob, compared with whole paths from the root, of a pattern that is relative to a folder.

    A pattern without slash stays one of names at any depth; one without wildcards becomes an equivalent glob.

    Args:
        folder: Normalised path; "" for the root.
        pattern: As the caller wrote it.

    Raises:
        InvalidArgumentError: A segment of the pattern is "..".
    """
    if ".." in pattern.split("/"):
        raise InvalidArgumentError("A pattern cannot have '..' segments; give the folder as path")
    below = _BRACKETED.sub(r"[\g<0>]", folder) + "/" if "/" in pattern else ""
    whole = below + pattern.removeprefix("./").lstrip("/")
    return whole if is_glob(whole) else _LETTER.sub(r"[\g<0>]", whole, count=1)
