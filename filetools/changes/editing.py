"""Decisions about parts of a text: edits, inserted lines, computed replacements. Bytes outside of them stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.knowledge import (
    Knowledge,
    base_bytes,
    bytes_now,
    facts_now,
    file_or_nothing,
    require_read,
    require_version,
)
from filetools.changes.writing import put_operations
from filetools.content.diff import PatchHunk, patch_of_edits
from filetools.content.edits import (
    BytesOutcome,
    Edit,
    EditOutcome,
    apply_edits_to_bytes,
    insert_lines_in_bytes,
    spliced,
)
from filetools.content.facts import ContentFacts, describe, text_of
from filetools.content.formats import TextFormat, decode
from filetools.content.text_edits import TextEdit, apply_text_edits
from filetools.content.version import version_of
from filetools.errors import InvalidArgumentError, PathNotFoundError
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Decided, Seen, SeenPath

CONTEXT_LINES: Final = 3
ChangeBytes: TypeAlias = Callable[[bytes, TextFormat], BytesOutcome]
ComputeEdits: TypeAlias = Callable[[str, str | None], Sequence[TextEdit]]
"""Gets the text of the file, and the one that its actor knows if others have changed it since; returns replacements in order,
not overlapping."""


class EditAnswer(Struct, frozen=True, kw_only=True):
    """What a change to a part of a text did."""

    path: WorkspacePath
    content: bytes
    text: str
    facts: ContentFacts
    before: SeenPath
    """What was at the path."""
    unchanged: bool
    counts: tuple[int, ...]
    """How many matches each edit replaced."""
    hunks: tuple[PatchHunk, ...]
    edits: tuple[TextEdit, ...]
    """What made the file's text this one, in order."""
    repairs: tuple[str, ...] = ()
    """Where a text was not there as it was sent and was taken for what it means: a sentence each."""


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


def decide_computed(
    seen: Seen,
    *,
    path: WorkspacePath,
    compute: ComputeEdits,
    knowledge: Knowledge,
    settings: Settings,
    needs_read: bool = False,
) -> Decided:
    """Replace the parts of a file's text that a function picks. Otherwise as `decide_edit`.

    Args:
        seen: With the bytes of the file, and of the actor's base.
        path: The file.
        compute: Picks the replacements; it may be called again, and what it raises ends the call.
        knowledge: What the actor knows of the file.
        settings: As in `decide_edit`.
        needs_read: Refuse unless the actor has read or written all of the file.
    """
    now = file_or_nothing(seen, path, settings)
    if needs_read:
        require_read(seen, now, knowledge, expected=None, needs_version=False, needs_read=True)
    known = None
    if knowledge.newest is not None and knowledge.is_outdated(now.version):
        known = text_of(base_bytes(seen, now, knowledge.newest.base), name=path)
    change = partial(computed, compute=compute, known=known, path=path)
    return _decided(seen, existing_file(seen, path, settings), change, knowledge, settings)


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
        before=now,
        unchanged=version == now.version,
        counts=made.outcome.counts,
        hunks=tuple(patch_of_edits(made.before, text, edits, context_lines)),
        edits=edits,
        repairs=made.outcome.repairs,
    )


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


def computed(
    content: bytes, text_format: TextFormat, *, compute: ComputeEdits, known: str | None, path: WorkspacePath
) -> BytesOutcome:
    """Return what the replacements that a function picks make of a file's bytes; as `decide_computed`."""
    text = decode(content, text_format, path=path)
    spans = tuple(compute(text, known))
    outcome = EditOutcome(text=apply_text_edits(text, spans), spans=spans, counts=(len(spans),))
    return spliced(content, text, text_format, outcome, path=path)
