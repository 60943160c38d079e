"""What a decision about a path is based on, and what it results in: the bytes to put there, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.steps.look import Look
from filetools.content.differences.diff import unified_diff
from filetools.content.differences.merging import MergeResult
from filetools.content.editing.text_edits import TextEdit
from filetools.content.facts import ContentFacts, inspect
from filetools.content.formats import decode
from filetools.content.version import stat_version
from filetools.editors.documents import OpenText
from filetools.errors import (
    EditConflictError,
    EncodingError,
    FileTooLargeError,
    InvalidArgumentError,
    VersionMismatchError,
)
from filetools.journal.documents import DocumentChange
from filetools.journal.records import Relation
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor
from filetools.models.words import VERSION_PREFIX, Newline, OnConflict
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings

LARGEST_COMPARED: Final = 1024 * 1024
"""Texts with more bytes are refused without a diff."""
LARGEST_DIFF: Final = 20_000
"""Characters of a diff in an error."""
BASE_GONE: Final = "the version that you last saw is not stored any more, so your text cannot be merged"
_SHORT_VERSION: Final = re.compile(r"[0-9a-f]{12,64}")


class KnownPath(Struct, frozen=True, kw_only=True):
    """What was at a path when a call was decided, and what its actor knew of it."""

    seen: Look
    actor: Actor
    rows: Sequence[SeenVersion] = ()
    """Of the actor, the newest last; its base is the text that the actor works from."""
    unsaved: OpenText | None = None
    """Text of an editor that is not in the file; reads return it in place of the file's."""
    content: Callable[[], bytes]
    """Returns the bytes of the file."""
    had: Callable[[], Collection[str]] = lambda: ()
    """Returns the versions that the path is known to have had, to complete one that a call names."""
    kept: Callable[[str], bytes | None] = lambda _version: None
    """Reads the bytes of a version; None if they are not kept."""

    @property
    def standing(self) -> tuple[str | None, ...]:
        """The versions that are there: what a read returns first, the file's last."""
        return (self.seen.version,) if self.unsaved is None else (self.unsaved.version, self.seen.version)

    @property
    def newest(self) -> SeenVersion | None:
        """The newest version that the actor knows; None if it knows nothing of the path."""
        return self.rows[-1] if self.rows else None

    @property
    def encoding(self) -> str | None:
        """Codec that the actor named when it last read or wrote the file."""
        return self.rows[-1].encoding if self.rows else None

    def is_outdated(self, *versions: str | None) -> bool:
        """Return True if the actor knows the file, but none of these versions."""
        return self.newest is not None and self.newest.base not in versions

    def of_version(self, expected: str) -> SeenVersion | None:
        """Return what the actor knows by a version that it names, else the newest that it knows."""
        return next((row for row in reversed(self.rows) if is_version(row.version, expected)), self.newest)

    def named(self, expected: str) -> str | None:
        """Return the full form of a version that the actor names; None if the path is not known to have had it."""
        found = {row.version for row in self.rows if is_version(row.version, expected)}
        found = found or {version for version in self.had() if is_version(version, expected)}
        return found.pop() if len(found) == 1 else None

    def is_at(self, expected: str, version: str | None) -> bool:
        """Return True if a version is the one that the actor names.

        Args:
            expected: What the actor names.
            version: One of those that are there.

        Raises:
            InvalidArgumentError: The actor names something else.
        """
        stat = self.seen.stat
        is_stat = stat is not None and version == self.seen.version and expected == stat_version(stat.identity)
        return is_version(version, expected) or is_stat

    def bytes_of(self, version: str | None) -> bytes | None:
        """Return the bytes of a version, from the file if it is at that version; None if they are not kept."""
        if version is None:
            return None
        return self.content() if version == self.seen.version else self.kept(version)


def is_version(version: str | None, expected: str) -> bool:
    """Return True if a version is the one that a caller names, maybe by its first 12 or more hex digits.

    Raises:
        InvalidArgumentError: The caller names something else.
    """
    if expected.startswith("stat:"):  # of a file too large to be hashed
        return version == expected
    digits = expected.removeprefix(VERSION_PREFIX).lower()
    if not _SHORT_VERSION.fullmatch(digits):
        raise InvalidArgumentError(
            "expected_version must be a version that a read returned, or at least 12 hex digits of it, not"
            f" {expected!r}",
            suggested_action="Read the file, and pass the version that the read returns.",
        )
    return version is not None and version.startswith(VERSION_PREFIX + digits)


