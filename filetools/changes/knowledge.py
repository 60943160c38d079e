"""What an actor knows of a file, what a change demands of that knowledge, and which version a text was made from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from filetools.changes.overlay import content_in, refuse_other_kind
from filetools.content.diff import unified_diff
from filetools.content.facts import ContentFacts, inspect
from filetools.errors import EncodingError, FileTooLargeError, InvalidArgumentError, VersionMismatchError
from filetools.models.records import Actor
from filetools.models.words import VERSION_PREFIX
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Seen, SeenPath

LARGEST_COMPARED: Final = 1024 * 1024
"""Texts with more bytes are refused without a diff."""
LARGEST_DIFF: Final = 20_000
"""Characters of a diff in an error."""
_SHORT_VERSION: Final = re.compile(r"[0-9a-f]{12,64}")


class KnownVersion(Struct, frozen=True, kw_only=True):
    """A version that an actor can name, and the text that it knows by that name."""

    version: str
    base: str
    """Version of the text: another one if a result only named `version`, with text of others in it."""
    is_whole: bool = True
    """Whether the actor knows all of the text."""
    encoding: str | None = None
    """Codec that the actor named for it."""


class Knowledge(Struct, frozen=True, kw_only=True):
    """What an actor knows of one path when it calls. The call asks for the bytes of each base."""

    actor: Actor
    rows: Sequence[KnownVersion] = ()
    """The newest last; its base is the text that the actor works from."""
    had: Sequence[str] = ()
    """Versions that the path is known to have had, for those that a call names."""

    @property
    def newest(self) -> KnownVersion | None:
        """What the actor works from; None if it knows nothing of the path."""
        return self.rows[-1] if self.rows else None

    @property
    def encoding(self) -> str | None:
        """Codec that the actor named when it last read or wrote the file."""
        return None if self.newest is None else self.newest.encoding

    def is_outdated(self, version: str | None) -> bool:
        """True if others have changed the file since the actor knew it; False if the actor knows nothing of it."""
        return self.newest is not None and self.newest.base != version

    def of_version(self, version: str | None) -> KnownVersion | None:
        """Return what the actor knows by a version, else what it works from."""
        return next((row for row in self.rows if row.version == version), self.newest)

    def named(self, expected: str) -> str | None:
        """Return the full form of a version that the actor names; None if the path is not known to have had it."""
        for known in ([row.version for row in self.rows], self.had):
            found = {version for version in known if is_version(version, expected)}
            if found:
                return found.pop() if len(found) == 1 else None
        return None


def is_version(version: str | None, expected: str) -> bool:
    """Return whether a version is the one that a caller names, maybe by its first 12 or more hex digits.

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


def require_version(seen: Seen, now: SeenPath, knowledge: Knowledge, expected: str | None) -> None:
    """Refuse unless a file is at the version that a caller expects; None expects nothing.

    Raises:
        VersionMismatchError: It is at another version.
        InvalidArgumentError: It is not a version.
    """
    if expected is not None and not is_version(now.version, expected):
        raise stale_error(seen, now, knowledge, expected)


def refuse_changed(seen: Seen, now: SeenPath, knowledge: Knowledge) -> None:
    """Refuse to remove or replace what others have changed since the actor saw it.

    Raises:
        VersionMismatchError: Others have changed it.
    """
    if now.kind is not None and knowledge.is_outdated(now.version):
        raise stale_error(seen, now, knowledge, None, reason="somebody changed it since you saw it")


def require_read(
    seen: Seen, now: SeenPath, knowledge: Knowledge, *, expected: str | None, needs_version: bool, needs_read: bool
) -> None:
    """Refuse to replace a file whose version the writer does not name, or which it has not read, where that is demanded.

    An agent that has read a part of a version never replaces the rest, even if it names the version.

    Args:
        seen: What the call asked for.
        now: The file.
        knowledge: What the writer knows of it.
        expected: The version that the writer names.
        needs_version: Whether it must name one.
        needs_read: Whether it must have read all of it, if it names none.

    Raises:
        VersionMismatchError: The current version is in the details.
    """
    if now.kind is None:
        return
    known = knowledge.newest
    if expected is not None:
        known = next((row for row in knowledge.rows if is_version(row.version, expected)), known)
    if knowledge.actor.kind == "agent" and known is not None and not known.is_whole:
        reason = "you have read only a part of it; read the rest first, or change what you have read with an edit"
    elif expected is not None:
        return
    elif needs_version:
        reason = "it exists already, and replacing it needs expected_version, so that nobody's newer text is lost"
    elif needs_read and (known is None or not known.is_whole):
        reason = "you have not read all of it; read the whole file first"
    else:
        return
    raise stale_error(seen, now, knowledge, None, reason=f"{reason}; it is at {now.version}")


