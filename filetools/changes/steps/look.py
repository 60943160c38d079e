"""What a write sees before it decides: the file on disk and what the journal has recorded about it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from filetools.changes.parts import Parts
from filetools.content.facts import ContentFacts, inspect
from filetools.content.version import hashed_parts, stat_version, version_of
from filetools.errors import (
    DirectoryNotFoundError,
    FileBusyError,
    FileTooLargeError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from filetools.journal.commit import HeadMovedError
from filetools.journal.journal import View
from filetools.journal.records import Change
from filetools.models.records import Operation
from filetools.models.words import VERSION_PREFIX
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.private import refuse_other_kinds
from filetools.stores.store import FileStat, Reader


class Look(Struct, frozen=True, kw_only=True):
    """The file at a path and the journal's view of it. Valid until the end of the turn."""

    path: WorkspacePath
    """As spelled on disk; differs from the spelling in the call if the file system ignores case."""
    key: str
    view: View
    taken_ns: int
    """Time just before the file was looked at."""
    stat: FileStat | None = None
    """None if nothing is there."""
    facts: ContentFacts | None = None
    """Facts of the content; None if there is no file or it is too large to read as a whole."""
    version: str | None = None
    """None if nothing is there."""
    content: bytes | None = None
    """The bytes, if they had to be read."""
    is_opaque: bool = False
    """True for a symbolic link, or a file too large to keep: its content is not read."""

    @property
    def is_recorded(self) -> bool:
        """True if the file matches its record; then the folders above it have not changed either."""
        head = self.view.head
        if self.stat is None or head is None:
            return False
        return head.version == self.version and head.mode in (None, self.stat.mode)


def look(
    parts: Parts,
    path: WorkspacePath,
    *,
    takes_opaque: bool = False,
) -> Look:
    """Look at a path's file and its head; in a turn, first recover it from a crashed process.

    Args:
        parts: The workspace.
        path: Where to look.
        takes_opaque: Accept a file over `max_write_bytes` unread, and a symbolic link where links are followed; for steps that
            only rename or remove it.

    Raises:
        PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError: The path is not a regular file.
        FileBusyError: Another program is writing it.
        HeadMovedError: A move or deletion of a folder above is unfinished, or the file has just gone.
    """
    key = parts.workspace.key(path)
    view = parts.view(key)
    if view.blocked:
        raise HeadMovedError(path)
    if view.head is not None and not view.head.applied and parts.journal.turn_gate.is_held_here():
        parts.recovery.settle(path, key)
        view = parts.view(key)
    seen = Look(path=_as_spelled(parts, path, view), key=key, view=view, taken_ns=time.time_ns())
    stat = parts.store.stat(seen.path)
    if stat is None:
        return seen
    if takes_opaque and _is_opaque(parts, stat):
        return structs.replace(seen, stat=stat, version=stat_version(stat.identity), is_opaque=True)
    refuse_other_kinds(stat.type, seen.path)
    facts = parts.facts.get(stat.identity)
    if facts is not None and view.head is not None and view.head.version == facts.version:
        return structs.replace(seen, stat=stat, facts=facts, version=facts.version)
    try:
        return _read(parts, seen)
    except (PathNotFoundError, PathNotDirectoryError) as exc:
        raise HeadMovedError(seen.path) from exc


def unseen(parts: Parts, path: WorkspacePath) -> Look:
    """Return the look at a path where nothing is."""
    key = parts.workspace.key(path)
    return Look(path=path, key=key, view=parts.view(key), taken_ns=time.time_ns())


def content_of(parts: Parts, seen: Look) -> bytes:
    """Return the bytes that a look saw; reads them if the look did not.

    Raises:
        HeadMovedError: They have changed since the look.
    """
    if seen.content is not None:
        return seen.content
    try:
        content, _ = parts.store.read(seen.path)
    except (PathNotFoundError, PathNotDirectoryError) as exc:
        raise HeadMovedError(seen.path) from exc
    if version_of(content) != seen.version:
        raise HeadMovedError(seen.path)
    return content


def known_version(seen: Look) -> str | None:
    """Return the version of a look's file; for an opaque one, the version of its head."""
    if not seen.is_opaque:
        return seen.version
    return None if seen.view.head is None else seen.view.head.version


def found(looks: Iterable[Look]) -> list[Change]:
    """Return a `found` record for each file without a head, to be committed before its first change."""
    new: dict[str, Change] = {}
    for seen in looks:
        if seen.view.head is None and seen.stat is not None and not seen.is_opaque:
            new[seen.key] = Change(
                operation=Operation.FOUND, path=seen.path, key=seen.key, after=seen.version, content=seen.content,
                size=seen.stat.size, mode=seen.stat.mode, applied=True, external=True,
            )  # fmt: skip
    return list(new.values())


