"""Decisions about parts of a text: edits and inserted lines. Bytes outside of them stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from filetools.changes.knowledge import (
    file_or_nothing,
)
from filetools.changes.operations import Seen, SeenPath
from filetools.content.differences.diff import PatchHunk, patch_of_edits
from filetools.content.editing.edits import (
    BytesOutcome,
)
from filetools.content.editing.text_edits import TextEdit
from filetools.content.facts import ContentFacts, describe
from filetools.content.formats import TextFormat
from filetools.content.version import version_of
from filetools.errors import InvalidArgumentError, PathNotFoundError
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings

CONTEXT_LINES: Final = 3
ChangeBytes: TypeAlias = Callable[[bytes, TextFormat], BytesOutcome]


class EditAnswer(Struct, frozen=True, kw_only=True):
    """What a change to a part of a text did."""

    path: WorkspacePath
    content: bytes
    text: str
    facts: ContentFacts
    counts: tuple[int, ...]
    """How many matches each edit replaced."""
    hunks: tuple[PatchHunk, ...]
    edits: tuple[TextEdit, ...]
    """What made the file's text this one, in order."""
    repairs: tuple[str, ...] = ()
    """Where a text was not there as it was sent and was taken for what it means: a sentence each."""


def existing_file(seen: Seen, path: WorkspacePath, settings: Settings) -> SeenPath:
    """Return the file at a path.

    Raises:
        PathNotFoundError: Nothing is there.
        PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError, FileTooLargeError
    """
    now = file_or_nothing(seen, path, settings)
    if now.kind is None:
        raise PathNotFoundError(path)
    return now


def changed_text(
    now: SeenPath,
    content: bytes,
    text_format: TextFormat | None,
    change: ChangeBytes,
    *,
    context_lines: int = CONTEXT_LINES,
) -> EditAnswer:
    """Return what a change makes of a file's bytes.

    Args:
        now: The file.
        content: Its bytes; b"" for a new file.
        text_format: How they are text, as the actor reads them; None if they are not.
        change: The change.
        context_lines: Unchanged lines around each change in the hunks.

    Raises:
        InvalidArgumentError: The file is not text.
        FileToolsError: The change does not fit it.
    """
    path = now.path
    if text_format is None:
        raise InvalidArgumentError(f"{path} is binary; it can only be replaced as a whole", path=path)
    made = change(content, text_format)
    text, edits = made.outcome.text, made.outcome.spans
    after, version = made.text_format or text_format, version_of(made.content)
    return EditAnswer(
        path=path,
        content=made.content,
        text=text,
        facts=describe(made.content, text, after, name=path, version=version),
        counts=made.outcome.counts,
        hunks=tuple(patch_of_edits(made.before, text, edits, context_lines)),
        edits=edits,
        repairs=made.outcome.repairs,
    )
