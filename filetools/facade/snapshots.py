"""Snapshots of the whole tree, as they are taken for a checkpoint. The journal says how it came to be so."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.facade.parts import Parts
from filetools.facade.tree_look import TreeLook
from filetools.journal.checkpoints import Checkpoint, SnapshotRow
from filetools.paths.workspace_path import WorkspacePath

PORTION_BYTES: Final = 8 * 1024 * 1024
PORTION_FILES: Final = 1000
"""Bytes and files kept in one transaction."""


def snapshot_of(seen: TreeLook) -> dict[str, SnapshotRow]:
    """Return the rows of a snapshot of what a look has met; that of the root says what the look has left out."""
    tree: dict[str, SnapshotRow] = {}
    for key, row in seen.rows.items():
        if row.kind == "directory" or row.version is not None:
            size = row.identity[2] if row.kind == "file" and row.identity is not None else None
            tree[key] = SnapshotRow(row.path, row.kind, size, row.mode, row.version)
    tree[""] = SnapshotRow("", "other", None, None, seen.scope)
    return tree


def take(
    parts: Parts, name: str, seen: TreeLook, *, replace: bool = False, automatic: bool = False
) -> tuple[Checkpoint, list[str], list[str]] | None:
    """Keep what a look has met under a name. Call it in a worker thread.

    Returns:
        The checkpoint, the files that are too large to be kept, and what could not be read, or changed meanwhile; None if
        another has the name already.
    """
    tree = snapshot_of(seen)
    too_large: list[str] = []
    changed: list[str] = []
    made = parts.journal.checkpoints.save(
        name, tree, seen.position, replace=replace, automatic=automatic, keep=partial(_keep, parts, too_large, changed)
    )
    if made is None:
        return None
    unread = {*seen.unread, *changed}
    return made, sorted(too_large), sorted(unread)


def _keep(parts: Parts, too_large: list[str], changed: list[str], tree: Mapping[str, SnapshotRow]) -> set[str]:
    """Keep the bytes of all files that are not kept yet, as far as they are not too large and stand as they were met.

    Args:
        parts: The workspace.
        too_large: Gets the paths of files that are.
        changed: Gets the paths of those that stand no more as they were met, or cannot be read.
        tree: What is to be kept.

    Returns:
        The keys of those that they still lack.
    """
    too_large.clear()
    changed.clear()
    files = {row.version: row for row in tree.values() if row.kind in ("file", "symlink") and row.version is not None}
    most_bytes = parts.settings.snapshot_max_file_bytes
    portion: dict[str, bytes] = {}
    left, held = parts.settings.snapshot_max_bytes, 0
    for version in parts.journal.contents.missing(files):
        row = files[version]
        if (row.size or 0) > min(most_bytes, left):
            too_large.append(row.path)
            continue
        content = _content_of(parts, row, most_bytes)
        if content is None:
            changed.append(row.path)
            continue
        portion[version] = content
        left -= len(content)
        held += len(content)
        if held > PORTION_BYTES or len(portion) >= PORTION_FILES:
            parts.journal.contents.keep_all(portion)
            portion, held = {}, 0
    parts.journal.contents.keep_all(portion)
    lost = {*too_large, *changed}
    versions = {row.version for row in tree.values() if row.path in lost} if lost else set()
    return {key for key, row in tree.items() if row.version in versions} if lost else set()


def _content_of(parts: Parts, row: SnapshotRow, most_bytes: int) -> bytes | None:
    """Return the bytes that a row is about; None if there are others by now, or they cannot be read."""
    path = WorkspacePath(row.path)
    with suppress(FileToolsError):
        content = parts.store.read_link(path) if row.kind == "symlink" else parts.store.read(path, limit=most_bytes)[0]
        return content if version_of(content) == row.version else None
    return None
