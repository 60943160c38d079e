"""Ignore files: what git would leave out, decided by rules of our own in time linear in the length of a path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from filetools.paths.gitpattern import MAX_LINE_BYTES, BadPatternError, GitPattern, compile_all, parse_line
from filetools.paths.patterns import Sieve

IGNORE_FILE: Final = ".gitignore"
MAX_WILDCARD_BYTES: Final = 32 * 1024
"""Most bytes of one file's lines that need an expression each; literal names, `*.ending` and `start*` do not count."""
MAX_DEEP_RULES: Final = 256
"""Most rules of one file with `**` before further folders; each is tried at every folder of a path."""
MAX_REPORTED: Final = 100
MAX_GATE_TEXTS: Final = 64
"""Up to so many endings and starts, comparing a name with all of them is quicker than looking up each length."""

_NONE: Final = -1


class IgnoreProblem(Struct, frozen=True, kw_only=True):
    """A line that was skipped."""

    line: int
    """Counted from 1."""
    text: str
    """Its first 80 characters."""
    reason: str


class _Table(Struct):
    """Rules by a literal text. A rank is twice the line's number, plus one if it takes back; the last rule wins."""

    any: dict[str, int] = field(default_factory=dict)
    directories: dict[str, int] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()

    def add(self, text: str, rank: int, *, directories_only: bool) -> None:
        (self.directories if directories_only else self.any)[text] = rank

    def texts(self) -> tuple[str, ...]:
        return (*self.any, *self.directories)

    def measure(self) -> None:
        self.lengths = tuple(set(map(len, self.texts())))

    def find(self, text: str, is_directory: bool) -> int:
        rank = self.any.get(text, _NONE)
        return max(rank, self.directories.get(text, _NONE)) if is_directory else rank


class _Expressions:
    """Rules that need an expression, the last first, in one expression for folders and one for everything else."""

    __slots__ = ("_any", "_directories", "_files", "bounds")

    def __init__(self, rules: Sequence[tuple[GitPattern, str, int]]) -> None:
        newest_first = sorted(rules, key=lambda rule: -rule[2])
        found = "|".join(expression for _, expression, _ in rules)
        # A slash stands before and behind each name. Most sets of names are settled by this one search.
        self._any = re.compile(f"/(?:{found})(?=/)", re.DOTALL).search if rules else None
        self.bounds = tuple({(rule.literal, rule.slashes) for rule, _, _ in rules})
        self._directories = _compiled(newest_first)
        self._files = _compiled([rule for rule in newest_first if not rule[0].directories_only])

    def may_fit(self, names: Sequence[str]) -> bool:
        """Whether a rule may fit one of some names; False is certain."""
        return self._any is not None and self._any(as_bytes_text(f"/{'/'.join(names)}/")) is not None

    def find(self, text: str, is_directory: bool) -> int:
        compiled = self._directories if is_directory else self._files
        if compiled is None:
            return _NONE
        match, ranks = compiled
        found = match(text)
        return ranks[found.lastindex - 1] if found and found.lastindex else _NONE


_Compiled = tuple[Callable[[str], "re.Match[str] | None"], tuple[int, ...]]


def _compiled(rules: Sequence[tuple[GitPattern, str, int]]) -> _Compiled | None:
    if not rules:
        return None
    return compile_all([expression for _, expression, _ in rules]).match, tuple(rank for _, _, rank in rules)


