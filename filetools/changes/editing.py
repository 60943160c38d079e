"""Decisions about parts of a text: edits and inserted lines. Bytes outside of them stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec.structs import replace

from filetools.changes.decision import EditReport, PutDecision
from filetools.content.differences.diff import patch_of_edits, structured_patch
from filetools.content.editing.edits import BytesOutcome
from filetools.content.facts import describe
from filetools.content.formats import TextFormat, encode
from filetools.content.version import version_of
from filetools.errors import InvalidArgumentError
from filetools.paths.workspace_path import WorkspacePath

CONTEXT_LINES: Final = 3
ChangeBytes: TypeAlias = Callable[[bytes, TextFormat], BytesOutcome]


def changed_text(
    path: WorkspacePath,
    content: bytes,
    text_format: TextFormat | None,
    change: ChangeBytes,
    *,
    context_lines: int = CONTEXT_LINES,
) -> PutDecision:
    """Return what a change makes of a file's bytes.

    Args:
        path: The file.
        content: Its bytes; b"" for a new file.
        text_format: How they are text, as the actor reads them; None if they are not.
        change: The change.
        context_lines: Unchanged lines around each change in the hunks.

    Raises:
        InvalidArgumentError: The file is not text.
        FileToolsError: The change does not fit it.
    """
    if text_format is None:
        raise InvalidArgumentError(f"{path} is binary; it can only be replaced as a whole", path=path)
    made = change(content, text_format)
    text, edits = made.outcome.text, made.outcome.spans
    after, version = made.text_format or text_format, version_of(made.content)
    hunks = tuple(hunk.to_dict() for hunk in patch_of_edits(made.before, text, edits, context_lines))
    return PutDecision(
        content=made.content,
        facts=describe(made.content, text, after, name=path, version=version),
        edits=edits,
        report=EditReport(
            text=text,
            hunks=hunks,
            counts=made.outcome.counts,
            repairs=made.outcome.repairs,
            context_lines=context_lines,
        ),
    )


def with_text(
    decision: PutDecision, path: WorkspacePath, text: str, text_format: TextFormat, before: str
) -> PutDecision:
    """Return a decision for another text than it was made for, such as one that a person gave.

    Args:
        decision: The decision.
        path: The file.
        text: The new text.
        text_format: How it is stored.
        before: The current text.

    Raises:
        EncodingError: The encoding lacks a character.
    """
    content = encode(text, text_format, path=path)
    report = decision.report
    if report is not None:
        hunks = tuple(hunk.to_dict() for hunk in structured_patch(before, text, report.context_lines))
        report = replace(report, text=text, hunks=hunks, counts=())
    return replace(
        decision,
        content=content,
        facts=describe(content, text, text_format, name=path, version=version_of(content)),
        added_bytes=None,
        newline=None,
        is_merged=None,
        edits=None,
        report=report,
        document=None,
        in_buffer=False,
        shown=None,
        kept_unsaved=None,
        warnings=(),
    )
