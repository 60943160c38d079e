"""The look of a write: what stands on the disk, and what the journal knows of it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from filetools.content.facts import ContentFacts, inspect
from filetools.content.version import stat_version, version_of
from filetools.errors import (
    DirectoryNotFoundError,
    FileBusyError,
    FileTooLargeError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from filetools.facade.parts import Parts
from filetools.journal.changes import Change, HeadMovedError, View
from filetools.models.records import Operation
from filetools.models.words import VERSION_PREFIX
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.private import refuse_other_kinds
from filetools.stores.store import FileStat, Reader

CHUNK_BYTES: Final = 1024 * 1024


class Look(Struct, frozen=True, kw_only=True):
    """What stands at a path, and what the journal knew of it. True until the end of the turn."""

    path: WorkspacePath
    """As the disk spells it, which may differ from what the call asked for where case is ignored."""
    key: str
    view: View
    taken_ns: int
    """Time before the bytes were looked at."""
    stat: FileStat | None
    """None if nothing is there."""
    facts: ContentFacts | None
    """Facts of the bytes; None if nothing is there, or too large to be looked at as a whole."""
    version: str | None
    """None if nothing is there."""
    content: bytes | None
    """The bytes, where looking had to read them."""
    is_opaque: bool = False
    """Whether it is taken as it is, since nobody can know its bytes: a link, or a file too large to be kept."""

    @property
    def is_recorded(self) -> bool:
        """Whether a file is as it is recorded; then nobody came to, or left, the folders above it."""
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
    """Settle what a dead process left at a path, then compare disk and head; call it in a turn.

    Args:
        parts: The workspace.
        path: Where to look.
        takes_opaque: Whether a file over `max_write_bytes` is not read, and a link, where links are followed, is no refusal:
            for those who only take it away from its name.

    Raises:
        PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError: No regular file stands there.
        FileBusyError: Another program is writing it.
        HeadMovedError: A move or deletion of a folder above cannot be finished.
    """
    key = parts.workspace.key(path)
    view = _settled(parts, path, key, parts.view(key))
    path = _as_spelled(parts, path, view)
    taken_ns = time.time_ns()
    stat = parts.store.stat(path)
    if stat is None:
        return Look(
            path=path, key=key, view=view, taken_ns=taken_ns, stat=None, facts=None, version=None, content=None,
        )  # fmt: skip
    if takes_opaque and _is_opaque(parts, stat):
        return Look(
            path=path, key=key, view=view, taken_ns=taken_ns, stat=stat, facts=None,
            version=stat_version(stat.identity), content=None, is_opaque=True,
        )  # fmt: skip
    refuse_other_kinds(stat.type, path)
    facts = parts.facts.get(stat.identity)
    if facts is not None and view.head is not None and view.head.version == facts.version:
        return Look(
            path=path, key=key, view=view, taken_ns=taken_ns, stat=stat, facts=facts, version=facts.version,
            content=None,
        )  # fmt: skip
    try:
        return _read(parts, path, key, view)
    except (PathNotFoundError, PathNotDirectoryError) as exc:
        raise HeadMovedError(path) from exc


def is_as_recorded(parts: Parts, path: WorkspacePath) -> bool:
    """Whether what stands at a path is what the journal says, as far as can be said without reading or locking."""
    head = parts.view(parts.workspace.key(path)).head
    stat = parts.store.stat(path)
    if head is None or stat is None:
        return head is None or head.version is None
    facts = parts.facts.get(stat.identity)
    return facts is not None and facts.version == head.version


def content_of(parts: Parts, seen: Look) -> bytes:
    """Return the bytes that a look saw, reading them now if it needed not.

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
    """Return the version for a record that a look's file stands there; of what is opaque, as far as the journal knows."""
    if not seen.is_opaque:
        return seen.version
    return None if seen.view.head is None else seen.view.head.version