class IgnoreRules:
    """The rules of one ignore file. Immutable and usable from every thread; lives as long as anybody keeps it."""

    __slots__ = (
        "_endings",
        "_gate",
        "_name_expressions",
        "_names",
        "_parents",
        "_path_expressions",
        "_paths",
        "_starts",
        "above",
        "base",
        "problems",
    )

    def __init__(self, base: str, above: str) -> None:
        self.base, self.above = base, above
        self.problems: tuple[IgnoreProblem, ...] = ()
        self._names, self._paths, self._starts, self._endings = _Table(), _Table(), _Table(), _Table()
        self._parents: frozenset[str] = frozenset()
        self._gate: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        self._name_expressions = self._path_expressions = _Expressions(())

    @classmethod
    def parse(cls, text: str | bytes, base: str = "", *, above: str = "") -> IgnoreRules:
        """Return the rules of an ignore file.

        Args:
            text: Its content. Lines that cannot match anything, lines of more than 4096 bytes, and wildcards beyond
                32 KiB in all are skipped; `problems` tells the first 100 of them.
            base: The folder it lies in, relative to the root; "" is the root.
            above: Where it lies above the root: the root, relative to that folder.
        """
        return _Parser(IgnoreRules(base, above)).parse(
            text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        )

    @property
    def is_empty(self) -> bool:
        """Whether no line of it is a rule."""
        tables = (self._names, self._paths, self._starts, self._endings)
        return not (
            any(table.texts() for table in tables) or self._name_expressions.bounds or self._path_expressions.bounds
        )

    def relative(self, path: str) -> str:
        """Return a path relative to the folder that this file lies in; "" if it is that folder, or not below it."""
        if self.above:
            return f"{self.above}/{path}" if path else self.above
        return _below(path, self.base)

    def match(self, path: str, is_directory: bool) -> bool | None:
        """Return what the last rule that fits says of a path itself, not looking at the folders above it.

        Args:
            path: Normalised path relative to the root.
            is_directory: Whether it is a folder; a link to one is not.

        Returns:
            True if it is ignored, False if a rule with "!" takes it back, None if no rule fits.
        """
        relative = self.relative(path)
        if not relative:
            return None
        text = as_bytes_text(relative)
        rank = max(self._rank_name(text[text.rfind("/") + 1 :], is_directory), self._rank_path(text, is_directory))
        return None if rank < 0 else not rank & 1

    def ranks(self, names: Sequence[str], is_directory: bool, directory: str) -> dict[str, int]:
        """Return, for those names in a folder that a rule fits, the rank of the last one; odd ranks take back.

        Args:
            names: As the disk has them.
            is_directory: Whether they are folders.
            directory: The folder, as `relative` and `as_bytes_text` give it.
        """
        has_paths = self._concerns(directory)
        prefix = f"{directory}/" if directory else ""
        ranks: dict[str, int] = {}
        for name in names if has_paths else self._suspects(names):
            text = as_bytes_text(name)
            rank = self._rank_name(text, is_directory)
            if has_paths:
                rank = max(rank, self._rank_path(prefix + text, is_directory))
            if rank >= 0:
                ranks[name] = rank
        return ranks

    def _suspects(self, names: Sequence[str]) -> Iterable[str]:
        """Return all names that a rule without slash may fit, and perhaps a few more."""
        if self._gate is None:
            return names
        endings, starts = self._gate
        found = [name for name in names if name.endswith(endings) or name.startswith(starts)]
        exact, folders = self._names.any, self._names.directories
        if not (exact.keys().isdisjoint(names) and folders.keys().isdisjoint(names)):
            found += [name for name in names if name in exact or name in folders]
        if self._name_expressions.may_fit(names):
            find = self._name_expressions.find
            found += [name for name in names if find(as_bytes_text(name), True) >= 0]
        return found

    def _rank_name(self, name: str, is_directory: bool) -> int:
        rank = self._names.find(name, is_directory)
        for length in self._endings.lengths:
            rank = max(rank, self._endings.find(name[-length:] if length else "", is_directory))
        for length in self._starts.lengths:
            rank = max(rank, self._starts.find(name[:length], is_directory))
        return max(rank, self._name_expressions.find(name, is_directory))

    def _rank_path(self, relative: str, is_directory: bool) -> int:
        return max(self._paths.find(relative, is_directory), self._path_expressions.find(relative, is_directory))

    def _concerns(self, directory: str) -> bool:
        """Whether a rule with a slash may fit a name in a folder, given relative to `base`."""
        if directory in self._parents:
            return True
        prefix = f"{directory}/" if directory else ""
        depth = prefix.count("/")
        return any(
            (slashes is None or slashes == depth) and (prefix.startswith(literal) or literal.startswith(prefix))
            for literal, slashes in self._path_expressions.bounds
        )


