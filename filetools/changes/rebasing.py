"""A whole text whose base is not what the file holds by now: merged three ways, or refused with both sides."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from filetools.changes.knowledge import LARGEST_DIFF, bytes_now, now_or_kept, read_as
from filetools.changes.operations import Seen, SeenPath
from filetools.content.differences.diff import PatchHunk, unified_diff
from filetools.content.differences.merging import MergeResult, merge_bytes
from filetools.content.facts import ContentFacts
from filetools.content.formats import decode
from filetools.errors import EditConflictError, PathExistsError, VersionMismatchError
from filetools.settings import Settings

CHANGED: Final = "others changed it since this transaction first did"


class MergedText(Struct, frozen=True, kw_only=True):
    """A proposed text on top of what the file holds now."""

    content: bytes
    foreign: tuple[PatchHunk, ...]
    """What the writer did not send."""


def merged_text(
    path: str,
    *,
    base: bytes,
    base_facts: ContentFacts,
    current: bytes,
    facts: ContentFacts,
    proposed: str,
    by_words: bool,
) -> MergedText:
    """Merge a proposed text into the current file.

    Args:
        path: Workspace-relative path.
        base: Bytes of the text that the writer knew.
        base_facts: Facts of `base`.
        current: Bytes of the file.
        facts: Facts of `current`.
        proposed: The text that the writer wants.
        by_words: Whether the file is prose, so that a line that both changed may be merged by words.

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
    return MergedText(content=merged.content, foreign=merged.result.foreign)


def on_top(
    seen: Seen,
    before: SeenPath,
    now: SeenPath,
    content: bytes,
    *,
    encoding: str | None,
    is_strict: bool,
    settings: Settings,
) -> MergedText:
    """Return a transaction's text on top of what others have written.

    Args:
        seen: With the bytes of the file as it is and as it was.
        before: What the transaction has changed.
        now: What others have made of it.
        content: The transaction's text.
        encoding: Codec that the actor named.
        is_strict: Whether the caller named the version, so that nothing may be merged.
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
    base = now_or_kept(seen, before, before.version)
    if base is None:
        reason = "the text that this transaction changed is no longer kept, so it cannot be merged"
        raise VersionMismatchError(path, before.version, now.version, reason=reason)
    current, facts = bytes_now(seen, now), read_as(content, encoding, name=path)[0]
    if facts.text_format is None:
        raise unmergeable(path, before.version, now.version, reason="it is binary and cannot be merged")
    return merged_text(
        path,
        base=base,
        base_facts=read_as(base, encoding, name=path)[0],
        current=current,
        facts=read_as(current, encoding, name=path)[0],
        proposed=decode(content, facts.text_format, path=path),
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
