"""A look at the whole tree, before something is said of all of it: what differs is recorded, and what is unread is read."""

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
    """What one look has met. Whatever is not named stands as the journal says."""

    position: int
    """Number of the newest record that the rows show."""
    rows: dict[str, IndexRow]
    """All that stands in the tree, by key."""
    closed: list[str]
    """Paths that could not be read."""
    moving: list[str]
    """Paths that kept changing, or that somebody was at work on, while the tree was looked at."""
    unnamed: list[str]
    """Names that no call can say, such as those that are no UTF-8; escaped."""
    scope: str
    """Version of what is left out: rules, ignore files, and what could not be read; equal for looks that see the same."""

    @property
    def unread(self) -> list[str]:
        """Paths of which nothing is known for sure."""
        return sorted({*self.closed, *self.moving, *self.unnamed})


async def look_at_tree(parts: Parts, foreign: ForeignChanges, check_open: Callable[[], None]) -> TreeLook:
    """Have recorded what differs from what is known; returns what stands.

    Args:
        parts: The workspace.
        foreign: Has recorded what other programs did.
        check_open: Raises if the workspace was closed: a look ends with it.
    """
    return await parts.workers.run(partial(_standing, parts, await foreign.look(), check_open))


def _standing(parts: Parts, uncertain: Uncertain, check_open: Callable[[], None]) -> TreeLook:
    position, rows = parts.journal.tree_index.standing()
    rows.pop("", None)
    _drop_left_out(parts, rows)
    for key in map(parts.workspace.key, uncertain.closed):
        if (row := rows.get(key)) is not None and row.version is not None:
            rows[key] = structs.replace(row, version=None)
    closed, moving = _read_unread(parts, rows, check_open)
    closed = sorted({*closed, *uncertain.closed})
    rules = [*parts.settings.exclude], closed
    ignoring = sorted((row.path, row.version) for row in rows.values() if row.path.rpartition("/")[2] == IGNORE_FILE)
    return TreeLook(
        position=position, rows=rows, closed=closed, moving=[*uncertain.moving, *moving],
        unnamed=[*uncertain.unnamed],
        scope=version_of(repr([*rules, ignoring]).encode("utf-8", "surrogateescape")),
    )  # fmt: skip


def _drop_left_out(parts: Parts, rows: dict[str, IndexRow]) -> None:
    """Drop what was met before ignore rules left it out, or because a call has named it."""
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
    """Read what nobody has read yet; returns what may not be read, and what has changed meanwhile."""
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
        if row.identity not in (None, stat.identity):  # other bytes than the row's number tells of
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
