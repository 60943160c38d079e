"""Decides what should be at a path of a mirror, from the journal and the primary."""

from __future__ import annotations

import logging
import time
from typing import Final, Literal

from msgspec import Struct

from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.journal.changes import Head, View
from filetools.journal.tree_rows import TreeRow
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Store
from filetools.sync.context import SyncContext
from filetools.tree.reading import is_text

_YOUNG_NS: Final = 250_000_000
"""Age up to which a path without a row, or with that of another file, is not copied: it may change back without a record.

Neither is a path with a row that is missing removed, while its folder is as young.
"""
_log = logging.getLogger(__name__)


class UnsettledError(Exception):
    """Raised if a change of a path is not applied yet, or if a path is too young to be judged."""


class Wanted(Struct, frozen=True, kw_only=True):
    """The entry that should be at a path."""

    kind: Literal["file", "directory", "nothing"]
    content: bytes = b""
    version: str = ""
    mode: int | None = None


def wanted(
    context: SyncContext,
    path: WorkspacePath,
    key: str,
    *,
    is_recorded: bool = False,
    is_settled: bool = False,
    is_late: bool = False,
) -> Wanted:
    """Return the entry that should be at a path of a mirror.

    For a recorded file its newest version in the journal counts, because the primary may differ for an instant of which no
    record is made.

    Args:
        context: The journal and the primary.
        path: The path.
        key: Its key in the journal.
        is_recorded: True to follow a record of the path: a recorded deletion counts until a record of a new file.
        is_settled: True to treat a change that is not marked as applied as applied.
        is_late: True if the path has been too young for so long that it is judged all the same.

    Raises:
        UnsettledError: A change of the path is not applied yet, or the path is too young to be judged.
        FileToolsError: The primary or the content store cannot be read.
    """
    view = context.journal.view(key) if is_text(path) else View(head=None)
    head = view.head
    if not is_settled and (view.blocked or (head is not None and not head.applied)):
        raise UnsettledError
    if head is not None and head.version is not None and head.number:
        content, mode = _head_content(context, path, head, head.version)
        return Wanted(kind="file", content=content, version=head.version, mode=mode)
    stat = context.primary.stat(path)
    is_there = stat is not None and stat.type in ("file", "directory")
    is_deleted = not is_there or (stat is not None and stat.type == "file" and head is not None and head.number > 0)
    if is_recorded and is_deleted:
        return Wanted(kind="nothing")
    row = context.journal.tree_index.get(key) if is_text(path) else None
    is_unseen = is_text(path) and (is_there != (row is not None) or _is_changed(row, stat))
    if is_unseen and not is_late and _is_young(context.primary, path):
        raise UnsettledError  # it may change back at once, and no record would be made of that
    if stat is None or not is_there:
        return Wanted(kind="nothing")
    if stat.type == "directory":
        return Wanted(kind="directory", mode=stat.mode)
    content, stat = context.primary.read(path)
    return Wanted(kind="file", content=content, version=version_of(content), mode=stat.mode)


def _is_changed(row: TreeRow | None, stat: FileStat | None) -> bool:
    """True if a file is another one, or has another mode, than the one that was seen."""
    if row is None or row.identity is None or stat is None or stat.type != "file":
        return False
    return row.identity[:4] != stat.identity[:4] or row.mode not in (None, stat.mode)


def _is_young(store: Store, path: WorkspacePath) -> bool:
    while (stat := store.stat(path)) is None and not path.is_root:
        path = path.parent
    return stat is not None and 0 <= time.time_ns() - stat.changed_ns < _YOUNG_NS


def _head_content(context: SyncContext, path: WorkspacePath, head: Head, version: str) -> tuple[bytes, int | None]:
    try:
        content, stat = context.primary.read(path)
    except FileToolsError as exc:
        _log.debug("the content of %s is read from the content store: %s", path, exc)
    else:
        if version_of(content) == version:
            return content, stat.mode if head.mode is None else head.mode
    # The primary differs by a foreign change that is not recorded yet, and will get a record of its own.
    return context.journal.contents.get(version), head.mode
