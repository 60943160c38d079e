"""Client input: paths in URLs, which are percent-decoded exactly once, and edits and operations as JSON, within limits."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal
from urllib.parse import quote, unquote_to_bytes

from fastapi import Depends, Path
from pydantic import Field

from filetools.content.editing.edits import Edit
from filetools.errors import InvalidPathError
from filetools.facade.transactions.transaction import Transaction
from filetools.servers.mcp.resources import SAFE
from filetools.tools.arguments import Parameters
from filetools.tools.handlers.changing import DeleteFile, FromTo, UndoChanges, WriteFile
from filetools.tools.handlers.reading import OnePath

FILES: Final = "/v1/files/"
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HIDDEN_SEPARATOR: Final = re.compile(r"%(?:2f|5c|00)|\\", re.IGNORECASE)
_ESCAPED_TWICE: Final = re.compile(r"%(?:2f|5c|00|25)|(?:^|/)(?:%2e|\.){2}(?:/|$)", re.IGNORECASE)


def decoded_path(path: Annotated[str, Path(description="Path in the workspace; slashes stay as they are.")]) -> str:
    """Return the workspace path for a part of a URL.

    Args:
        path: The percent-encoded path as sent, against which routes are matched.

    Raises:
        InvalidPathError: It hides a separator or a NUL, is encoded twice, is malformed or not UTF-8.
    """
    if _ESCAPE.search(path):
        raise InvalidPathError(path, "a percent sign is not followed by two hexadecimal digits")
    try:
        decoded = unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InvalidPathError(path, "not UTF-8") from exc
    if _HIDDEN_SEPARATOR.search(path):
        raise InvalidPathError(decoded, "it contains an encoded separator or NUL")
    if "%" in decoded and _ESCAPED_TWICE.search(decoded):
        raise InvalidPathError(decoded, "it is percent-encoded twice")
    return decoded


def file_location(path: str) -> str:
    """Return the path of a URL that names a file."""
    return FILES + quote(path, safe=SAFE)


FilePath = Annotated[str, Depends(decoded_path)]
"""A route parameter: the workspace path in its URL."""


MOST_OPERATIONS: Final = 1000
LONGEST_NUMBER: Final = 2**53 - 1
"""Largest integer that every JSON reader represents exactly."""


class SentEdit(Parameters):
    """One replacement of exact text."""

    old: str
    """The text to replace, exactly as in the file; LF matches any line end."""
    new: str
    count: int = Field(default=1, ge=1, le=LONGEST_NUMBER)
    """The required number of matches."""
    replace_all: bool = False

    def edit(self) -> Edit:
        """Return the facade's `Edit`."""
        return Edit(old=self.old, new=self.new, count=self.count, replace_all=self.replace_all)


class EditList(Parameters):
    """Replacements in one file, applied in their order, all or nothing."""

    edits: list[SentEdit] = Field(min_length=1, max_length=MOST_OPERATIONS)
    dry_run: bool = False


class WriteOperation(WriteFile):
    """Create or replace a file with a text."""

    op: Literal["write"]
    encoding: str | None = Field(default=None, max_length=40)
    """Codec for the text, or "base64" for bytes."""


class EditOperation(Parameters):
    """Replace exact texts in a file."""

    op: Literal["edit"]
    path: str
    edits: list[SentEdit] = Field(min_length=1, max_length=MOST_OPERATIONS)
    expected_version: str | None = None


class DeleteOperation(DeleteFile):
    """Delete a file, or a folder."""

    op: Literal["delete"]
    expected_version: str | None = None


class MoveOperation(FromTo):
    """Move a file or a folder."""

    op: Literal["move"]


class CopyOperation(FromTo):
    """Copy a file."""

    op: Literal["copy"]


class FolderOperation(OnePath):
    """Create a folder and its missing parents."""

    op: Literal["create_directory"]


class PatchOperation(Parameters):
    """Apply a patch over any number of files."""

    op: Literal["patch"]
    patch: str


Operation = Annotated[
    WriteOperation | EditOperation | DeleteOperation | MoveOperation | CopyOperation | FolderOperation | PatchOperation,
    Field(discriminator="op"),
]


async def perform(given: Operation, files: Transaction) -> None:
    """Apply an operation within a transaction."""
    match given:
        case WriteOperation():
            version = given.expected_version
            await files.write_file(given.path, given.content, encoding=given.encoding, expected_version=version)
        case EditOperation():
            edits = [each.edit() for each in given.edits]
            await files.edit_file(given.path, edits, expected_version=given.expected_version)
        case DeleteOperation(recursive=True):
            await files.delete_directory(given.path, recursive=True)
        case DeleteOperation():
            await files.delete_file(given.path, expected_version=given.expected_version)
        case MoveOperation():
            await files.move_file(given.source, given.destination, overwrite=given.overwrite)
        case CopyOperation():
            await files.copy_file(given.source, given.destination, overwrite=given.overwrite)
        case FolderOperation():
            await files.create_directory(given.path)
        case PatchOperation():
            await files.apply_patch(given.patch)


class OperationList(Parameters):
    """Operations that are applied together, in their order, or not at all."""

    operations: list[Operation] = Field(min_length=1, max_length=MOST_OPERATIONS)


class UndoOrder(UndoChanges):
    """Selects the changes to undo; without fields, the caller's last change."""

    since: int | None = Field(default=None, ge=0, le=LONGEST_NUMBER)
    """Undo from this change number on."""
    run: str | None = Field(default=None, max_length=120)
    """ID of an agent's run."""
    session: str | None = Field(default=None, max_length=120)
    """The newest run of this session."""
    partial: bool = False
    """True to undo what can be undone, and list the rest."""
