"""Exclude patterns of listings, watching and the mirror, and the globs of searches.

Patterns are relative to the workspace root, and a backslash in them counts as a slash, as in paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache
from typing import Final

from msgspec import Struct

from filetools.errors import InvalidArgumentError
from filetools.paths.gitpattern import (
    GLOB_CHARACTERS,
    Token,
    class_expression,
    compile_all,
    to_expression,
    tokens_of,
)

MAX_PATTERN_CHARACTERS: Final = 256
_FORBIDDEN: Final = re.compile(r'[<>"|]')
_WILD: Final = re.compile(r"[*?]")
_BRACKETED: Final = re.compile(r"[*?\[]")
_LETTER: Final = re.compile(r"\w")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_CHOICE: Final = re.compile(r"\{[^{},]*,[^{}]*\}")
MAX_GLOBS: Final = 64

Sieve = Callable[[Sequence[str], bool], Sequence[str]]
"""Returns those names of one certain folder that are not left out; the second argument says whether they are folders.

It takes many names at once, because calling a function for each costs more than looking at it.
"""


def compile_patterns(patterns: Sequence[str], *, defaults: Sequence[str] = ()) -> ExcludeRules:
    """Return the rules of exclude patterns.

    A pattern without slash matches a name at any depth, one with a slash (not counting a last one) a path from the
    root; both leave out all that is below. `*` and `?` do not cross a slash, `**/` stands for any folders or nothing,
    a trailing slash means folders only, case counts, and every other character means itself.

    Args:
        patterns: The caller's own.
        defaults: Those they join; repeats count once.

    Raises:
        InvalidArgumentError: A pattern is empty, longer than 256 characters, or contains one of `< > " |`.
    """
    return _compiled(tuple(dict.fromkeys((*map(_checked, defaults), *map(_checked, patterns)))))


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> ExcludeRules:
    return ExcludeRules(patterns)


def _checked(pattern: str) -> str:
    if not pattern.strip("/\\ \t\r\n"):
        raise InvalidArgumentError(f"Exclude pattern {pattern!r} is empty")
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        shown = f"{pattern[:40]}..."
        raise InvalidArgumentError(f"Exclude pattern {shown!r} is longer than {MAX_PATTERN_CHARACTERS} characters")
    if found := _FORBIDDEN.search(pattern):
        raise InvalidArgumentError(f"Exclude pattern {pattern!r} contains {found[0]!r}")
    return pattern


class _Rule(Struct, frozen=True, kw_only=True):
    expression: str
    is_literal: bool
    is_path: bool
    directories_only: bool
    body: str

    @classmethod
    def parse(cls, pattern: str) -> _Rule:
        text = pattern.replace("\\", "/")
        body = text.rstrip("/")
        if body.startswith("**/") and "/" not in body[3:]:
            body = body[3:]  # any folders, then a name: the same as the name alone, which is looked up faster
        is_path = "/" in body
        body = body.removeprefix("/")
        return cls(
            expression=to_expression(tokens_of(body, _plain)),
            is_literal=not _WILD.search(body),
            is_path=is_path,
            directories_only=text.endswith("/"),
            body=body,
        )


class _NameRules:
    """The rules that look at one name only. Lives as long as its `ExcludeRules`."""

    __slots__ = ("_exact", "_wild")

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._exact = frozenset(rule.body for rule in rules if rule.is_literal)
        self._wild = compile_all([rule.expression for rule in rules if not rule.is_literal]).match

    def found(self, names: Sequence[str]) -> Set[str]:
        """Return those of the names that a rule fits."""
        exact, wild = self._exact, self._wild
        return {name for name in names if name in exact or wild(name)}


class ExcludeRules:
    """What is left out. Immutable and usable from every thread; lives as long as anybody keeps it."""

    __slots__ = ("_directory_names", "_directory_paths", "_names", "_paths", "is_of_names", "patterns")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        rules = [_Rule.parse(pattern) for pattern in patterns]
        names = [rule for rule in rules if not rule.is_path]
        self._names = _NameRules([rule for rule in names if not rule.directories_only])
        self._directory_names = _NameRules(names)
        self._paths = _paths(rules, directories_only=False, end="(?:/.*)?")
        self._directory_paths = _paths(rules, directories_only=True, end="/.*")
        self.is_of_names = len(names) == len(rules)
        """Whether no pattern has a slash, so that the sieves of all folders are the same."""

    def matches_name(self, name: str, is_directory: bool) -> bool:
        """Whether a pattern without slash matches this single name, wherever it is."""
        return bool((self._directory_names if is_directory else self._names).found([name]))

    def matches(self, path: str, is_directory: bool) -> bool:
        """Whether a path is left out, by itself or with a folder above it.

        Args:
            path: Normalised path relative to the root.
            is_directory: Whether it names a folder; all segments above it do.
        """
        *folders, name = path.split("/")
        if self.matches_name(name, is_directory) or self._directory_names.found(folders):
            return True
        return self._matches_path(path, is_directory)

    def matches_itself(self, path: str, is_directory: bool) -> bool:
        """Whether a path that no folder above leaves out is left out."""
        return self.matches_name(path[path.rfind("/") + 1 :], is_directory) or self._matches_path(path, is_directory)

    def _matches_path(self, path: str, is_directory: bool) -> bool:
        if self._paths is not None and self._paths.match(path):
            return True
        if self._directory_paths is None:
            return False
        return self._directory_paths.match(f"{path}/" if is_directory else path) is not None

    def in_directory(self, directory: str) -> Sieve | None:
        """Return the sieve for the names in a folder that is not left out itself; None if nothing can match."""
        if self.is_of_names:
            return self._sieve_names if self.patterns else None
        prefix = f"{directory}/" if directory else ""

        def sieve(names: Sequence[str], is_directory: bool) -> Sequence[str]:
            kept = self._sieve_names(names, is_directory)
            return [name for name in kept if not self._matches_path(prefix + name, is_directory)]

        return sieve

    def _sieve_names(self, names: Sequence[str], is_directory: bool) -> Sequence[str]:
        found = (self._directory_names if is_directory else self._names).found(names)
        return [name for name in names if name not in found] if found else names


def _paths(rules: Iterable[_Rule], *, directories_only: bool, end: str) -> re.Pattern[str] | None:
    found = [rule.expression for rule in rules if rule.is_path and rule.directories_only == directories_only]
    return compile_all(found, end) if found else None


class Glob:
    """A search pattern with `*`, `?`, `[...]` and `**/`. Immutable; lives as long as anybody keeps it.

    Without a slash it is compared with the name, at any depth; with one, with the whole path from the root. Case
    counts. A bracket that is not closed means itself, and a name that stands so in the tree is meant, too.
    """

    __slots__ = ("_expression", "_is_path", "_literal", "pattern")

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
        self.pattern = pattern
        self._is_path = "/" in body
        self._literal = body.lstrip("/")
        self._expression = compile_all([to_expression(tokens_of(self._literal, _bracket))])

    def matches(self, path: str) -> bool:
        """Whether the path of a file or folder matches; takes time linear in its length."""
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


def is_glob(pattern: str) -> bool:
    """Whether a search pattern is a glob rather than a part of a path."""
    return any(character in pattern for character in GLOB_CHARACTERS) or _CHOICE.search(pattern) is not None


def glob_below(folder: str, pattern: str) -> str:
    """Return the glob, compared with whole paths from the root, of a pattern that is relative to a folder.

    A pattern without slash stays one of names at any depth; one without wildcards becomes a glob that says the same.

    Args:
        folder: Normalised path; "" for the root.
        pattern: As somebody wrote it.

    Raises:
        InvalidArgumentError: A segment of the pattern is "..".
    """
    if ".." in pattern.split("/"):
        raise InvalidArgumentError("A pattern cannot have '..' segments; give the folder as path")
    below = _BRACKETED.sub(r"[\g<0>]", folder) + "/" if "/" in pattern else ""
    whole = below + pattern.removeprefix("./").lstrip("/")
    return whole if is_glob(whole) else _LETTER.sub(r"[\g<0>]", whole, count=1)


def _bracket(pattern: str, start: int) -> tuple[Token, int]:
    negated = pattern[start + 1 : start + 2] in ("!", "^")
    first = start + 2 if negated else start + 1
    # A closing bracket right at the beginning is a member of the class.
    end = pattern.find("]", first + 1)
    if end < 0:
        return _plain(pattern, start)
    ranges = [(each[0], each[-1]) for each in re.findall(r".-.|.", pattern[first:end], re.DOTALL)]
    return class_expression(ranges, negated=negated), end + 1


def _plain(pattern: str, start: int) -> tuple[Token, int]:
    return re.escape(pattern[start]), start + 1