def require_version(now: KnownPath, expected: str | None) -> None:
    """Refuse unless a file is at the version that a caller expects; None expects nothing.

    Raises:
        VersionMismatchError: It is at another version.
        InvalidArgumentError: It is not a version.
    """
    if expected is not None and not now.is_at(expected, now.seen.version):
        raise stale_error(_on_disk(now), expected)


def refuse_changed(now: KnownPath) -> None:
    """Refuse to remove or replace what others have changed since the actor saw it.

    Raises:
        VersionMismatchError: Others have changed it.
    """
    if now.seen.stat is not None and now.is_outdated(*now.standing):
        raise stale_error(_on_disk(now), None, reason="somebody changed it since you saw it")


def _on_disk(now: KnownPath) -> KnownPath:
    """Return a path without its unsaved text: an error about the file must name the file's own version."""
    return replace(now, unsaved=None)


def stale_error(now: KnownPath, expected: str | None, *, reason: str | None = None) -> VersionMismatchError:
    """Return the refusal of a change to a file that is not at the version its actor names or knows, with the diff since."""
    version, current = None if now.newest is None else now.newest.base, now.standing[0]
    if expected is not None:
        version = now.named(expected)
        if version is None and reason is None and now.seen.stat is not None:
            reason = f"it is not known to have had the version {expected}; it is at {current}"
    return VersionMismatchError(now.seen.path, expected, current, reason=reason, diff=_diff_since(now, version))


def _diff_since(now: KnownPath, version: str | None) -> str | None:
    """Return what has changed since a version as a unified diff; None if there is none, or it cannot be made."""
    path, stat = now.seen.path, now.seen.stat
    before = None if stat is None or stat.size > LARGEST_COMPARED else now.bytes_of(version)
    if before is None:
        return None
    after = now.bytes_of(now.seen.version) if now.unsaved is None else now.unsaved.content
    if after is None or len(before) > LARGEST_COMPARED:
        return None
    old, new = (inspect(content, name=path)[1] for content in (before, after))
    if old is None or new is None:
        return None
    return unified_diff(old, new, f"a/{path}", f"b/{path}")[:LARGEST_DIFF] or None


def read_as(
    content: bytes, encoding: str | None, *, name: str, is_foreign: bool = False
) -> tuple[ContentFacts, str | None]:
    """Return the facts and the text of bytes in a named encoding; without it where they are not text of that encoding.

    Args:
        content: All bytes of the file.
        encoding: The codec; None finds out.
        name: Workspace-relative path.
        is_foreign: True if others have written them since the codec was named. Then a byte-order mark, or valid UTF-8,
            that gives another text shows that the file was converted.
    """
    found = inspect(content, name=name)
    if encoding is None:
        return found
    try:
        named = inspect(content, name=name, encoding=encoding)
    except EncodingError:
        return found
    is_certain = (form := found[0].text_format) is not None and (form.bom or form.encoding == "utf-8")
    return found if is_foreign and is_certain and found[1] != named[1] else named


def read_now(now: KnownPath) -> tuple[ContentFacts, str | None]:
    """Return the facts and the text of a file, in the encoding that the actor reads it in; the text is None if binary."""
    is_foreign = now.is_outdated(now.seen.version)
    return read_as(now.content(), now.encoding, name=now.seen.path, is_foreign=is_foreign)


def facts_now(now: KnownPath) -> ContentFacts:
    """Return the facts of a file as `read_now`, without reading it where they are known."""
    return now.seen.facts if now.seen.facts is not None and now.encoding is None else read_now(now)[0]


def refuse_size(path: WorkspacePath, size: int, settings: Settings) -> None:
    """Refuse bytes that are too many to be written.

    Raises:
        FileTooLargeError
    """
    if size > settings.max_write_bytes:
        raise FileTooLargeError(path, size, settings.max_write_bytes)


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
    message = f"{path} has changed since the version that your text is based on, and {reason}"
    return EditConflictError(message, path=path, details=details)


