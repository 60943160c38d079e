"""Three-way merge of a whole text whose base is older than the file."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.changes.knowledge import BASE_GONE, LARGEST_DIFF, KnownPath, facts_now, read_as
from filetools.changes.overlay import SeenPath
from filetools.content.differences.diff import unified_diff
from filetools.content.differences.merging import MergeResult, merge_bytes
from filetools.content.facts import inspect
from filetools.content.formats import decode
from filetools.errors import EditConflictError, PathExistsError, VersionMismatchError
from filetools.journal.seen_versions import SeenVersion
from filetools.settings import Settings

CHANGED: Final = "others changed it since this transaction first did"


def merged_into(
    plain: PutDecision, now: KnownPath, known: SeenVersion, proposed: str | None, settings: Settings
) -> PutDecision:
    """Merge a proposed text into the current file.

    Args:
        plain: What would be decided without others' changes.
        now: The file.
        known: The version that the text was made from.
        proposed: The text that the writer wants; None if it is binary.
        settings: Which files are prose, so that a line that both changed may be merged by words.

    Raises:
        EditConflictError: The changes overlap, or there is no text to merge; both sides are in the details.
        VersionMismatchError: The version that the text was made from is no longer kept.
        EncodingError: The file's encoding lacks a character of the proposal.
    """
    path, current = now.seen.path, now.seen.version
    if now.seen.stat is None:
        raise unmergeable(path, known.base, None)
    if proposed is None:
        raise unmergeable(path, known.base, current)
    base = now.bytes_of(known.base)
    if base is None:
        raise VersionMismatchError(path, known.base, current, reason=BASE_GONE)
    text_format = facts_now(now).text_format
    base_format = read_as(base, known.encoding, name=path)[0].text_format
    if text_format is None or base_format is None:
        raise unmergeable(path, known.base, current)
    base_text, content, by_words = decode(base, base_format, path=path), now.content(), settings.is_prose(path)
    merged = merge_bytes(base_text, content, proposed, text_format=text_format, path=path, by_words=by_words)
    if merged.content is None:
        text = decode(content, text_format, path=path)
        raise overlapping(path, known.base, current, merged.result, text, base_text)
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


def on_top(plain: PutDecision, before: SeenPath, now: KnownPath, *, is_strict: bool, settings: Settings) -> PutDecision:
    """Return a transaction's text on top of what others have written.

    Args:
        plain: The text.
        before: What the transaction has changed.
        now: What others have made of it.
        is_strict: True if the caller named the version, so that nothing may be merged.
        settings: Which files are prose.

    Raises:
        EditConflictError: Changes of others overlap with the text, or there is no text to merge.
        VersionMismatchError: The text must not be merged, or what it changed is not kept any more.
        PathExistsError: Others made a file where there was none.
    """
    path, version, content = now.seen.path, before.version or "", before.content
    if before.kind is None:
        raise PathExistsError(path)
    if is_strict:
        raise VersionMismatchError(path, version, now.seen.version, reason=CHANGED)
    known = SeenVersion(version=version, base=version, encoding=plain.encoding)
    kept = now.kept if content is None else lambda _version: content
    return merged_into(plain, replace(now, rows=(known,), kept=kept), known, plain.text_for(path), settings)


def unmergeable(
    path: str,
    base_version: str | None,
    current_version: str | None,
    *,
    reason: str = "it is binary and cannot be merged",
) -> EditConflictError:
    """Return the error for a write that cannot be merged at all; without a current version the file was deleted."""
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
