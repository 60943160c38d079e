"""Recognises files that make other programs run code, and files of secrets, in any spelling, existing or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

from filetools.paths.gitpattern import to_expression, tokens_of
from filetools.paths.names import fold_name
from filetools.paths.workspace_path import WorkspacePath

_UNUSUAL: Final = re.compile(r":|[ .](?:/|\Z)")
"""Parts of an ASCII path that folding changes besides its case."""
_NEVER: Final = re.compile(r"(?!)")
_END: Final = r"(?=/|\Z)"


def matches_protected(path: WorkspacePath, patterns: Sequence[str]) -> bool:
    """True if a change of this path needs an approval of its own.

    A pattern matches from the root and, for nested repositories, below any folder; what lies below a match is protected
    too, and `.git/**` protects `.git` itself. Case, ignorable code points, NTFS streams, 8.3 short names, and trailing
    dots and blanks make no difference.

    Args:
        path: The path that would be changed.
        patterns: Globs such as ".git/**" or ".mcp.json"; `*`, `?`, `[...]` stay within a segment.
    """
    return bool(patterns) and _compiled(tuple(patterns)).search(_folded(path)) is not None


def matches_hidden(path: WorkspacePath, patterns: Sequence[str]) -> bool:
    """True if the content of this path is hidden from agents: the last pattern that matches decides, "!" shows it.

    Args:
        path: The path that would be read.
        patterns: As for `matches_protected`.
    """
    folded = _folded(path)
    any_of_them, last_first = _groups(tuple(patterns))
    if any_of_them.search(folded) is None:
        return False
    return next((not is_shown for is_shown, group in last_first if group.search(folded)), False)


def _folded(path: str) -> str:
    if path.isascii() and _UNUSUAL.search(path) is None:
        return path.lower()
    return "/".join(map(fold_name, path.split("/")))


@lru_cache(maxsize=64)
def _groups(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], tuple[tuple[bool, re.Pattern[str]], ...]]:
    """Return one expression for all hiding patterns; and one for each run of patterns of one kind, the last run first."""
    groups = groupby(patterns, lambda pattern: pattern.startswith("!"))
    found = [(is_shown, tuple(each.removeprefix("!") for each in group)) for is_shown, group in groups]
    hiding = tuple(pattern for is_shown, group in found if not is_shown for pattern in group)
    return _compiled(hiding) if hiding else _NEVER, tuple(
        (is_shown, _compiled(group)) for is_shown, group in reversed(found)
    )


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    # The common beginning is in front, so that nothing is tried within a name.
    return re.compile(rf"(?:^|/)(?:{'|'.join(map(_translate, patterns))})", re.DOTALL)


def _translate(pattern: str) -> str:
    # Atomic groups keep the search linear: the leftmost place for each part between stars is always good enough.
    segments = [segment for segment in pattern.replace("\\", "/").split("/") if segment]
    parts = [
        "/".join(map(_segment, group))
        for anywhere, group in groupby(segments, lambda segment: segment == "**")
        if not anywhere
    ]
    if not parts:
        return ""
    return "/".join([parts[0], *(f"(?>(?:[^/]*/)*?{part}{_END})" for part in parts[1:])]) + _END


def _segment(segment: str) -> str:
    folded = fold_name(segment)
    spelled = to_expression(tokens_of(folded, is_lenient=True)) + _END
    stem = folded.lstrip(".").partition(".")[0][:6]
    if folded.startswith(".") and stem.isalnum():
        # Windows also answers to a short name, such as GIT~1 for .git.
        return rf"(?:{spelled}|{re.escape(stem)}~\d+(?:\.\w*)?)"
    return spelled
