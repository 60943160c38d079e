"""Options of a content search."""

from __future__ import annotations

import hashlib
import json
from typing import Final, Literal

from msgspec import Struct

from filetools.errors import require_choice, require_within
from filetools.search.contents.pattern import Pattern, read_pattern
from filetools.search.options import MAX_LIMIT, ListOptions

OutputMode = Literal["content", "files", "count"]
MAX_CONTEXT: Final = 20


class GrepOptions(Struct, frozen=True, kw_only=True):
    """Options of a content search. Immutable; all pages of one search use the same options, except for `limit`."""

    pattern: str
    glob: str | None = None
    """Selects files; see `Glob`. `{a,b}` matches either alternative."""
    output_mode: OutputMode = "content"
    ignore_case: bool = False
    literal: bool = False
    multiline: bool = False
    whole_words: bool = False
    context: int = 0
    only_matching: bool = False
    """True if rows contain every non-empty match of their line; lines without one are omitted."""
    all: bool = False
    limit: int = 100
    default_excludes: tuple[str, ...] = ()
    max_file_bytes: int = 10 * 1024 * 1024

    def checked(self) -> Pattern:
        """Check the options, and return the compiled pattern.

        Raises:
            InvalidArgumentError: It is not valid, or an option is out of range.
        """
        require_choice("output_mode", self.output_mode, ("content", "files", "count"))
        require_within("limit", self.limit, 1, MAX_LIMIT)
        require_within("context", self.context, 0, MAX_CONTEXT)
        return read_pattern(
            self.pattern, literal=self.literal, ignore_case=self.ignore_case, multiline=self.multiline,
            whole_words=self.whole_words,
        )  # fmt: skip

    def listing(self) -> ListOptions:
        """Return the listing options that select the files to search."""
        return ListOptions(
            recursive=True, include_hidden=self.all, use_gitignore=not self.all,
            default_excludes=() if self.all else self.default_excludes, details=False,
        )  # fmt: skip

    def fingerprint(self, path: str) -> str:
        """Return a short text that is the same for all pages of one search and differs for other searches."""
        facts = (
            self.pattern, self.glob, self.output_mode, self.ignore_case, self.literal, self.multiline,
            self.whole_words, self.only_matching, self.listing().fingerprint(path),
        )  # fmt: skip
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