class _Parser:
    """Collects the rules of one file."""

    def __init__(self, rules: IgnoreRules) -> None:
        self._rules = rules
        self._problems: list[IgnoreProblem] = []
        self._names: list[tuple[GitPattern, str, int]] = []
        self._paths: list[tuple[GitPattern, str, int]] = []
        self._wildcard_bytes = 0
        self._deep_rules = 0

    def parse(self, content: bytes) -> IgnoreRules:
        for number, line in enumerate(_lines(content), start=1):
            try:
                self._add(line, 2 * number)
            except BadPatternError as exc:
                self._report(number, line, str(exc))
        rules = self._rules
        for table in (rules._starts, rules._endings):
            table.measure()
        endings, starts = rules._endings.texts(), rules._starts.texts()
        # The gate looks at names as they are, which is the same as their bytes only where rules are ASCII.
        is_ascii = all(map(str.isascii, (*endings, *starts, *rules._names.texts())))
        if is_ascii and len(endings) + len(starts) <= MAX_GATE_TEXTS:
            rules._gate = (endings, starts)
        rules._parents = frozenset(
            path[: max(path.rfind("/"), 0)] for paths in (rules._paths.any, rules._paths.directories) for path in paths
        )
        rules._name_expressions, rules._path_expressions = _Expressions(self._names), _Expressions(self._paths)
        rules.problems = tuple(self._problems)
        return rules

    def _add(self, line: str, rank: int) -> None:
        if len(line) > MAX_LINE_BYTES:
            raise BadPatternError(f"it is longer than {MAX_LINE_BYTES} bytes")
        if "\0" in line:
            raise BadPatternError("it contains NUL")
        pattern = parse_line(line)
        if pattern is not None:
            self._place(pattern, rank + pattern.negated)

    def _place(self, pattern: GitPattern, rank: int) -> None:
        rules, only = self._rules, pattern.directories_only
        if not pattern.rest:
            (rules._paths if pattern.is_path else rules._names).add(pattern.literal, rank, directories_only=only)
        elif not pattern.is_path and pattern.ending is not None:
            rules._endings.add(pattern.ending, rank, directories_only=only)
        elif not pattern.is_path and pattern.rest == "*":
            rules._starts.add(pattern.literal, rank, directories_only=only)
        else:
            self._place_expression(pattern, rank)

    def _place_expression(self, pattern: GitPattern, rank: int) -> None:
        size = len(pattern.literal) + len(pattern.rest)
        if self._wildcard_bytes + size > MAX_WILDCARD_BYTES:
            raise BadPatternError(f"this file has more than {MAX_WILDCARD_BYTES} bytes of wildcards")
        if pattern.is_deep and self._deep_rules == MAX_DEEP_RULES:
            raise BadPatternError(f"this file has more than {MAX_DEEP_RULES} rules with ** before a folder")
        expression = pattern.expression()
        self._deep_rules += pattern.is_deep
        self._wildcard_bytes += size
        (self._paths if pattern.is_path else self._names).append((pattern, expression, rank))

    def _report(self, number: int, line: str, reason: str) -> None:
        if len(self._problems) < MAX_REPORTED:
            shown = line[:80].encode("latin-1").decode("utf-8", "replace")
            self._problems.append(IgnoreProblem(line=number, text=shown, reason=reason))


def _lines(content: bytes) -> Iterator[str]:
    text = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    return (line.removesuffix("\r") for line in text.split("\n"))


def _below(path: str, base: str) -> str:
    if not base:
        return path
    return path[len(base) + 1 :] if path.startswith(base) and path[len(base) : len(base) + 1] == "/" else ""


def as_bytes_text(path: str) -> str:
    """Return the UTF-8 bytes of a path as code points 0 to 255, the form in which ignore rules compare."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("latin-1")


class IgnoreStack:
    """The ignore files that hold in a folder, the outermost first. Immutable; lives as long as anybody keeps it."""

    __slots__ = ("levels",)

    def __init__(self, levels: tuple[IgnoreRules, ...] = ()) -> None:
        self.levels = levels

    def push(self, rules: IgnoreRules) -> IgnoreStack:
        """Return this stack with the ignore file of a folder further in; it is asked first."""
        return IgnoreStack((*self.levels, rules))

    def ignores(self, path: str, is_directory: bool) -> bool:
        """Whether a path is ignored, by itself or with a folder above it.

        Args:
            path: Normalised path relative to the root.
            is_directory: Whether it is a folder.
        """
        end = path.find("/")
        while end >= 0:
            if self._ignores_itself(path[:end], True):
                return True
            end = path.find("/", end + 1)
        return self._ignores_itself(path, is_directory)

    def _ignores_itself(self, path: str, is_directory: bool) -> bool:
        answers = (rules.match(path, is_directory) for rules in reversed(self.levels))
        return next((answer for answer in answers if answer is not None), False)

    def in_directory(self, directory: str) -> Sieve | None:
        """Return the sieve for the names in a folder that is not ignored itself; None if there are no rules.

        Args:
            directory: Relative to the root; below or at the base of every ignore file of this stack.
        """
        if not self.levels:
            return None
        levels = [(rules, as_bytes_text(rules.relative(directory))) for rules in reversed(self.levels)]

        def sieve(names: Sequence[str], is_directory: bool) -> Sequence[str]:
            ranks: dict[str, int] = {}
            for rules, inner in levels:
                for name, rank in rules.ranks(names, is_directory, inner).items():
                    ranks.setdefault(name, rank)
            found = {name for name, rank in ranks.items() if not rank & 1}
            return [name for name in names if name not in found] if found else names

        return sieve
