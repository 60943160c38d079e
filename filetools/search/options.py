"""What a listing may be asked for."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from msgspec import Struct

from filetools.errors import InvalidArgumentError
from filetools.paths.patterns import ExcludeRules, compile_patterns
from filetools.settings import DEFAULT_EXCLUDES

MAX_LIMIT: Final = 1_000


class ListOptions(Struct, frozen=True, kw_only=True):
    """How to list. Immutable; the options of all pages of one listing are the same, but for `limit` and `details`."""

    recursive: bool = False
    limit: int = MAX_LIMIT
    """Entries a page, 1 to 1000."""
    include_hidden: bool = True
    """Whether names that begin with a dot are listed."""
    exclude: tuple[str, ...] = ()
    """Patterns of the caller, see `compile_patterns`."""
    default_excludes: tuple[str, ...] = DEFAULT_EXCLUDES
    """Patterns of the settings; they hold for recursive listings only."""
    use_gitignore: bool = False
    max_depth: int = 64
    """Levels of a recursive listing, from 1; the folder's own entries are level 1."""
    details: bool = True
    """Whether size and time are looked up."""

    def rules(self) -> ExcludeRules:
        """Return the patterns that hold.

        Raises:
            InvalidArgumentError: A pattern is invalid, or a number is out of range.
        """
        limit: object = self.limit
        if not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            raise InvalidArgumentError(f"limit must be 1 to {MAX_LIMIT}, not {self.limit!r}")
        if self.max_depth < 1:
            raise InvalidArgumentError(f"max_depth must be at least 1, not {self.max_depth}")
        return compile_patterns(self.exclude, defaults=self.default_excludes if self.recursive else ())

    def fingerprint(self, path: str, pattern: str = "") -> str:
        """Return a short text that is equal for the pages of one listing only.

        Args:
            path: The folder listed.
            pattern: What is searched for, in a search.
        """
        depth = self.max_depth if self.recursive else 1
        facts = (path, pattern, self.recursive, self.include_hidden, self.rules().patterns, self.use_gitignore, depth)
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
