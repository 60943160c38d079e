"""A look at the whole tree: records what differs from the rows, and reads files that were never read."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from msgspec import Struct, structs

from filetools.changes.foreign import ForeignChanges
from filetools.changes.parts import Parts
from filetools.changes.steps.look import hashed
from filetools.content.version import version_of
from filetools.errors import AccessDeniedError, FileTooLargeError, FileToolsError
from filetools.journal.checkpoints import Comparison, SnapshotRow, Tree
from filetools.journal.storage.contents import digest_of
from filetools.journal.tree_rows import ReadVersion, TreeRow
from filetools.paths.ignore import IGNORE_FILE
from filetools.paths.workspace_path import WorkspacePath
from filetools.tree.observer import WholeLook
from filetools.tree.reading import settled_identity


class TreeLook(Struct, frozen=True, kw_only=True):
    """What a look at the whole tree could not determine. All other paths are as the journal says."""

    closed: list[str]
    """Unreadable paths."""
    moving: list[str]
    """Paths that other programs were changing during the look."""
    unnamed: list[str]
    """Names that no call can address, such as names that are not UTF-8; escaped."""
    scope: str
    """Hash of the exclusions (rules, ignore files, unreadable paths); looks with the same scope are comparable."""
    kept_bytes: int
    """Bytes that it has kept for a checkpoint."""

    @property
    def unread(self) -> list[str]:
        """All paths that the look could not determine."""
        return sorted({*self.closed, *self.moving, *self.unnamed})


async def look_at_tree(
    parts: Parts, foreign: ForeignChanges, check_open: Callable[[], None], *, keep: bool = False
) -> TreeLook:
    """Record foreign changes, and read files that were never read.

    Args:
        parts: The workspace.
        foreign: Records changes by other programs.
        check_open: Raises if the workspace was closed, which ends the look.
        keep: True to keep the bytes that it reads, for a checkpoint.
    """
    return await parts.workers.run(partial(_current, parts, await foreign.look(), check_open, keep))


def compared(parts: Parts, seen: TreeLook, snapshot: int | None = None) -> Comparison:
    """Compare the tree with a snapshot, by default the newest one, without excluded paths. Call it in a worker thread.

    The rows of unreadable paths have no version, and the row of the root has the version of the rules that left paths out.
    """
    found = parts.journal.checkpoints.compare(seen.scope, snapshot)
    now = {**found.now, "": SnapshotRow("", "other", None, None, seen.scope)}
    for key in _left_out(parts, [now[key] for key in found.unrecorded]):
        del now[key]
    for key in map(parts.workspace.key, seen.closed):
        if key in now:
            now[key] = structs.replace(now[key], version=None)
    return structs.replace(found, now=now)


def current_tree(parts: Parts, seen: TreeLook, snapshot: int, tree: Tree) -> dict[str, SnapshotRow]:
    """Return the rows of the current tree by key, from those of a snapshot and the differences."""
    found = compared(parts, seen, snapshot)
    same = {} if found.is_whole else {key: row for key, row in tree.items() if key not in found.before}
    return {**same, **found.now}


def _current(parts: Parts, whole: WholeLook, check_open: Callable[[], None], keep: bool) -> TreeLook:
    index = parts.journal.tree_index
    rows = index.to_look_at()
    for key in _left_out(parts, [row for row in rows.values() if row.number == 0]):
        del rows[key]
    for key in map(parts.workspace.key, whole.closed):
        if (row := rows.get(key) or index.get(key)) is not None:
            rows[key] = structs.replace(row, version=None)
    closed, moving, kept = list[str](), list[str](), dict[str, int]()
    reading = _read_unread(parts, rows, check_open, closed, moving)
    if keep:
        parts.journal.contents.keep_all(_to_keep(parts, reading, kept))
    else:
        deque(reading, maxlen=0)
    read = {row.path for row in rows.values() if row.version is not None}
    closed = sorted({*closed, *whole.closed} - read)
    rules = parts.observer.rules_version(), closed
    ignoring = sorted((row.path, row.version) for row in rows.values() if row.path.rpartition("/")[2] == IGNORE_FILE)
    return TreeLook(
        closed=closed, moving=[*whole.moving, *moving], unnamed=[*whole.unnamed],
        scope=version_of(repr([*rules, ignoring]).encode("utf-8", "surrogateescape")), kept_bytes=sum(kept.values()),
    )  # fmt: skip


def _left_out(parts: Parts, rows: Iterable[TreeRow | SnapshotRow]) -> Iterator[str]:
    """Yield the keys of excluded paths: their rows were added before the rule, or by a call that named the path."""
    found: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
    for row in rows:
        folder, _, name = row.path.rpartition("/")
        found[folder, row.kind == "directory"].append(name)
    left_out = parts.observer.left_out()
    for (folder, is_directory), names in found.items():
        yield from map(parts.workspace.key, left_out.among(folder, names, is_directory))


def _read_unread(
    parts: Parts, rows: dict[str, TreeRow], check_open: Callable[[], None], closed: list[str], changed: list[str]
) -> Iterator[tuple[str, bytes]]:
    """Read files and links without a version; yields their versions and bytes, except those of large files.

    Adds the unreadable paths to `closed`, and those that changed meanwhile to `changed`.
    """
    read: list[ReadVersion] = []
    for key, row in [
        (key, row) for key, row in rows.items() if row.version is None and row.kind in ("file", "symlink")
    ]:
        check_open()
        path, taken_ns = WorkspacePath(row.path), time.time_ns()
        content: bytes | None = None
        try:
            if row.kind == "symlink":
                content, stat = parts.store.read_link(path), parts.store.stat(path)
            else:
                with suppress(FileTooLargeError):
                    content, stat = parts.store.read(path, limit=parts.settings.max_foreign_bytes)
            version, stat = hashed(parts, path) if content is None else (version_of(content), stat)
        except (AccessDeniedError, FileTooLargeError):
            closed.append(row.path)
            continue
        except FileToolsError:
            changed.append(row.path)
            continue
        if stat is None or row.identity not in (None, stat.identity):  # it has changed since its row was written
            changed.append(row.path)
            continue
        identity = settled_identity(stat, taken_ns, parts.store.tick_ns)
        digest = digest_of(version)
        rows[key] = structs.replace(row, version=digest, identity=stat.identity, mode=stat.mode)
        read.append(ReadVersion(key, row.kind, digest, stat.identity, identity[4]))
        if content is not None:
            yield version, content
    parts.journal.tree_index.note_read(read)


def _to_keep(parts: Parts, read: Iterable[tuple[str, bytes]], kept: dict[str, int]) -> Iterator[tuple[str, bytes]]:
    """Yield the versions that a checkpoint keeps; adds their sizes to `kept`."""
    left = parts.settings.snapshot_max_bytes
    for version, content in read:
        if version not in kept and len(content) <= min(left, parts.settings.snapshot_max_file_bytes):
            left -= len(content)
            kept[version] = len(content)
            yield version, content
