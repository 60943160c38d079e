"""Compares names with rows: what is unchanged, what has moved, by inode, and records the moves."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, structs

from filetools.errors import FileToolsError
from filetools.journal.commit import ObservedChanges
from filetools.journal.storage.contents import Contents
from filetools.journal.tree_rows import TreeRow, TreeTable
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, PrimaryStore
from filetools.tree.hints import Names
from filetools.tree.reading import UNSETTLED, is_text, stat_if_any


class ObservationContext(Struct, frozen=True, kw_only=True):
    """The context of an observation."""

    rows: TreeTable
    store: PrimaryStore
    contents: Contents
    found: ObservedChanges
    """Collects the changes."""
    is_left_out: Callable[[str, bool], bool]
    """True if ignore rules leave out a path; the second argument is True for a folder."""
    knows_all: bool
    """True if the whole tree was looked at once: what is new from then on was made since. Before that it was found, and is
    not recorded."""
    largest_kept_bytes: int
    """Size up to which the bytes of a foreign change are kept."""
    largest_read_bytes: float = math.inf
    """Size up to which a file is read and hashed at all: a sparse one may be of any size."""
    is_overlooked: Callable[[WorkspacePath, FileStat], bool] = lambda path, stat: False
    """True if something new was there before, when ignore rules left it out: then it is found, and not made."""


Replaced: TypeAlias = tuple[WorkspacePath, FileStat]
"""A path whose row no longer matches what is there, and the facts of that."""


def news_in(
    rows: TreeTable, folder: TreeRow, names: Names, found: Mapping[str, FileStat], gone: dict[str, TreeRow]
) -> tuple[dict[str, TreeRow], set[str]]:
    """Return the rows known in a folder that may have changed, by key, and the names in it that may have.

    Args:
        rows: Known rows.
        folder: The folder.
        names: Names in it; None for all.
        found: Facts of what is there.
        gone: Rows of what was missed; those of unchanged files are removed.
    """
    prefix = f"{folder.path}/" if folder.path else ""
    keys = None if names is None else [rows.key_of(f"{prefix}{name}") for name in names if is_text(name)]
    known, with_news = dict[str, TreeRow](), set(found)
    for key, path, kind, *identity in rows.known_in(folder.key, keys):
        name = path.rpartition("/")[2]
        stat = found.get(name)
        if stat is not None and kind == "file" == stat.type and tuple(identity) == stat.identity:
            gone.pop(key, None)
            with_news.discard(name)
        elif (row := rows.get(key)) is not None:
            known[key] = row
    return known, with_news


def source_of(rows: TreeTable, store: PrimaryStore, path: WorkspacePath, stat: FileStat) -> TreeRow | None:
    """Return the row of what has moved to a path; None if it is new.

    Args:
        rows: Known rows.
        store: Shows whether an inode is still at its old path, too, as with a second hard link.
        path: Where it is now.
        stat: Its facts.
    """
    for row in rows.by_inode(*stat.identity[:2]):
        is_elsewhere = row.path != path and not path.is_below(row.path)
        if (
            row.kind == stat.type
            and is_elsewhere
            and not _is_at(store, row, stat)
            and _is_same(rows, store, row, path, stat)
        ):
            return row
    return None


def _is_at(store: PrimaryStore, row: TreeRow, stat: FileStat) -> bool:
    now = stat_if_any(store, WorkspacePath(row.path))
    return now is not None and now.identity[:2] == stat.identity[:2]


def _is_same(rows: TreeTable, store: PrimaryStore, row: TreeRow, path: WorkspacePath, stat: FileStat) -> bool:
    """True if an inode is the same entry as before; a new file may have the inode of a deleted one."""
    if row.kind != "directory":
        # A rename keeps size and mtime.
        return row.identity is not None and row.identity[2:4] == stat.identity[2:4]
    known = {child.path[len(row.path) + 1 :] for child in rows.children(row.key)}
    try:
        _, found = store.look_into(path)
    except FileToolsError:
        return False
    return bool(known & found.keys()) or (not known and not found)


def is_same_folder(context: ObservationContext, row: TreeRow, path: WorkspacePath, stat: FileStat) -> bool:
    """True if a folder with another inode counts as the known one: something known is in it, or both are empty.

    Before the end of the first look at the whole tree it always does: what is found in a new one would not be recorded.
    """
    if row.kind != "directory" or stat.type != "directory":
        return False
    return not context.knows_all or _is_same(context.rows, context.store, row, path, stat)


def record_move(rows: TreeTable, found: ObservedChanges, row: TreeRow, path: WorkspacePath, stat: FileStat) -> TreeRow:
    """Record a move by another program, or a rename that changes only the spelling, and update the rows of what moved.

    Returns:
        The new row, with an unsettled identity if the bytes are so young that they must be read again.
    """
    kind = Operation.MOVE_DIRECTORY if row.kind == "directory" else Operation.MOVE
    key, size = rows.key_of(path), row.identity[2] if row.kind != "directory" and row.identity is not None else None
    number = found.add(
        kind,
        path,
        key,
        old=(row.path, row.key),
        before=row.version,
        after=row.version,
        size=size,
        mode=stat.mode,
        is_link=row.kind == "symlink",
    )
    # Where a folder takes the place of its parent, something below it may have got its former name.
    if key != row.key and (row.kind != "directory" or rows.get(row.key) is None):
        rows.put((structs.replace(row, kind="absent", identity=None, number=number, file=new_file_id()),))
    identity = row.identity
    if row.kind == "directory":
        identity = stat.identity
    elif identity is not None and identity[:4] == stat.identity[:4]:  # else its bytes may have changed, too
        # The rename changed the ctime; unsettled bytes stay so.
        identity = (*identity[:4], UNSETTLED if identity[4] == UNSETTLED else stat.identity[4])
    moved = structs.replace(row, key=key, path=path, mode=stat.mode, identity=identity, number=number)
    rows.put((moved,))
    return moved


def take_next_replaced(rows: TreeTable, replaced: list[Replaced]) -> Replaced:
    """Take a path whose former entry is at none of the others, so that entries move before they are recorded as gone."""
    arriving = {stat.identity[:2]: path for path, stat in replaced}
    for at, (path, _) in enumerate(replaced):
        row = rows.at(path)
        if row is None or row.identity is None or arriving.get(row.identity[:2], path) == path:
            return replaced.pop(at)
    return replaced.pop(0)  # they have exchanged places in a circle


def new_file_id() -> int:
    """Return an id for a file that was not known before."""
    return int.from_bytes(os.urandom(7), "big")
