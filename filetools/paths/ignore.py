"""Ignore files: the paths that git would ignore, found in time linear in the length of a path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from filetools.paths.gitpattern import BadPatternError, GitPattern, compile_all, parse_line

IGNORE_FILE: Final = ".gitignore"
MAX_WILDCARD_BYTES: Final = 32 * 1024
"""Maximum size of one file's lines that need an expression each; literal names, `*.ending` and `start*` do not count."""
MAX_DEEP_RULES: Final = 256
"""Maximum number of rules of one file with `**` before further folders; each is tried at every folder of a path."""
MAX_GATE_TEXTS: Final = 64
"""Up to this many endings and starts, comparing a name with all of them is faster than looking up each length."""

_NONE: Final = -1


NameFilter = Callable[[Sequence[str], bool], Sequence[str]]
"""Returns the names in one folder that are not excluded; the second argument is True if they are folders.

It takes many names at once, because a function call for each costs more than the check.
"""
Rule = tuple[GitPattern, str | None, int]
"""A pattern, its expression if it needs one, and its rank: twice the line's number, plus one if it is negated."""


def rule_of(pattern: GitPattern, number: int) -> Rule:
    """Return the rule of the pattern in a line.

    Raises:
        BadPatternError: A bracket is not closed, a class is unknown, or a backslash is at the end.
    """
    return pattern, None if pattern.lookup else pattern.expression(), 2 * number + pattern.negated


class _Side:
    """The rules for folders, or for everything else, grouped by kind of lookup; the last rule that matches wins."""

    __slots__ = (
        "_ending_lengths",
        "_start_lengths",
        "_wild_names",
        "_wild_paths",
        "endings",
        "names",
        "paths",
        "starts",
    )

    def __init__(self, rules: Sequence[Rule]) -> None:
        tables: dict[str, dict[str, int]] = {"names": {}, "paths": {}, "endings": {}, "starts": {}}
        for pattern, _, rank in rules:
            if found := pattern.lookup:
                tables[found[0]][found[1]] = rank
        self.names, self.paths, self.endings, self.starts = tables.values()
        self._ending_lengths, self._start_lengths = ({*map(len, texts)} for texts in (self.endings, self.starts))
        self._wild_names, self._wild_paths = (_compiled(rules, is_path) for is_path in (False, True))

    def rank_of_name(self, name: str) -> int:
        rank = self.names.get(name, _NONE)
        for length in self._ending_lengths:
            rank = max(rank, self.endings.get(name[-length:] if length else "", _NONE))
        for length in self._start_lengths:
            rank = max(rank, self.starts.get(name[:length], _NONE))
        return max(rank, _rank(self._wild_names, name))

    def rank_of_path(self, relative: str) -> int:
        return max(self.paths.get(relative, _NONE), _rank(self._wild_paths, relative))


_Compiled = tuple[Callable[[str], "re.Match[str] | None"], tuple[int, ...]]


def _compiled(rules: Iterable[Rule], is_path: bool) -> _Compiled | None:
    newest_first = [(each, rank) for pattern, each, rank in rules if each is not None and pattern.is_path is is_path][
        ::-1
    ]
    if not newest_first:
        return None
    return compile_all(expression for expression, _ in newest_first).match, tuple(rank for _, rank in newest_first)


def _rank(compiled: _Compiled | None, text: str) -> int:
    found = compiled[0](text) if compiled is not None else None
    return compiled[1][found.lastindex - 1] if compiled and found and found.lastindex else _NONE


