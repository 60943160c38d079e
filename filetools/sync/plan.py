"""What distinguishes a mirror from the primary: which paths are to be added, modified or deleted."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct, field

from filetools.content.identity_cache import IdentityCache
from filetools.errors import FileToolsError
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Store
from filetools.sync.mirror_files import GONE, file_version


class Plan(Struct, kw_only=True):
    """The differences of two trees, in the order to mend them; directories come before what is in them."""

    added: list[WorkspacePath] = field(default_factory=list)
    modified: list[WorkspacePath] = field(default_factory=list)
    deleted: list[WorkspacePath] = field(default_factory=list)
    emptied: list[WorkspacePath] = field(default_factory=list)
    """Directories that are to go once nothing is in them, the deepest first."""
    equal: list[WorkspacePath] = field(default_factory=list)
    """Files that are the same in both."""
    failed: dict[WorkspacePath, FileToolsError] = field(default_factory=dict)
    """Paths that could not be compared."""
    directories: set[WorkspacePath] = field(default_factory=set)
    """Those of the added and modified ones that are directories."""

    @property
    def changes(self) -> list[WorkspacePath]:
        """Everything to be mended but the emptied directories."""
        return [*self.added, *self.modified, *self.deleted]


class Versions:
    """Versions of one store's files by identity, so that what did not change is hashed once. Lives as its store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: IdentityCache[str] = IdentityCache(max_entries=200_000)

    def of(self, path: WorkspacePath, stat: FileStat, *, fresh: bool) -> str:
        """Return the version of a file.

        Args:
            path: Where it is.
            stat: What it was a moment ago.
            fresh: Whether it is read in any case.
        """
        version = None if fresh else self._known.get(stat.identity)
        if version is None:
            taken_ns = time.time_ns()
            version = file_version(self._store, path)
            if self._store.stat(path) == stat:
                self._known.put(stat.identity, version, taken_ns=taken_ns)
        return version


class Comparison:
    """One walk through both trees. Its methods may block; it holds no lock, so its plan is a list of suspicions."""

    def __init__(
        self,
        primary: Versions,
        mirror: Versions,
        stores: tuple[Store, Store],
        left_out: Callable[[str, bool], bool],
        *,
        fresh: bool,
        go_on: Callable[[], None],
    ) -> None:
        self._versions = (primary, mirror)
        self._primary, self._mirror = stores
        self._left_out = left_out
        self._fresh = fresh
        self._go_on = go_on
        self.plan = Plan()

    def walk(self, top: WorkspacePath) -> Plan:
        """Compare everything below `top`; directories on either side may be missing."""
        pending = [top]
        while pending:
            folder = pending.pop()
            self._go_on()
            try:
                here, there = _names(self._primary, folder), _names(self._mirror, folder)
            except FileToolsError as exc:
                # What cannot be listed is not missing: nothing below it may be added or deleted for that.
                self.plan.failed[folder] = exc
                continue
            for name in sorted({*here, *there}):
                path = folder.child(name)
                is_directory = "directory" in (here.get(name), there.get(name))
                if self._left_out(path, is_directory):
                    continue
                self._compare(path, here.get(name), there.get(name))
                if is_directory:
                    pending.append(path)
        self.plan.emptied.sort(key=lambda path: len(path.parts), reverse=True)
        return self.plan

    def _compare(self, path: WorkspacePath, here: EntryType | None, there: EntryType | None) -> None:
        plan = self.plan
        if here not in ("file", "directory"):
            if there is not None:
                (plan.emptied if there == "directory" else plan.deleted).append(path)
        elif there is None:
            plan.added.append(path)
        elif here != there:
            plan.modified.append(path)
        elif here == "file":
            self._compare_files(path)
        if here == "directory" != there:
            plan.directories.add(path)

    def _compare_files(self, path: WorkspacePath) -> None:
        self._go_on()
        try:
            (self.plan.equal if self._are_equal(path) else self.plan.modified).append(path)
        except GONE:
            self.plan.modified.append(path)
        except FileToolsError as exc:
            self.plan.failed[path] = exc

    def _are_equal(self, path: WorkspacePath) -> bool:
        here, there = self._primary.stat(path), self._mirror.stat(path)
        if here is None or there is None or (here.size, here.mode) != (there.size, there.mode):
            return False
        first, second = self._versions
        return first.of(path, here, fresh=self._fresh) == second.of(path, there, fresh=self._fresh)


def _names(store: Store, folder: WorkspacePath) -> dict[str, EntryType]:
    try:
        return {entry.name: entry.type for entry in store.scan(folder)}
    except GONE:
        return {}
