"""What stands on the disk and in the trash, as a plan of an undo looks at it. Nothing is locked: the plan is checked later."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from filetools.content.facts import inspect
from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.facade.parts import Parts
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree
from filetools.stores.store import FileStat
from filetools.versions.draft_tree import DraftNode, Origin


class StandingTree:
    """Implements `Present` for one workspace. Lives for one plan; call it in a worker thread.

    What no call can name, such as a name that is not UTF-8, has no records either: it is something "other", a folder with
    all that is in it, and goes where the folder goes that it is in.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._versions: dict[Origin, str] = {}

    def key(self, path: str) -> str:
        """Return the lock key of a path."""
        return self.parts.workspace.key(path)

    def at(self, path: str) -> DraftNode | None:
        """Return what stands at a path."""
        try:
            stat = self.parts.store.stat(WorkspacePath(path))
        except FileToolsError:
            return None  # what cannot be reached is nothing that could be put back
        return None if stat is None else self._node(Origin(path=path), stat)

    def below(self, path: str) -> Iterable[str]:
        """Return the paths of all that stands below a folder, folders before what is in them."""
        walk = walk_tree(self.parts.store, WorkspacePath(path))
        return [below for below, _ in walk if self._is_seen(below)]

    def trashed(self, path: str, trash: str) -> list[tuple[str, DraftNode]]:
        """Return what would come back to a path out of the trash, the folder itself first."""
        return list(self._trashed(path, trash))

    def version(self, origin: Origin) -> str:
        """Return the version of the file at an origin; a plan takes it for the same as long as it lives."""
        if origin not in self._versions:
            self._versions[origin] = self._read_version(origin)
        return self._versions[origin]

    def content(self, origin: Origin) -> bytes:
        """Return the bytes of the file at an origin."""
        store, path = self.parts.store, WorkspacePath(origin.path)
        if origin.trash is not None:
            return store.read_trashed(WorkspacePath(origin.top), origin.trash, origin.path[len(origin.top) + 1 :])
        if (stat := store.stat(path)) is not None and stat.type == "symlink":
            return store.read_link(path)
        return store.read(path, limit=self.parts.settings.max_write_bytes)[0]

    def has(self, version: str) -> bool:
        """Whether the journal keeps the bytes of a version."""
        return self.parts.journal.contents.has(version)

    def kept(self, version: str) -> bytes:
        """Return the bytes of a version that the journal keeps.

        Raises:
            VersionGoneError: It does not.
        """
        return self.parts.journal.contents.get(version)

    def _trashed(self, path: str, trash: str) -> Iterator[tuple[str, DraftNode]]:
        for relative, stat in self.parts.store.trashed(WorkspacePath(path), trash):
            full = f"{path}/{relative}" if relative else path
            if self._is_seen(full):
                yield relative, self._node(Origin(path=full, trash=trash, top=path), stat)

    def _read_version(self, origin: Origin) -> str:
        if origin.trash is not None:
            return version_of(self.content(origin))
        path, facts = WorkspacePath(origin.path), self.parts.facts
        stat = self.parts.store.stat(path)
        if stat is not None and stat.type == "symlink":
            return version_of(self.content(origin))
        known = None if stat is None else facts.get(stat.identity)
        if known is not None:
            return known.version
        taken_ns = time.time_ns()
        content, stat = self.parts.store.read(path, limit=self.parts.settings.max_write_bytes)
        found = inspect(content, name=path)[0]
        facts.put(stat.identity, found, taken_ns=taken_ns)
        return found.version

    def _is_seen(self, path: str) -> bool:
        """Whether a path is not inside something "other"."""
        return self.parts.workspace.is_addressable(path.rpartition("/")[0] or path)

    def _node(self, origin: Origin, stat: FileStat) -> DraftNode:
        if stat.type == "other" or not self.parts.workspace.is_addressable(origin.path):
            return DraftNode(kind="other", origin=origin, mode=stat.mode)
        if stat.type == "symlink":
            return DraftNode(kind="link", origin=origin)
        if stat.type == "directory":
            return DraftNode(kind="folder", origin=origin, mode=stat.mode)
        return DraftNode(kind="file", origin=origin, mode=stat.mode)