def as_bytes_text(path: str) -> str:
    """Return the UTF-8 bytes of a path as code points 0 to 255, the form in which the rules of ignore files compare."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("latin-1")


class IgnoreRules:
    """The rules of one ignore file. Immutable and thread-safe.

    Args:
        rules: In the order of their lines.
        base: The folder in which they apply, relative to the root; "" is the root.
        above: If they apply in a folder above the root: the root, relative to that folder.
        text: Converts a path to the form that the rules compare.
    """

    __slots__ = (
        "_any",
        "_bounds",
        "_gate",
        "_is_quick",
        "_parents",
        "_sides",
        "_signs",
        "above",
        "base",
        "is_empty",
        "text",
    )

    def __init__(
        self,
        rules: Sequence[Rule],
        base: str = "",
        above: str = "",
        text: Callable[[str], str] = as_bytes_text,
    ) -> None:
        self.base, self.above, self.text = base, above, text
        self.is_empty = not rules
        of_files = [rule for rule in rules if not rule[0].directories_only]
        folders = _Side(rules)
        self._sides = (folders if len(of_files) == len(rules) else _Side(of_files), folders)
        self._parents = frozenset(path[: max(path.rfind("/"), 0)] for path in folders.paths)
        self._bounds = {(rule.literal, rule.slashes) for rule, wild, _ in rules if wild is not None and rule.is_path}
        found = "|".join(wild for rule, wild, _ in rules if wild is not None and not rule.is_path)
        # Each name has a slash before and after it. This one search decides most sets of names.
        self._any = re.compile(f"/(?:{found})(?=/)", re.DOTALL).search if found else None
        # The gate looks at names as they are, which is the same as their bytes only where rules are ASCII.
        endings, starts = self._gate = tuple(folders.endings), tuple(folders.starts)
        self._signs = (*(f"{each}/" for each in endings), *(f"/{each}" for each in starts))
        self._is_quick = len(self._signs) <= MAX_GATE_TEXTS and all(map(str.isascii, (*self._signs, *folders.names)))

    @classmethod
    def parse(cls, text: str | bytes, base: str = "", *, above: str = "") -> IgnoreRules:
        """Return the rules of an ignore file.

        Args:
            text: Its content. Lines that cannot match anything, lines of more than 4096 bytes, and wildcards beyond
                32 KiB in all are skipped.
            base: The folder it lies in.
            above: If it lies above the root: the root, relative to that folder.
        """
        content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        rules: list[Rule] = []
        wildcard_bytes = deep_rules = 0
        for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n"), start=1):
            with suppress(BadPatternError):
                pattern = parse_line(line.removesuffix("\r"))
                if pattern is None:
                    continue
                if pattern.lookup is None:
                    wildcard_bytes += len(pattern.literal) + len(pattern.rest)
                    deep_rules += pattern.is_deep
                    if wildcard_bytes > MAX_WILDCARD_BYTES or (pattern.is_deep and deep_rules > MAX_DEEP_RULES):
                        continue
                rules.append(rule_of(pattern, number))
        return cls(rules, base, above)

    def relative(self, path: str) -> str:
        """Return a path relative to the folder that this file lies in; "" if it is that folder, or not below it."""
        if self.above:
            return f"{self.above}/{path}" if path else self.above
        return _below(path, self.base)

    def match(self, path: str, is_directory: bool) -> bool | None:
        """Return the verdict of the last rule that matches a path itself, without the folders above it.

        Args:
            path: Normalised path relative to the root.
            is_directory: True for a folder; a link to one is not.

        Returns:
            True if it is ignored, False if a rule with "!" takes it back, None if no rule matches.
        """
        relative = self.relative(path)
        if not relative:
            return None
        text, side = self.text(relative), self._sides[is_directory]
        rank = max(side.rank_of_name(text[text.rfind("/") + 1 :]), side.rank_of_path(text))
        return None if rank < 0 else not rank & 1

    def prefix_of(self, directory: str) -> str | None:
        """Return the prefix of the names in a folder if a rule with a slash may match one of them; else None."""
        inner = self.text(self.relative(directory))
        prefix = f"{inner}/" if inner else ""
        depth = prefix.count("/")
        is_concerned = inner in self._parents or any(
            (slashes is None or slashes == depth) and (prefix.startswith(literal) or literal.startswith(prefix))
            for literal, slashes in self._bounds
        )
        return prefix if is_concerned else None

    def ranks(self, names: Sequence[str], is_directory: bool, prefix: str | None) -> dict[str, int]:
        """Return the rank of the last matching rule for each name in a folder that has one; odd ranks take back.

        Args:
            names: As the disk has them.
            is_directory: True if they are folders.
            prefix: `prefix_of` the folder.
        """
        side = self._sides[is_directory]
        ranks: dict[str, int] = {}
        for name in self._suspects(names) if prefix is None else names:
            text = self.text(name)
            rank = side.rank_of_name(text)
            if prefix is not None:
                rank = max(rank, side.rank_of_path(prefix + text))
            if rank >= 0:
                ranks[name] = rank
        return ranks

    def _suspects(self, names: Sequence[str]) -> Sequence[str]:
        """Return all names that a rule without slash may match, and perhaps a few more."""
        joined = f"/{'/'.join(names)}/"
        if not self._is_quick or (self._any is not None and self._any(self.text(joined))):
            return names
        exact, endings, starts = self._sides[True].names, *self._gate
        found = [] if exact.keys().isdisjoint(names) else [name for name in names if name in exact]
        if any(map(joined.__contains__, self._signs)):
            found += [name for name in names if name.endswith(endings) or name.startswith(starts)]
        return found


def _below(path: str, base: str) -> str:
    if not base:
        return path
    return path[len(base) + 1 :] if path.startswith(base) and path[len(base) : len(base) + 1] == "/" else ""


class IgnoreStack:
    """The ignore files that apply in a folder, the outermost first. Immutable."""

    __slots__ = ("levels",)

    def __init__(self, levels: tuple[IgnoreRules, ...] = ()) -> None:
        self.levels = levels

    def push(self, rules: IgnoreRules) -> IgnoreStack:
        """Return this stack with the ignore file of a deeper folder, which takes precedence."""
        return IgnoreStack((*self.levels, rules))

    def ignores(self, path: str, is_directory: bool) -> bool:
        """True if a path is ignored, by itself or with a folder above it.

        Args:
            path: Normalised path relative to the root.
            is_directory: True for a folder.
        """
        end = path.find("/")
        while end >= 0:
            if self.ignores_itself(path[:end], True):
                return True
            end = path.find("/", end + 1)
        return self.ignores_itself(path, is_directory)

    def ignores_itself(self, path: str, is_directory: bool) -> bool:
        """True if a path that is in no ignored folder is ignored."""
        answers = (rules.match(path, is_directory) for rules in reversed(self.levels))
        return next((answer for answer in answers if answer is not None), False)

    def in_directory(self, directory: str) -> NameFilter | None:
        """Return the filter for the names in a folder that is not ignored itself; None if there are no rules.

        Args:
            directory: Relative to the root; below or at the base of every ignore file of this stack.
        """
        if not self.levels:
            return None
        levels = [(rules, rules.prefix_of(directory)) for rules in reversed(self.levels)]

        def name_filter(names: Sequence[str], is_directory: bool) -> Sequence[str]:
            ranks: dict[str, int] = {}
            for rules, prefix in levels:
                ranks = rules.ranks(names, is_directory, prefix) | ranks
            # Names without a matching rule have an odd rank, too.
            return [name for name in names if ranks.get(name, _NONE) & 1] if ranks else names

        return name_filter
