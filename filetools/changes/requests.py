"""Frozen records of options that are passed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from filetools.content.editing.edits import Edit
from filetools.errors import InvalidArgumentError, require_choice

OnLocked = Literal["flag", "wait", "error"]
View = Literal["auto", "disk"]
MOST_FILES: Final = 1000
"""Maximum number of files in one call."""
_WHOLE: Final = (None,) * 8
"""Limits, encoding and version of a request for a whole file."""


class ReadRequest(Struct, frozen=True, kw_only=True):
    """Which part of a file to read, and how."""

    offset: int | None = None
    """First line from 1, or from the end: -1 is the last."""
    limit: int | None = None
    """Maximum number of lines."""
    column: int | None = None
    """First character of the first line, from 1."""
    max_characters: int | None = None
    """Maximum number of characters; cut at a line end unless the first line alone has more."""
    byte_offset: int | None = None
    """First byte, from 0."""
    byte_count: int | None = None
    """Maximum number of bytes."""
    encoding: str | None = None
    """Codec to decode the text with; None detects it."""
    version: str | None = None
    """Read this kept version instead of the file on disk."""
    page: bool = False
    """Read at most what a model gets at once: the settings `max_text_lines` and `max_text_characters`."""
    on_locked: OnLocked = "flag"
    view: View = "auto"
    """"auto" returns unsaved text if there is one; "disk" the file's text."""

    def __post_init__(self) -> None:
        if self.is_lines and self.is_bytes:
            raise InvalidArgumentError("Give offset and limit (lines) or byte_offset and byte_count, not both")
        require_choice("on_locked", self.on_locked, ("flag", "wait", "error"))
        require_choice("view", self.view, ("auto", "disk"))

    @property
    def is_lines(self) -> bool:
        """True for a range of lines."""
        # A tuple comparison, because a generator would be slower and every read does this.
        return (self.offset, self.limit, self.column, self.max_characters) != (None, None, None, None)

    @property
    def is_bytes(self) -> bool:
        """True for a range of bytes."""
        return self.byte_offset is not None or self.byte_count is not None

    @property
    def is_whole(self) -> bool:
        """True for the whole file on disk, in the detected encoding."""
        limits = (self.offset, self.limit, self.column, self.max_characters, self.byte_offset, self.byte_count)
        return (*limits, self.encoding, self.version) == _WHOLE


def refuse_many(items: Sequence[object]) -> None:
    """Refuse a call with too many files.

    Raises:
        InvalidArgumentError: There are more than 1,000.
    """
    if len(items) > MOST_FILES:
        raise InvalidArgumentError(f"At most {MOST_FILES} files in one call, not {len(items)}")


def chosen_edits(
    edits: Sequence[Edit] | None, old: str | None, new: str | None, *, replace_all: bool
) -> Sequence[Edit]:
    """Return the edits of a call: the given list, or one edit made of `old` and `new`.

    Raises:
        InvalidArgumentError: Both or neither are given, or they have the wrong type.
    """
    if edits is None:
        if not isinstance(old, str) or not isinstance(new, str):
            raise InvalidArgumentError(
                f"Give edits, or the texts old and new, not old={type(old).__name__}, new={type(new).__name__}"
            )
        return [Edit(old=old, new=new, replace_all=replace_all)]
    if old is not None or new is not None or replace_all:
        raise InvalidArgumentError("Give either edits, or old and new; replace_all belongs into the edits")
    given: object = edits
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(each, Edit) for each in given):
        raise InvalidArgumentError("edits must be a list of filetools.Edit")
    return edits
