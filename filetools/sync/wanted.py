"""Decides what should be at a path of a mirror, from the journal and the primary."""

from __future__ import annotations

import logging
import time
from typing import Final, Literal

from msgspec import Struct

from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.journal.changes import Head
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Store
from filetools.sync.context import SyncContext
from filetools.tree.reading import is_text

_YOUNG_NS: Final = 250_000_000
"""Age up to which a path without a row is not copied: a temporary file soon disappears, and no record would say so.

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
        is_late: True to treat a missing path as deleted, although its folder keeps changing.

    Raises:
        UnsettledError: A change of the path is not applied yet, or the path is too young to be judged.
        FileToolsError: The primary or the content store cannot be read.
    """
    head = _head(context, path, key, is_settled=is_settled)
    if head is not None and head.version is not None and head.number:
        content, mode = _head_content(context, path, head, head.version)
        return Wanted(kind="file", content=content, version=head.version, mode=mode)
    stat = context.primary.stat(path)
    is_known = is_text(path) and context.journal.tree_index.get(key) is not None
    if stat is None or stat.type not in ("file", "directory"):
        if is_known and not is_recorded and not is_late and _is_young(context.primary, path.parent):
            raise UnsettledError  # it may come back at once, and no record would be made of that
        return Wanted(kind="nothing")
    if stat.type == "file" and is_recorded and head is not None and head.number:
        return Wanted(kind="nothing")
    if not is_known and is_text(path) and _is_young(context.primary, path):
        raise UnsettledError
    if stat.type == "directory":
        return Wanted(kind="directory", mode=stat.mode)
    content, stat = context.primary.read(path)
    return Wanted(kind="file", content=content, version=version_of(content), mode=stat.mode)


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


def _head(context: SyncContext, path: WorkspacePath, key: str, *, is_settled: bool) -> Head | None:
    """Return the newest version of a file that the journal knows."""
    if not is_text(path):
        return None
    view = context.journal.view(key)
    is_open = view.blocked or (view.head is not None and not view.head.applied)
    if is_open and not is_settled:
        raise UnsettledError
    return view.head