def keep_seen(parts: Parts, seen: Look) -> None:
    """Keep the bytes of a file before it is displaced, unless they are already kept or are part of the coming commit.

    Raises:
        FileTooLargeError: The file is larger than `max_write_bytes`, so it cannot be kept.
        HeadMovedError: The file has changed since the look.
    """
    if seen.stat is None or seen.version is None or (seen.view.head is None and seen.content is not None):
        return
    if seen.is_opaque:
        if seen.stat.size > parts.settings.max_write_bytes:
            raise FileTooLargeError(seen.path, seen.stat.size, parts.settings.max_write_bytes)
        return
    # A recorded version is not enough: the move of a file that was only hashed is recorded too.
    if not parts.journal.contents.has(seen.version):
        parts.journal.contents.keep(content_of(parts, seen), seen.version)


def _as_spelled(parts: Parts, path: WorkspacePath, view: View) -> WorkspacePath:
    """Return a path as spelled on disk. Under another spelling some drivers keep showing a file that was replaced."""
    head = view.head
    if head is None or head.version is None or head.path == path:
        return path
    try:
        is_spelled_so = any(entry.name == path.name for entry in parts.store.scan(path.parent))
    except (DirectoryNotFoundError, PathNotDirectoryError):
        return path
    return path if is_spelled_so else WorkspacePath(head.path)


def _is_opaque(parts: Parts, stat: FileStat) -> bool:
    if stat.type == "symlink":
        return parts.workspace.follow_symlinks
    return stat.type == "file" and stat.size > parts.settings.max_write_bytes


def _read(parts: Parts, seen: Look) -> Look:
    """Read a file through one descriptor.

    Raises:
        FileBusyError: A program has the file open for writing with an unknown content, or changed it while it was read.
    """
    path, head, taken_ns = seen.path, seen.view.head, time.time_ns()
    reader = parts.store.open(path)
    try:
        stat, facts, content = reader.stat, None, None
        if stat.size > parts.settings.max_foreign_bytes:
            version = _hashed(parts, path, reader)
        else:
            content = reader.read_at(0, stat.size)
            facts = inspect(content, name=path)[0]
            version = facts.version
        is_known = head is not None and head.version == version
        # Ask for writers first: one that closes the file before the second check has changed its times.
        if (not is_known and reader.is_being_written()) or reader.has_changed():
            raise FileBusyError(path)
    finally:
        reader.close()
    if facts is not None:
        parts.facts.put(stat.identity, facts, taken_ns=taken_ns)
    return structs.replace(seen, taken_ns=taken_ns, stat=stat, facts=facts, version=version, content=content)


def hashed(parts: Parts, path: WorkspacePath) -> tuple[str, FileStat]:
    """Return version and stat of a file without holding its bytes in memory.

    Raises:
        FileTooLargeError: The file is larger than `max_write_bytes`, such as a sparse disk image.
    """
    reader = parts.store.open(path)
    try:
        return _hashed(parts, path, reader), reader.stat
    finally:
        reader.close()


def _hashed(parts: Parts, path: WorkspacePath, reader: Reader) -> str:
    size = reader.stat.size
    if size > parts.settings.max_write_bytes:
        raise FileTooLargeError(path, size, parts.settings.max_write_bytes)
    # Ignore data appended while hashing: the file's size and times have changed, so it is looked at again.
    digest, _ = hashed_parts(lambda offset, count: reader.read_at(offset, min(count, size - offset)))
    return VERSION_PREFIX + digest.hex()


def missing_parents(parts: Parts, path: WorkspacePath) -> Sequence[WorkspacePath]:
    """Return the folders above a path that do not exist, outermost first.

    Raises:
        PathNotDirectoryError: A parent is not a folder.
    """
    missing: list[WorkspacePath] = []
    parent = path.parent
    while not parent.is_root and (stat := parts.store.stat(parent)) is None:
        missing.append(parent)
        parent = parent.parent
    if not parent.is_root and stat is not None and stat.type != "directory":
        raise PathNotDirectoryError(parent)
    return missing[::-1]


def require_parent(parts: Parts, path: WorkspacePath) -> None:
    """Raise unless the parent of a path is a folder.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError
    """
    if missing_parents(parts, path):
        raise DirectoryNotFoundError(path.parent)
