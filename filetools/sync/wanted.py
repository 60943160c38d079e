"""What should stand at a path of the mirror, as the journal and the primary say."""

from __future__ import annotations

import logging
from typing import Literal

from msgspec import Struct

from filetools.content.version import version_of
from filetools.errors import FileToolsError, PathNotFoundError
from filetools.journal.changes import Head
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat
from filetools.sync.actions import MakeDirectory, MirrorAction, MirrorPut, MirrorRemove
from filetools.sync.context import SyncContext, is_recordable
from filetools.sync.mirror_files import file_version

_log = logging.getLogger(__name__)


class UnsettledError(Exception):
    """Raised when a change of the path is committed but not applied yet: what it will be is for others to settle."""


class Stamp(Struct, frozen=True, kw_only=True):
    """What must be the same, under the path's lock, when the mirror is changed as when the change was prepared."""

    head: int | None
    """Number of the path's head."""
    primary: tuple[int, int, int, int, int] | str | None
    """Identity of the primary's file, or the type of what stands there instead; None where the head decides."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What should stand at a path."""

    kind: Literal["file", "directory", "nothing"]
    stamp: Stamp
    content: bytes = b""
    mode: int | None = None
    version: str | None = None

    def action(self, path: WorkspacePath, key: str) -> MirrorAction:
        """Return what brings a mirror there."""
        if self.kind == "file":
            return MirrorPut(path=path, key=key, number=0, content=self.content, mode=self.mode, version=self.version)
        if self.kind == "directory":
            return MakeDirectory(path=path, key=key, number=0, mode=self.mode)
        return MirrorRemove(path=path, key=key, number=0)


def stamp_of(context: SyncContext, path: WorkspacePath, key: str, *, from_primary: bool = False) -> Stamp:
    """Return the stamp of a path now; see `wanted`."""
    return _stamp(_head(context, path, key), context.primary.stat(path), from_primary=from_primary)


def wanted(context: SyncContext, path: WorkspacePath, key: str, *, from_primary: bool = False) -> Wanted:
    """Look what a path should be in a mirror.

    Args:
        context: The journal and the primary.
        path: Where.
        key: Its lock key.
        from_primary: Whether the primary's file counts, be it recorded or not; else it counts only where the journal
            knows of no file.

    Raises:
        UnsettledError: A change of the path is pending.
        FileToolsError: The primary or the content store could not be read.
    """
    head = _head(context, path, key)
    stat = context.primary.stat(path)
    if head is not None and head.version is not None and not from_primary:
        content, mode = _head_content(context, path, head, head.version, stat)
        stamp = _stamp(head, stat, from_primary=False)
        return Wanted(kind="file", stamp=stamp, content=content, mode=mode, version=head.version)
    content = b""
    if stat is not None and stat.type == "file":
        content, stat = context.primary.read(path)
    stamp = _stamp(head, stat, from_primary=from_primary)
    if stat is None or stat.type not in ("file", "directory"):
        return Wanted(kind="nothing", stamp=stamp)
    if stat.type == "directory":
        return Wanted(kind="directory", stamp=stamp, mode=stat.mode)
    return Wanted(kind="file", stamp=stamp, content=content, mode=stat.mode, version=version_of(content))


def _stamp(head: Head | None, stat: FileStat | None, *, from_primary: bool) -> Stamp:
    number = None if head is None else head.number
    if head is not None and head.version is not None and not from_primary:
        return Stamp(head=number, primary=None)
    if stat is None:
        return Stamp(head=number, primary="nothing")
    return Stamp(head=number, primary=stat.identity if stat.type == "file" else stat.type)


def _head_content(
    context: SyncContext, path: WorkspacePath, head: Head, version: str, stat: FileStat | None
) -> tuple[bytes, int | None]:
    if stat is not None and stat.type == "file" and head.size in (None, stat.size):
        try:
            content, stat = context.primary.read(path)
        except FileToolsError as exc:
            _log.debug("the head of %s is taken from the content store: %s", path, exc)
        else:
            if version_of(content) == version:
                return content, stat.mode if head.mode is None else head.mode
    # The primary holds something else: a foreign change that is not recorded yet, and will be an entry of its own.
    return context.journal.contents.get(version), head.mode


def _head(context: SyncContext, path: WorkspacePath, key: str) -> Head | None:
    """Return the head, unless a change is pending that the file does not carry."""
    if not is_recordable(path):
        return None
    view = context.journal.view(key)
    if view.blocked or (view.head is not None and not view.head.applied and not _is_carried(context, path, view.head)):
        raise UnsettledError
    return view.head


def _is_carried(context: SyncContext, path: WorkspacePath, head: Head) -> bool:
    stat = context.primary.stat(path)
    if stat is None or stat.type != "file":
        return head.version is None
    if head.mode not in (None, stat.mode):
        return False  # it may be nothing but the mode that changes
    try:
        return stat.size == head.size and file_version(context.primary, path) == head.version
    except PathNotFoundError:
        return False
