"""Decisions about parts of a text: edits and inserted lines. Bytes outside of them stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from filetools.changes.knowledge import (
    file_or_nothing,
)
from filetools.changes.operations import Seen, SeenPath
from filetools.content.diff import PatchHunk, structured_patch
from filetools.content.edits import (
    BytesOutcome,
)
from filetools.content.facts import ContentFacts, describe
from filetools.content.formats import TextFormat
from filetools.content.text_edits import TextEdit
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


<<<<<<< HEAD
=======
def decide_edit(
    seen: Seen,
    *,
    path: WorkspacePath,
    edits: Sequence[Edit],
    knowledge: Knowledge,
    settings: Settings,
    expected_version: str | None = None,
    context_lines: int = CONTEXT_LINES,
) -> Decided:
    """Replace exact texts in a file, all or nothing.

    Args:
        seen: With the bytes of the file.
        path: The file.
        edits: Applied in order to what the file holds.
        knowledge: What the actor knows of the file.
        settings: What happens to files with several names, and limits.
        expected_version: Refuse unless the file is at this version.
        context_lines: Unchanged lines around each change in the hunks of the answer.

    Returns:
        The operations, and an `EditAnswer`.

    Raises:
        EditNotFoundError, EditAmbiguousError: The text to be replaced is missing, or is there too often.
        PathNotFoundError, VersionMismatchError, EncodingError, InvalidArgumentError, PathIsDirectoryError,
        SymlinkNotAllowedError, NotRegularFileError, FileTooLargeError, HardLinkedError
    """
    if context_lines < 0:
        raise InvalidArgumentError(f"context_lines must be at least 0, not {context_lines}")
    change = partial(apply_edits_to_bytes, edits=edits, path=path)
    now = existing_file(seen, path, settings)
    require_version(seen, now, knowledge, expected_version)
    return _decided(seen, now, change, knowledge, settings, context_lines)


def decide_insert(
    seen: Seen,
    *,
    path: WorkspacePath,
    line: int,
    text: str,
    knowledge: Knowledge,
    settings: Settings,
    expected_version: str | None = None,
) -> Decided:
    """Insert text after a line; 0 is before the first. Otherwise as `decide_edit`."""
    change = partial(insert_lines_in_bytes, line=line, new_text=text, path=path)
    now = existing_file(seen, path, settings)
    require_version(seen, now, knowledge, expected_version)
    return _decided(seen, now, change, knowledge, settings)


>>>>>>> main
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
        hunks=tuple(structured_patch(made.before, text, context_lines)),
        edits=edits,
        repairs=made.outcome.repairs,
    )


<<<<<<< HEAD
def computed(
    content: bytes, text_format: TextFormat, *, compute: ComputeEdits, known: str | None, path: WorkspacePath
) -> BytesOutcome:
    """Return what the replacements that a function picks make of a file's bytes; as `decide_computed`."""
    text = decode(content, text_format, path=path)
    spans = tuple(compute(text, known))
    outcome = EditOutcome(text=apply_text_edits(text, spans), spans=spans, counts=(len(spans),))
    return spliced(content, text, text_format, outcome, path=path)
=======
def _decided(
    seen: Seen,
    now: SeenPath,
    change: ChangeBytes,
    knowledge: Knowledge,
    settings: Settings,
    context_lines: int = CONTEXT_LINES,
) -> Decided:
    facts = facts_now(seen, now, knowledge)
    answer = changed_text(now, bytes_now(seen, now), facts.text_format, change, context_lines=context_lines)
    operations = put_operations(seen, now, answer.content, answer.facts.version, settings)
    return Decided(operations=operations, answer=replace(answer, unchanged=not operations))
>>>>>>> main
