"""What a transaction holds of one path: what stood there at its first change, and what shall stand there now."""

from __future__ import annotations

import itertools
import time
from typing import Final

from msgspec import Struct

from filetools.content.version import stat_version
from filetools.facade.look import Look
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat

NOT_ON_DISK: Final = -1
"""Device of what is in memory only, so that no cache takes it for a file of the disk."""
_IDENTITIES: Final = itertools.count()
_DEFAULT_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755


class Base(Struct, frozen=True, kw_only=True):
    """What stood at a path when the transaction first changed it; what is done at the exit is based on it."""

    type: EntryType | None
    """None if nothing was there."""
    version: str | None = None
    """Of a file; "stat:…" where its bytes were not read."""
    stat: FileStat | None = None
    content: bytes | None = None
    """Its bytes, where they were read and the journal may not keep them."""


class Written(Struct, frozen=True, kw_only=True):
    """A file whose bytes are the transaction's."""

    content: bytes
    version: str
    mode: int | None
    """Permission bits; None keeps those of the file that is replaced, or takes the default."""
    stat: FileStat
    encoding: str | None = None
    """Codec that its actor named for it; None finds out."""


class Original(Struct, frozen=True, kw_only=True):
    """What stood at a path of the disk, here or elsewhere now, untouched."""

    path: WorkspacePath
    stat: FileStat


class BufferedFolder(Struct, frozen=True, kw_only=True):
    """A folder that the transaction made or moved."""

    origin: WorkspacePath | None
    """Where it stood on the disk; None if it is new."""
    stat: FileStat


State = Written | Original | BufferedFolder | None
"""What shall stand at a path; None for nothing."""


class PathState(Struct, frozen=True, kw_only=True):
    """One path that the transaction has changed."""

    path: WorkspacePath
    base: Base
    now: State
    is_strict: bool = False
    """Whether the caller named the version that it changes, so that nothing may be merged."""


MISSING: Final = Base(type=None)


def base_of(stat: FileStat | None) -> Base:
    """Return what stands there as a base whose bytes nobody has looked at."""
    if stat is None:
        return MISSING
    return Base(type=stat.type, version=stat_version(stat.identity) if stat.type == "file" else None, stat=stat)


def base_seen(seen: Look) -> Base:
    """Return what a look saw as a base."""
    if seen.stat is None:
        return MISSING
    return Base(type="file", version=seen.version, stat=seen.stat, content=seen.content)


def written(content: bytes, version: str, mode: int | None, *, shown_mode: int | None = None) -> Written:
    """Return a file of these bytes.

    Args:
        content: All of them.
        version: Of them.
        mode: Permission bits to set.
        shown_mode: Those that it will have, as far as that is known.
    """
    stat = _stat("file", len(content), _DEFAULT_FILE_MODE if shown_mode is None else shown_mode)
    return Written(content=content, version=version, mode=mode, stat=stat)


def folder(origin: WorkspacePath | None = None) -> BufferedFolder:
    """Return a folder that is new, or was moved from `origin`."""
    return BufferedFolder(origin=origin, stat=_stat("directory", 0, _FOLDER_MODE))


def _stat(kind: EntryType, size: int, mode: int) -> FileStat:
    now_ns = time.time_ns()
    return FileStat(
        type=kind, size=size, mode=mode, modified_ns=now_ns, changed_ns=now_ns, device=NOT_ON_DISK,
        inode=next(_IDENTITIES),
    )  # fmt: skip
