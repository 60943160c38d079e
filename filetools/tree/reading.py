"""Reading the bytes of a file that other programs may be writing."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from filetools.content.identity_cache import is_settled
from filetools.content.version import hashed_parts
from filetools.errors import FileBusyError, FileToolsError
from filetools.journal.tree_rows import Identity
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, PrimaryStore, Store

UNSETTLED: Final = -1
"""Replaces the ctime of a file so young that it may change and keep its times: the next look reads it again."""
_SPELLING: Final = "Ae\u0301"
"""Not its own key where case or form is ignored."""


class SeenContent(Struct, frozen=True, kw_only=True):
    """Content that was read."""

    digest: bytes
    content: bytes | None
    """None if it is too large to be kept."""
    stat: FileStat
    """Facts of the open file."""
    identity: Identity
    """Identity under which it may be known; see `settled_identity`."""


def read_content(store: PrimaryStore, path: WorkspacePath, stat: FileStat, largest_kept_bytes: int) -> SeenContent:
    """Read a file that nobody is writing, or the target of a link.

    Args:
        store: Where it is.
        path: A regular file or a link.
        stat: Its facts.
        largest_kept_bytes: A larger one is only hashed, part by part.

    Raises:
        FileBusyError: Another program has it open for writing, or it changed meanwhile.
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
    """
    taken_ns = time.time_ns()
    if stat.type == "symlink":
        target = store.read_link(path)
        digest = hashlib.sha256(target).digest()
        identity = settled_identity(stat, taken_ns, store.tick_ns)
        return SeenContent(digest=digest, content=target, stat=stat, identity=identity)
    reader = store.open(path)
    try:
        found = reader.stat
        if found.size <= largest_kept_bytes:
            content: bytes | None = reader.read_at(0, found.size)
            assert content is not None
            read, digest = len(content), hashlib.sha256(content).digest()
        else:
            content = None
            digest, read = hashed_parts(reader.read_at)
        # In this order: a writer that has closed the file has changed its times.
        if reader.is_being_written() or reader.has_changed() or read != found.size:
            raise FileBusyError(path)
    finally:
        reader.close()
    identity = settled_identity(found, taken_ns, store.tick_ns)
    return SeenContent(digest=digest, content=content, stat=found, identity=identity)


def settled_identity(stat: FileStat, taken_ns: int, tick_ns: int) -> Identity:
    """Return the identity under which a file may be known, if its bytes were read or written before `taken_ns`."""
    if is_settled(stat.identity, taken_ns, tick_ns=tick_ns):
        return stat.identity
    return (*stat.identity[:4], UNSETTLED)


def file_size(stat: FileStat) -> int | None:
    """Return the size of a file in bytes; None for anything else."""
    return stat.size if stat.type == "file" else None


def stat_if_any(store: Store, path: WorkspacePath) -> FileStat | None:
    """Return the facts of a path; None if nothing is there, or a link or a file is on the way to it."""
    try:
        return store.stat(path)
    except FileToolsError:
        return None


def is_text(name: str) -> bool:
    """True if a name is valid UTF-8; the database keeps no other."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def spelled(
    store: Store, path: WorkspacePath, found: dict[str, FileStat], key_of: Callable[[str], str]
) -> dict[str, FileStat]:
    """Return facts of names in a folder by their spelling on the disk: if case is ignored, other spellings match, too.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError
    """
    if not found or key_of(_SPELLING) == _SPELLING:
        return found
    names = {key_of(entry.name): entry.name for entry in store.scan(path)}
    return {names.get(key_of(name), name): stat for name, stat in found.items()}