def base_of_text(
    seen: Seen, now: SeenPath, knowledge: Knowledge, *, expected: str | None, may_merge: bool
) -> KnownVersion | None:
    """Return what a whole text was made from; None if its writer need know nothing, and replaces the file.

    Args:
        seen: What the call asked for.
        now: The file.
        knowledge: What the writer knows of it.
        expected: The version that the writer names.
        may_merge: Whether the text may be merged if the file is at another version than the named one.

    Raises:
        VersionMismatchError: The file is not at the named version and may not be merged, or the version is unknown.
        InvalidArgumentError: It is not a version.
    """
    if expected is None:
        return knowledge.newest
    is_current = is_version(now.version, expected)
    named = now.version if is_current else None
    if named is None and may_merge and not expected.startswith("stat:"):
        named = knowledge.named(expected)
    if named is None:
        raise stale_error(seen, now, knowledge, expected)
    known = knowledge.of_version(named)
    # A text made from an older version than its writer knows by now would undo what came in between.
    is_older = known is not None and known.version != named and not is_current and known.base == now.version
    if known is None or is_older or expected.startswith("stat:"):
        return KnownVersion(version=named, base=named)
    return known


def base_bytes(seen: Seen, now: SeenPath, version: str) -> bytes:
    """Return the text that a writer knows.

    Raises:
        VersionMismatchError: Its bytes were not kept.
    """
    content = now_or_kept(seen, now, version)
    if content is None:
        reason = "the text you knew is no longer kept, so it cannot be merged"
        raise VersionMismatchError(now.path, version, now.version, reason=reason)
    return content


def now_or_kept(seen: Seen, now: SeenPath, version: str | None) -> bytes | None:
    """Return the bytes of a version, from the file if it is at that version; None if they are not kept."""
    if version is None:
        return None
    return content_in(seen, now) if version == now.version else seen.contents.get(version)


def stale_error(
    seen: Seen, now: SeenPath, knowledge: Knowledge, expected: str | None, *, reason: str | None = None
) -> VersionMismatchError:
    """Return the refusal of a change to a file that is not at the version its actor names or knows, with the diff since."""
    version = None if knowledge.newest is None else knowledge.newest.base
    if expected is not None:
        version = knowledge.named(expected)
        if version is None and reason is None and now.kind is not None:
            reason = f"it is not known to have had the version {expected}; it is at {now.version}"
    before, after = now_or_kept(seen, now, version), content_in(seen, now)
    diff = None
    if before is not None and after is not None and max(len(before), len(after)) <= LARGEST_COMPARED:
        old, new = (inspect(content, name=now.path)[1] for content in (before, after))
        if old is not None and new is not None:
            diff = unified_diff(old, new, f"a/{now.path}", f"b/{now.path}")[:LARGEST_DIFF] or None
    return VersionMismatchError(now.path, expected, now.version, reason=reason, diff=diff)


def read_as(
    content: bytes, encoding: str | None, *, name: str, is_foreign: bool = False
) -> tuple[ContentFacts, str | None]:
    """Return the facts and the text of bytes in a named encoding; without it where they are not text of that encoding.

    Args:
        content: All bytes of the file.
        encoding: The codec; None finds out.
        name: Workspace-relative path.
        is_foreign: Whether others have written them since the codec was named. Then a byte-order mark, or valid UTF-8,
            that gives another text shows that the file was converted.
    """
    found = inspect(content, name=name)
    if encoding is None:
        return found
    try:
        named = inspect(content, name=name, encoding=encoding)
    except EncodingError:
        return found
    is_certain = found[0].bom or found[0].encoding == "utf-8"
    return found if is_foreign and is_certain and found[1] != named[1] else named


def read_now(seen: Seen, now: SeenPath, knowledge: Knowledge) -> tuple[ContentFacts, str | None]:
    """Return the facts and the text of a file, in the encoding that the actor reads it in; the text is None if binary."""
    is_foreign = knowledge.is_outdated(now.version)
    return read_as(bytes_now(seen, now), knowledge.encoding, name=now.path, is_foreign=is_foreign)


def bytes_now(seen: Seen, now: SeenPath) -> bytes:
    """Return the bytes of a file that the call asked for."""
    content = content_in(seen, now)
    assert content is not None, f"the call did not ask for the bytes of {now.path}"
    return content


def file_or_nothing(seen: Seen, path: WorkspacePath, settings: Settings) -> SeenPath:
    """Return the file at a path, or that nothing is there.

    Raises:
        PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError: Something else is there.
        FileTooLargeError: The file has no version, since it is larger than any that filetools writes and keeps.
    """
    now = seen.at(path)
    refuse_other_kind(path, now.kind)
    if now.version is None:
        refuse_size(path, now.size or 0, settings)
    return now


def name_or_nothing(seen: Seen, path: WorkspacePath, settings: Settings) -> SeenPath:
    """Return what is at a path for a call that takes the name only; its bytes may be unknown.

    Raises:
        PathIsDirectoryError, NotRegularFileError: A folder or a special file is there.
        SymlinkNotAllowedError: A link is there, and links are not followed.
    """
    now = seen.at(path)
    if now.kind != "symlink" or not settings.follow_symlinks:
        refuse_other_kind(path, now.kind)
    return now


def refuse_size(path: WorkspacePath, size: int, settings: Settings) -> None:
    """Refuse bytes that are too many to be written.

    Raises:
        FileTooLargeError
    """
    if size > settings.max_write_bytes:
        raise FileTooLargeError(path, size, settings.max_write_bytes)
