"""Snapshots of the whole tree: taken for a checkpoint, and what a restore lacks to give back exactly that tree.

The journal says how the tree came to be what it is; the snapshot says what it was. A restore goes back record by record,
so that folders and links come back out of the trash as they went; where that does not end in the snapshot, the snapshot wins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from msgspec import Struct, field

from filetools.content.version import version_of
from filetools.errors import AccessDeniedError, FileToolsError, VersionGoneError
from filetools.facade.parts import Parts
from filetools.facade.tree_memory import TreeLook
from filetools.journal.checkpoints import Checkpoint, SnapshotRow
from filetools.journal.plain_rows import PlainRows
from filetools.journal.tree_index import IndexRow
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.versions.draft_tree import KINDS, DraftNode, DraftTree, within

PORTION_BYTES: Final = 8 * 1024 * 1024
PORTION_FILES: Final = 1000
"""Bytes and files kept in one transaction."""


class Taken(Struct, frozen=True):
    """A checkpoint, and what of the tree is not in it as it should be."""

    checkpoint: Checkpoint
    by_hash_alone: list[str]
    """Files that are too large to be kept."""
    unread: list[str]
    """Paths that could not be read, or that changed meanwhile."""


class Left(Struct):
    """What a restore cannot bring to what it was."""

    unknown: set[str] = field(default_factory=set)
    """Paths that the snapshot does not have and of which nobody knows where they come from."""
    refused: dict[str, FileToolsError] = field(default_factory=dict)
    """Why a path cannot be as it was: its bytes were not kept, or what stands there cannot be read."""


def snapshot_of(seen: TreeLook) -> PlainRows[SnapshotRow]:
    """Return the rows of a snapshot of what a look has met; that of the root says what the look has left out.

    What the look before has met comes as the same objects.
    """
    last = seen.snapshots.last
    if last is not None and last[0] is seen.rows and last[1] == seen.scope:
        return last[2]
    rows, before = ({}, {}) if last is None else (last[0].plain, last[2].plain)
    plain = seen.rows.plain
    tree = PlainRows(
        SnapshotRow._make, {key: before[key] for key, row in plain.items() if rows.get(key) is row and key in before}
    )
    for key in plain.keys() - tree.keys():
        row = seen.rows[key]
        if row.kind == "directory" or row.version is not None:
            tree[key] = SnapshotRow(row.path, row.kind, _size(row), row.mode, row.version)
    tree[""] = SnapshotRow("", "other", None, None, seen.scope)
    seen.snapshots.last = (seen.rows, seen.scope, tree)
    return tree


def take(parts: Parts, name: str, seen: TreeLook, *, replace: bool = False, automatic: bool = False) -> Taken | None:
    """Keep what a look has met under a name; None if another has it already. Call it in a worker thread."""
    tree = snapshot_of(seen)
    too_large: list[str] = []
    changed: list[str] = []
    made = parts.journal.checkpoints.save(
        name, tree, seen.position, replace=replace, automatic=automatic, keep=partial(_keep, parts, too_large, changed)
    )
    if made is None:
        return None
    unread = {*seen.unread, *changed}
    return Taken(made, sorted(too_large), sorted(unread))


def complete(
    tree: DraftTree,
    wanted: Mapping[str, SnapshotRow],
    seen: TreeLook,
    came_since: Callable[[str], bool],
    is_left_out: Callable[[str], bool],
) -> Left:
    """Have a draft be the tree of a snapshot.

    Args:
        tree: What going back record by record has led to.
        wanted: The rows of the snapshot, by key.
        seen: What stands now.
        came_since: Whether a record says of a key that it came to be after the snapshot.
        is_left_out: Whether no look meets a path.

    Returns:
        What cannot be as it was, and stays.
    """
    left = Left()
    # With the same rules, what is not in the snapshot was not in the tree.
    is_same_scope = ROOT in wanted and wanted[ROOT].version == seen.scope
    closed = {tree.present.key(path): path for path in seen.closed}
    for key, row in wanted.items():
        standing = seen.rows.get(key)
        is_same = standing is not None and (standing.kind, standing.mode, standing.version) == _facts(row)
        if row.kind == "other" or (is_same and not tree.is_drafted(row.path)):
            continue
        if (place := next((each for each in within(key) if each in closed), None)) is not None:
            tree.put(row.path, tree.present.at(row.path))
            left.refused[closed[place]] = AccessDeniedError(closed[place])
        elif not _put(tree, row):
            left.refused[row.path] = VersionGoneError(row.path, row.version or "")
    # What is in a folder before the folder.
    for key, path in sorted(_beyond(tree, wanted, seen, is_left_out).items(), reverse=True):
        node = tree.at(path)
        if node is None:
            continue
        standing = seen.rows.get(key)
        if standing is not None and standing.kind != "directory" and standing.version is None:
            left.unknown.add(path)  # it cannot be read
        elif node.kind == "folder":
            if next(iter(tree.below(path)), None) is None:
                tree.put(path, None)
        elif (is_same_scope and not is_left_out(path)) or came_since(key):
            tree.put(path, None)
        else:
            left.unknown.add(path)
    return left


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
        try:
            content = _bytes_of(parts, row, most_bytes)
        except FileToolsError:
            changed.append(row.path)
            continue
        if version_of(content) != version:
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


def _bytes_of(parts: Parts, row: SnapshotRow, most_bytes: int) -> bytes:
    path = WorkspacePath(row.path)
    if row.kind == "symlink":
        return parts.store.read_link(path)
    return parts.store.read(path, limit=most_bytes)[0]


def _put(tree: DraftTree, row: SnapshotRow) -> bool:
    """Have a row of the snapshot stand in the draft; False if its bytes are not kept, and what stands there stays."""
    here = tree.at(row.path)
    kind = KINDS[row.kind]
    if here is not None and here.kind != kind:
        here = None
    if kind == "folder":
        if here is None or row.mode not in (None, here.mode):
            # One out of the trash does not come back whole: it has another mode there.
            is_whole = here is not None and (here.origin is None or here.origin.trash is None)
            tree.put(
                row.path, replace(here, mode=row.mode) if here and is_whole else DraftNode(kind=kind, mode=row.mode)
            )
        return True
    version = None if here is None else tree.version(here)
    if version != row.version and not (row.version and tree.present.contents.has(row.version)):
        tree.put(row.path, tree.present.at(row.path))
        return False
    mode = row.mode if kind == "file" else None
    if here is not None and kind == "link" and here.origin is not None and here.origin.top == row.path:
        here = None  # made anew, and not brought back out of the trash, so that a redo knows how to remove it
    if here is None or here.mode != mode or version != row.version:
        origin = None if here is None else here.origin
        tree.put(row.path, DraftNode(kind=kind, origin=origin, version=row.version, mode=mode))
    return True


def _beyond(
    tree: DraftTree, wanted: Mapping[str, SnapshotRow], seen: TreeLook, is_left_out: Callable[[str], bool]
) -> dict[str, str]:
    """Return key and path of what would stand besides the snapshot; what no look meets is not looked for."""
    found = {key: row.path for key, row in seen.rows.items() if key not in wanted}
    for path in tree.drafted():
        key, node = tree.present.key(path), tree.at(path)
        if key not in wanted and node is not None and node.kind != "other" and not is_left_out(path):
            found[key] = path
    return found


def _facts(row: SnapshotRow) -> tuple[str, int | None, str | None]:
    return (row.kind, row.mode, row.version)


def _size(row: IndexRow) -> int | None:
    return row.identity[2] if row.kind == "file" and row.identity is not None else None
