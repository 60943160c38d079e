"""A look at the whole tree: records what differs from the rows, and reads files that were never read."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial

from msgspec import Struct, structs

from filetools.content.version import version_of
from filetools.errors import AccessDeniedError, FileTooLargeError, FileToolsError, PathNotFoundError
from filetools.facade.background.foreign import ForeignChanges, Uncertain
from filetools.facade.parts import Parts
from filetools.facade.steps.look import hashed
from filetools.journal.tree_index import IndexRow, ReadVersion
from filetools.paths.ignore import IGNORE_FILE
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat
from filetools.tree.reading import settled_identity


class TreeLook(Struct, frozen=True, kw_only=True):
    """The state of the tree that a look found. Paths in none of the lists are as the journal says."""

    position: int
    """Number of the newest record that the rows include."""
    rows: dict[str, IndexRow]
    """All files and folders of the tree, by key."""
    closed: list[str]
    """Unreadable paths."""
    moving: list[str]
    """Paths that other programs were changing during the look."""
    unnamed: list[str]
    """Names that no call can address, such as names that are not UTF-8; escaped."""
    scope: str
    """Hash of the exclusions (rules, ignore files, unreadable paths); looks with the same scope are comparable."""

    @property
    def unread(self) -> list[str]:
        """All paths that the look could not determine."""
        return sorted({*self.closed, *self.moving, *self.unnamed})


async def look_at_tree(parts: Parts, foreign: ForeignChanges, check_open: Callable[[], None]) -> TreeLook:
    """Record foreign changes, then return the state of the tree.

    Args:
        parts: The workspace.
        foreign: Records changes by other programs.
        check_open: Raises if the workspace was closed, which ends the look.
    """
    return await parts.workers.run(partial(_current, parts, await foreign.look(), check_open))


def _current(parts: Parts, uncertain: Uncertain, check_open: Callable[[], None]) -> TreeLook:
    position, rows = parts.journal.tree_index.standing()
    rows.pop("", None)
    _drop_left_out(parts, rows)
    for key in map(parts.workspace.key, uncertain.closed):
        if (row := rows.get(key)) is not None and row.version is not None:
            rows[key] = structs.replace(row, version=None)
    closed, moving = _read_unread(parts, rows, check_open)
    closed = sorted({*closed, *uncertain.closed})
    rules = parts.observer.rules_version(), closed
    ignoring = sorted((row.path, row.version) for row in rows.values() if row.path.rpartition("/")[2] == IGNORE_FILE)
    return TreeLook(
        position=position, rows=rows, closed=closed, moving=[*uncertain.moving, *moving],
        unnamed=[*uncertain.unnamed],
        scope=version_of(repr([*rules, ignoring]).encode("utf-8", "surrogateescape")),
    )  # fmt: skip


def _drop_left_out(parts: Parts, rows: dict[str, IndexRow]) -> None:
    """Drop rows of excluded paths: they were added before the rule, or by a call that named the path."""
    found: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
    for row in rows.values():
        if row.number == 0:
            folder, _, name = row.path.rpartition("/")
            found[folder, row.kind == "directory"].append(name)
    left_out = parts.observer.left_out()
    for (folder, is_directory), names in found.items():
        for path in left_out.among(folder, names, is_directory):
            del rows[parts.workspace.key(path)]


def _read_unread(
    parts: Parts, rows: dict[str, IndexRow], check_open: Callable[[], None]
) -> tuple[list[str], list[str]]:
    """Read files without a version; returns the unreadable paths, and those that changed meanwhile."""
    read: list[ReadVersion] = []
    closed: list[str] = []
    changed: list[str] = []
    for key, row in [
        (key, row) for key, row in rows.items() if row.version is None and row.kind in ("file", "symlink")
    ]:
        check_open()
        path, taken_ns = WorkspacePath(row.path), time.time_ns()
        try:
            version, stat = _version(parts, path, row)
        except (AccessDeniedError, FileTooLargeError):
            closed.append(row.path)
            continue
        except FileToolsError:
            changed.append(row.path)
            continue
        if row.identity not in (None, stat.identity):  # it has changed since its row was written
            changed.append(row.path)
            continue
        identity = settled_identity(stat, taken_ns, parts.store.tick_ns)
        rows[key] = structs.replace(row, version=version, identity=stat.identity, mode=stat.mode)
        read.append(ReadVersion(key, row.kind, version, stat.identity, identity[4]))
    parts.journal.tree_index.note_read(read)
    return closed, changed


def _version(parts: Parts, path: WorkspacePath, row: IndexRow) -> tuple[str, FileStat]:
    if row.kind == "symlink":
        target, stat = parts.store.read_link(path), parts.store.stat(path)
        if stat is None:
            raise PathNotFoundError(path)
        return version_of(target), stat
    if row.identity is not None and (facts := parts.facts.get(row.identity)) is not None:
        stat = parts.store.stat(path)
        if stat is not None and stat.identity == row.identity:
            return facts.version, stat
    try:
        content, found = parts.store.read(path, limit=parts.settings.max_foreign_bytes)
    except FileTooLargeError:
        return hashed(parts, path)
    return version_of(content), found
