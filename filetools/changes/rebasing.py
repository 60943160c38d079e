"""Three-way merge of a whole text whose base is older than the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.changes.knowledge import LARGEST_DIFF, SeenPath, bytes_now, now_or_kept, read_as
from filetools.content.differences.diff import unified_diff
from filetools.content.differences.merging import MergeResult, merge_bytes
from filetools.content.facts import ContentFacts, inspect
from filetools.content.formats import decode
from filetools.errors import EditConflictError, PathExistsError, VersionMismatchError
from filetools.settings import Settings

CHANGED: Final = "others changed it since this transaction first did"


def merged_into(
    plain: PutDecision,
    path: str,
    *,
    base: bytes,
    base_facts: ContentFacts,
    current: bytes,
    facts: ContentFacts,
    proposed: str,
    by_words: bool,
) -> PutDecision:
    """Merge a proposed text into the current file.

    Args:
        plain: What would be decided without others' changes.
        path: Workspace-relative path.
        base: Bytes of the text that the writer knew.
        base_facts: Facts of `base`.
        current: Bytes of the file.
        facts: Facts of `current`.
        proposed: The text that the writer wants.
        by_words: True if the file is prose, so that a line that both changed may be merged by words.

    Raises:
        EditConflictError: The changes overlap, or there is no text to merge; both sides are in the details.
        EncodingError: The file's encoding lacks a character of the proposal.
    """
    text_format, base_version = facts.text_format, base_facts.version
    if text_format is None or base_facts.text_format is None:
        raise unmergeable(path, base_version, facts.version, reason="it is binary and cannot be merged")
    base_text = decode(base, base_facts.text_format, path=path)
    merged = merge_bytes(base_text, current, proposed, text_format=text_format, path=path, by_words=by_words)
    if merged.content is None:
        text = decode(current, text_format, path=path)
        raise overlapping(path, base_version, facts.version, merged.result, text, base_text)
    made = inspect(merged.content, name=path)[0]
    return replace(
        plain,
        content=merged.content,
        text=None,
        facts=made,
        is_merged=made.version != plain.sent_version,
        foreign=tuple(dict(hunk.to_dict()) for hunk in merged.result.foreign),
        newline=None,
    )


def on_top(
    plain: PutDecision,
    before: SeenPath,
    now: SeenPath,
    *,
    kept: Callable[[str], bytes | None],
    is_strict: bool,
    settings: Settings,
) -> PutDecision:
    """Return a transaction's text on top of what others have written.

    Args:
        plain: The text.
        before: What the transaction has changed.
        now: What others have made of it.
        kept: Reads the bytes of a version; None if they are not kept.
        is_strict: True if the caller named the version, so that nothing may be merged.
        settings: Which files are prose.

    Raises:
        EditConflictError: Changes of others overlap with the text, or there is no text to merge.
        VersionMismatchError: The text must not be merged, or what it changed is not kept any more.
        PathExistsError: Others made a file where there was none.
    """
    path = now.path
    if before.kind is None:
        raise PathExistsError(path)
    if is_strict:
        raise VersionMismatchError(path, before.version, now.version, reason=CHANGED)
    if now.kind != "file":
        raise unmergeable(path, before.version, None, reason="it is no longer there")
    base = now_or_kept(before, before.version, kept)
    if base is None:
        reason = "the text that this transaction changed is no longer kept, so it cannot be merged"
        raise VersionMismatchError(path, before.version, now.version, reason=reason)
    current, proposed = bytes_now(now), plain.text_for(path)
    if proposed is None:
        raise unmergeable(path, before.version, now.version, reason="it is binary and cannot be merged")
    return merged_into(
        plain,
        path,
        base=base,
        base_facts=read_as(base, plain.encoding, name=path)[0],
        current=current,
        facts=read_as(current, plain.encoding, name=path)[0],
        proposed=proposed,
        by_words=settings.is_prose(path),
    )


def unmergeable(path: str, base_version: str | None, current_version: str | None, *, reason: str) -> EditConflictError:
    """Return the error for a write that cannot be merged at all."""
    details = {"base_version": base_version, "current_version": current_version, "conflicts": list[str]()}
    if current_version is None:
        return EditConflictError(
            f"{path} was deleted since the version that your text is based on; nothing was written",
            path=path,
            suggested_action="Read it first, then repeat the call without a version to make the file again.",
            details=details,
        )
    message = f"{path} is no longer at the version that your text is based on, and {reason}"
    return EditConflictError(message, path=path, details=details)


def overlapping(
    path: str, base_version: str, current_version: str | None, merged: MergeResult, current_text: str, base_text: str
) -> EditConflictError:
    """Return the error for a change that overlaps with others', with both sides of every place."""
    conflicts = [one.to_dict() for one in merged.conflicts]
    lines = ", ".join(str(one["line"]) for one in conflicts[:5])
    return EditConflictError(
        f"{path} was changed in the same place (line {lines}) since the version that your text is based on;"
        " nothing was written",
        path=path,
        details={
            "base_version": base_version,
            "current_version": current_version,
            "conflicts": conflicts,
            "diff": unified_diff(base_text, current_text, f"a/{path}", f"b/{path}")[:LARGEST_DIFF],
        },
    )
