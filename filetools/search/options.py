"""Options of a listing, and cursors: opaque, URL-safe texts with which a caller requests the next page."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from filetools.errors import InvalidArgumentError, require_within
from filetools.paths.patterns import ExcludeRules, compile_patterns
from filetools.settings import DEFAULT_EXCLUDES

MAX_LIMIT: Final = 1_000


class ListOptions(Struct, frozen=True, kw_only=True):
    """Options of a listing. Immutable; all pages of one listing use the same options, except `limit` and `details`."""

    recursive: bool = False
    limit: int = MAX_LIMIT
    """Maximum number of entries per page, 1 to 1000."""
    include_hidden: bool = True
    """True to list names that begin with a dot."""
    exclude: tuple[str, ...] = ()
    """Patterns of the caller, see `compile_patterns`."""
    default_excludes: tuple[str, ...] = DEFAULT_EXCLUDES
    """Patterns of the settings; they apply to recursive listings only."""
    use_gitignore: bool = False
    max_depth: int = 64
    """Levels of a recursive listing, from 1; the folder's own entries are level 1."""
    details: bool = True
    """True to look up size and time."""

    def rules(self) -> ExcludeRules:
        """Return the patterns that apply.

        Raises:
            InvalidArgumentError: A pattern is invalid, or a number is out of range.
        """
        limit: object = self.limit
        if not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            raise InvalidArgumentError(f"limit must be 1 to {MAX_LIMIT}, not {self.limit!r}")
        require_within("max_depth", self.max_depth, 1)
        return compile_patterns(self.exclude, defaults=self.default_excludes if self.recursive else ())

    def fingerprint(self, path: str, pattern: str = "") -> str:
        """Return a short text that is the same for all pages of one listing and differs for other listings.

        Args:
            path: The folder listed.
            pattern: The pattern, in a search.
        """
        depth = self.max_depth if self.recursive else 1
        facts = (path, pattern, self.recursive, self.include_hidden, self.rules().patterns, self.use_gitignore, depth)
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


CursorValue = str | int | bool

_CHECKSUM_BYTES: Final = 6
_MAX_CURSOR_CHARS: Final = 65_536


def encode_cursor(fields: Mapping[str, CursorValue]) -> str:
    """Return a cursor holding `fields`; equal fields give equal cursors.

    A cursor is neither secret nor signed; its values are validated like any argument of a caller.
    """
    text = json.dumps(dict(fields), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # Names on disk that are not UTF-8 contain surrogates; JSON's own escapes would join two of them into one character.
    body = text.encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(_checksum(body) + body).rstrip(b"=").decode("ascii")


def decode_cursor(
    text: str, kinds: Mapping[str, type] | None = None, *, of: CursorValue | None = None
) -> dict[str, CursorValue]:
    """Return the fields of a cursor made by `encode_cursor`.

    Args:
        text: The cursor.
        kinds: The required fields and their types.
        of: The required value of its field "of"; None for any.

    Raises:
        InvalidArgumentError: The text is not such a cursor, or was truncated or changed in transit.
    """
    fields = _parse(text)
    if fields is None:
        raise InvalidArgumentError(
            "bad cursor", suggested_action="Pass next_cursor unchanged, or leave it out to start again."
        )
    is_complete = all(isinstance(fields.get(name), kind) for name, kind in (kinds or {}).items())
    if not is_complete or (of is not None and fields.get("of") != of):
        raise InvalidArgumentError(
            "The cursor belongs to a listing or search of another path or with other options",
            suggested_action="Pass next_cursor with the arguments of the first page, or leave it out to start again.",
        )
    return fields


def _parse(text: str) -> dict[str, CursorValue] | None:
    if len(text) > _MAX_CURSOR_CHARS:
        return None
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        fields = json.loads(raw[_CHECKSUM_BYTES:].decode("utf-8", "surrogatepass"))
    # Deep nesting raises RecursionError.
    except (binascii.Error, ValueError, RecursionError):
        return None
    is_flat = isinstance(fields, dict) and all(isinstance(value, str | int) for value in fields.values())
    # The base64 decoder ignores foreign characters and spare bits; accept only the exact text, with the checksum, that we
    # produce.
    return fields if is_flat and encode_cursor(fields) == text else None


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECKSUM_BYTES]
