"""Compares a mirror with the primary: which paths are to be added, modified or deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from filetools.content.identity_cache import IdentityCache
from filetools.errors import FileToolsError
from filetools.journal.changes import BacklogEntry
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Store
from filetools.sync.mirror_files import GONE, file_version


class Plan(Struct, kw_only=True):
    """The differences of two trees, in the order in which they are repaired; directories come before their entries."""

    added: list[WorkspacePath] = field(default_factory=list)
    modified: list[WorkspacePath] = field(default_factory=list)
    deleted: list[WorkspacePath] = field(default_factory=list)
    """Files, then directories to be removed once they are empty, the deepest first."""
    equal: list[WorkspacePath] = field(default_factory=list)
    """Files that are the same in both."""
    failed: dict[WorkspacePath, FileToolsError] = field(default_factory=dict)
    """Paths that could not be compared."""

    @property
    def changes(self) -> list[WorkspacePath]:
        """All paths to be repaired."""
        return [*self.added, *self.modified, *self.deleted]


class Versions:
    """Versions of one store's files by identity, so that an unchanged file is hashed once. Lives as its store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: IdentityCache[str] = IdentityCache(max_entries=200_000)

    def of(self, path: WorkspacePath, stat: FileStat, *, fresh: bool) -> str:
        """Return the version of a file.

        Args:
            path: Where it is.
            stat: Its facts.
            fresh: True to read it in any case.
        """
        version = None if fresh else self._known.get(stat.identity)
        if version is None:
            taken_ns = time.time_ns()
            version = file_version(self.store, path)
            if self.store.stat(path) == stat:
                self._known.put(stat.identity, version, taken_ns=taken_ns)
        return version


def compared(
    top: WorkspacePath,
    primary: Versions,
    mirror: Versions,
    left_out: Callable[[str, bool], bool],
    *,
    is_fresh: bool,
    go_on: Callable[[], None],
) -> Plan:
    """Compare both trees below `top`, which may be missing in either. Blocks; holds no lock, so paths may change meanwhile.

    Args:
        top: The folder.
        primary: The tree that the mirror should equal.
        mirror: The tree of the mirror.
        left_out: As in `SyncContext`.
        is_fresh: True to read every file, even if it looks unchanged.
        go_on: Called before each folder and file; what it raises ends the comparison.
    """
    plan, pending, emptied = Plan(), [top], list[WorkspacePath]()
    while pending:
        folder = pending.pop()
        go_on()
        try:
            here, there = _names(primary.store, folder), _names(mirror.store, folder)
        except FileToolsError as exc:
            # A folder that cannot be listed is not missing: nothing below it may be added or deleted.
            plan.failed[folder] = exc
            continue
        for name in sorted({*here, *there}):
            path = folder.child(name)
            is_directory = "directory" in (here.get(name), there.get(name))
            if left_out(path, is_directory):
                continue
            if (kind := here.get(name)) == there.get(name) == "file":
                go_on()
                _compare_files(plan, path, primary, mirror, is_fresh=is_fresh)
            elif kind not in ("file", "directory"):
                if name in there:
                    (emptied if is_directory else plan.deleted).append(path)
            elif name not in there:
                plan.added.append(path)
            elif kind != there[name]:
                plan.modified.append(path)
            if is_directory:
                pending.append(path)
    plan.deleted.extend(sorted(emptied, key=lambda path: len(path.parts), reverse=True))
    return plan


def _compare_files(plan: Plan, path: WorkspacePath, primary: Versions, mirror: Versions, *, is_fresh: bool) -> None:
    try:
        here, there = primary.store.stat(path), mirror.store.stat(path)
        is_equal = (
            here is not None
            and there is not None
            and (here.size, here.mode) == (there.size, there.mode)
            and primary.of(path, here, fresh=is_fresh) == mirror.of(path, there, fresh=is_fresh)
        )
        (plan.equal if is_equal else plan.modified).append(path)
    except GONE:
        plan.modified.append(path)
    except FileToolsError as exc:
        plan.failed[path] = exc


def _names(store: Store, folder: WorkspacePath) -> dict[str, EntryType]:
    try:
        return {entry.name: entry.type for entry in store.scan(folder)}
    except GONE:
        return {}


def by_change(entries: Iterable[BacklogEntry]) -> Iterator[list[BacklogEntry]]:
    """Yield the entries of each change together, for each path only the newest, with `below` set if there were others."""
    newest: dict[str, BacklogEntry] = {}
    for entry in entries:
        is_known = newest.pop(entry.key, None) is not None
        newest[entry.key] = replace(entry, below=True) if is_known else entry
    for _, several in groupby(newest.values(), lambda entry: entry.number):
        yield list(several)