def facts_of(parts: Parts, seen: Look) -> ContentFacts | None:
    """Return the facts of what a look saw; None if nothing is there or it is too large to be looked at as a whole."""
    if seen.facts is None and seen.content is not None:
        return inspect(seen.content, name=seen.path)[0]
    return seen.facts


def found(looks: Iterable[Look]) -> Sequence[Change]:
    """Return the records of files that nothing is recorded of, to stand before the first change of them."""
    new = {seen.key: seen for seen in looks if seen.view.head is None and not seen.is_opaque}
    return [
        Change(
            operation=Operation.FOUND, path=seen.path, key=seen.key, after=seen.version, content=seen.content,
            size=seen.stat.size, mode=seen.stat.mode, applied=True, external=True,
        )
        for seen in new.values() if seen.stat is not None
    ]  # fmt: skip


def keep_seen(parts: Parts, seen: Look) -> None:
    """Keep the bytes of a file before it is displaced, unless they are kept already, or its commit brings them.

    Raises:
        FileTooLargeError: It is larger than any file that filetools writes, so it cannot be kept.
        HeadMovedError: It has changed since the look.
    """
    if seen.stat is None or seen.version is None or (seen.view.head is None and seen.content is not None):
        return
    if seen.is_opaque:
        if seen.stat.size > parts.settings.max_write_bytes:
            raise FileTooLargeError(seen.path, seen.stat.size, parts.settings.max_write_bytes)
        return
    # That a version is recorded does not say so: of a file that has only been hashed, a move is recorded, too.
    if not parts.journal.contents.has(seen.version):
        content = seen.content
        if content is None:
            content, _ = parts.store.read(seen.path, limit=parts.settings.max_write_bytes)
            if version_of(content) != seen.version:
                raise HeadMovedError(seen.path)
        parts.journal.contents.keep(content, seen.version)


def _settled(parts: Parts, path: WorkspacePath, key: str, view: View) -> View:
    if view.blocked:
        raise HeadMovedError(path)
    if view.head is not None and not view.head.applied and not parts.is_inner:
        parts.recovery.settle(path, key)
        view = parts.view(key)
    return view


def _as_spelled(parts: Parts, path: WorkspacePath, view: View) -> WorkspacePath:
    """Return a path as the disk spells it: in another spelling some drivers go on showing a file that was replaced."""
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


def _read(parts: Parts, path: WorkspacePath, key: str, view: View) -> Look:
    """Read and compare the bytes of a file, all by one descriptor.

    Raises:
        FileBusyError: Some program has it open for writing, or has changed it since it was opened.
    """
    taken_ns = time.time_ns()
    reader = parts.store.open(path)
    try:
        stat, facts, content = reader.stat, None, None
        if stat.size > parts.settings.max_foreign_bytes:
            version = _hashed(parts, path, reader)
        else:
            content = reader.read_at(0, stat.size)
            facts = inspect(content, name=path)[0]
            version = facts.version
        is_known = view.head is not None and view.head.version == version
        # The writer first: whoever has closed it by then has left other times.
        if (not is_known and reader.is_being_written()) or reader.has_changed():
            raise FileBusyError(path)
    finally:
        reader.close()
    if facts is not None:
        parts.facts.put(stat.identity, facts, taken_ns=taken_ns)
    return Look(
        path=path, key=key, view=view, taken_ns=taken_ns, stat=stat, facts=facts, version=version, content=content,
    )  # fmt: skip


def hashed(parts: Parts, path: WorkspacePath) -> tuple[str, FileStat]:
    """Return version and facts of a file whose bytes are not held in memory.

    Raises:
        FileTooLargeError: It is larger than any file that filetools writes, such as a disk image full of holes.
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
    digest, offset = hashlib.sha256(), 0
    # What it has grown by since is of no account: its facts are others by then.
    while offset < size and (chunk := reader.read_at(offset, CHUNK_BYTES)):
        digest.update(chunk)
        offset += len(chunk)
    return VERSION_PREFIX + digest.hexdigest()