def overlapping(
    path: str, base_version: str, current_version: str | None, merged: MergeResult, current_text: str, base_text: str
) -> EditConflictError:
    """Return the error for a change that overlaps with others', with both sides of every place."""
    conflicts = [one.to_dict() for one in merged.conflicts]
    place = f"in the same place (line {', '.join(str(one['line']) for one in conflicts[:5])})"
    what = "is too large to be merged, and was changed" if merged.is_too_large else f"was changed {place}"
    return EditConflictError(
        f"{path} {what} since the version that your text is based on; nothing was written",
        path=path,
        details={
            "base_version": base_version,
            "current_version": current_version,
            "conflicts": conflicts,
            "diff": unified_diff(base_text, current_text, f"a/{path}", f"b/{path}")[:LARGEST_DIFF],
        },
    )


class ShownText(Struct, frozen=True, kw_only=True):
    """What reads return around a change, where unsaved text makes that another text than the file's."""

    before: str
    """Version of the unsaved text before the change."""
    version: str
    """Version of what a read returns afterwards."""
    content: bytes
    """Its bytes."""
    text: str
    """Its text."""


class EditReport(Struct, frozen=True, kw_only=True):
    """The effect of edits on a text."""

    hunks: tuple[dict[str, Any], ...]
    """The changes as a structured patch."""
    counts: tuple[int, ...] = ()
    """How many matches each edit replaced."""
    repairs: tuple[str, ...] = ()
    """A sentence for each edit that was applied although it did not match exactly."""
    context_lines: int = 3
    """Unchanged lines around each change in the hunks."""


class PutDecision(Struct, frozen=True, kw_only=True):
    """The bytes that a call puts at its path."""

    content: bytes
    facts: ContentFacts
    text: str | None = None
    """The text of the bytes, in the encoding that its writer meant; None if they must be decoded to know it."""
    base: str | None = None
    """Version of the text that the change was made from, which may be unsaved; None for the file's."""
    on_conflict: OnConflict = "merge"
    """What to do about an editor's unsaved text; edits care only where they overlap with it."""
    mode: int | None = None
    """Permission bits; None keeps those of the replaced file."""
    like: WorkspacePath | None = None
    """File whose owner, attributes and access list a new file gets, because it replaces it."""
    added_bytes: int | None = None
    """For append: how many bytes were added."""
    sent: bytes | None = None
    """The whole text that the caller sent, unmerged; None for a change of the current content."""
    sent_version: str = ""
    foreign: tuple[dict[str, Any], ...] = ()
    """Hunks of the merged text that the caller did not send."""
    newline: Newline | None = None
    """Line end that was kept although the caller wrote another."""
    encoding: str | None = None
    """Codec that the actor named in this call, or when it read the file."""
    is_merged: bool = False
    """True if others' text is in it."""
    is_strict: bool = False
    """True if the caller named the version that it changes, so that a transaction merges nothing into it."""
    edits: Sequence[TextEdit] | None = None
    """The edits that make the file's text this one, in order, if they are known."""
    report: EditReport | None = None
    """The effect of edits; None for other calls."""
    document: DocumentChange | None = None
    """The change of the path's open document."""
    in_buffer: bool = False
    """True if only the open document changes, because the change needs its unsaved text; `content` is that text's."""
    shown: ShownText | None = None
    """The text that reads return, if it is an open document's unsaved text."""
    kept_unsaved: bytes | None = None
    """Unsaved text that is replaced on purpose, as bytes; it is kept as a version first."""
    relations: tuple[Relation, ...] = ()
    """Older records that this change undoes or builds on."""

    @property
    def told_version(self) -> str:
        """The version that the result names: that of what a read returns afterwards."""
        return self.facts.version if self.shown is None else self.shown.version

    def text_for(self, path: WorkspacePath) -> str | None:
        """Return what a read would return afterwards; None for binary content."""
        if self.shown is not None:
            return self.shown.text
        return None if self.facts.text_format is None else decode(self.content, self.facts.text_format, path=path)
