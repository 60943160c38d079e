"""What becomes of a whole-file write whose base is not what stands there: merged, or refused with both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from filetools.content import BytesMerge, ContentFacts, TextFormat, decode, merge_bytes, unified_diff
from filetools.content import inspect as inspect_content
from filetools.errors import EditConflictError

LARGEST_DIFF_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased:
    """A proposal on top of what stands there now."""

    content: bytes
    foreign: tuple[dict[str, Any], ...]
    """Hunks that the writer did not send."""


def rebase(path: str, *, base: bytes, base_version: str, current: bytes, facts: ContentFacts, proposed: str) -> Rebased:
    """Merge a proposed text into the current file; base is the text that its writer knew.

    Args:
        path: Workspace-relative path.
        base: Bytes of the text that the writer knew.
        base_version: Its version.
        current: Bytes that stand there.
        facts: Facts of `current`.
        proposed: The text that the writer wants.

    Raises:
        EditConflictError: The changes overlap, or there is no text to merge; both sides are in the details.
        EncodingError: The file's encoding lacks a character of the proposal.
    """
    text_format = facts.text_format
    base_text = inspect_content(base, name=path)[1]
    if text_format is None or base_text is None:
        raise conflict_error(path, base_version, facts.version, reason="it is binary and cannot be merged")
    merged = merge_bytes(base_text, current, proposed, text_format=text_format, path=path)
    if merged.content is None:
        raise _overlap(path, base_version, facts.version, merged, text_format, current, base_text)
    foreign = tuple(dict(hunk.to_dict()) for hunk in merged.result.foreign)
    return Rebased(content=merged.content, foreign=foreign)


def conflict_error(
    path: str, base_version: str | None, current_version: str | None, *, reason: str
) -> EditConflictError:
    """Return the error for a write that cannot be merged at all."""
    return EditConflictError(
        f"{path} has changed since you read it, and {reason}",
        path=path,
        details={"base_version": base_version, "current_version": current_version, "conflicts": []},
    )


def _overlap(
    path: str,
    base_version: str,
    current_version: str,
    merged: BytesMerge,
    text_format: TextFormat,
    current: bytes,
    base_text: str,
) -> EditConflictError:
    conflicts = [
        {"base": one.base, "ours": one.ours, "theirs": one.theirs, "line": one.line} for one in merged.result.conflicts
    ]
    current_text = decode(current, text_format, path=path)
    diff = unified_diff(base_text, current_text, f"a/{path}", f"b/{path}")[:LARGEST_DIFF_CHARACTERS]
    lines = ", ".join(str(one["line"]) for one in conflicts[:5])
    return EditConflictError(
        f"{path} was changed by somebody else in the same place (line {lines}); nothing was written",
        path=path,
        details={
            "base_version": base_version,
            "current_version": current_version,
            "conflicts": conflicts,
            "diff": diff,
        },
    )
