"""What stands on the disk and in the trash, as a plan of an undo looks at it. Nothing is locked: the plan is checked later."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from filetools.content import inspect, version_of
from filetools.errors import FileToolsError
from filetools.facade.parts import Parts
from filetools.paths import WorkspacePath
from filetools.search import walk_tree
from filetools.stores import FileStat
from filetools.versions import Node, Origin


class StandingTree:
    """Implements `Present` for one workspace. Lives for one plan; call it in a worker thread."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._versions: dict[Origin, str] = {}

    def key(self, path: str) -> str:
        """Return the lock key of a path."""
        return self.parts.workspace.key(self._resolved(path))

    def at(self, path: str) -> Node | None:
        """Return what stands at a path."""
        try:
            stat = self.parts.store.stat(self._resolved(path))
        except FileToolsError:
            return None  # what cannot be reached is nothing that could be put back
        return None if stat is None else _node(Origin(path=path), stat)

    def below(self, path: str) -> Iterable[str]:
        """Return the paths of all that stands below a folder, folders before what is in them."""
        return [below for below, _ in walk_tree(self.parts.store, self._resolved(path))]

    def trashed(self, path: str, trash: str) -> list[tuple[str, Node]]:
        """Return what would come back to a path out of the trash, the folder itself first."""
        return list(self._trashed(path, trash))

    def version(self, origin: Origin) -> str:
        """Return the version of the file at an origin; a plan takes it for the same as long as it lives."""
        if origin not in self._versions:
            self._versions[origin] = self._read_version(origin)
        return self._versions[origin]

    def content(self, origin: Origin) -> bytes:
        """Return the bytes of the file at an origin."""
        store = self.parts.store
        if origin.trash is not None:
            return store.read_trashed(WorkspacePath(origin.top), origin.trash, origin.path[len(origin.top) + 1 :])
        return store.read(self._resolved(origin.path), limit=self.parts.settings.max_write_bytes)[0]

    def kept(self, version: str) -> bytes:
        """Return the bytes of a version that the journal keeps.

        Raises:
            VersionGoneError: It does not.
        """
        return self.parts.journal.contents.get(version)

    def _trashed(self, path: str, trash: str) -> Iterator[tuple[str, Node]]:
        for relative, stat in self.parts.store.trashed(self._resolved(path), trash):
            full = f"{path}/{relative}" if relative else path
            yield relative, _node(Origin(path=full, trash=trash, top=path), stat)

    def _read_version(self, origin: Origin) -> str:
        if origin.trash is not None:
            return version_of(self.content(origin))
        path, facts = self._resolved(origin.path), self.parts.facts
        stat = self.parts.store.stat(path)
        known = None if stat is None else facts.get(stat.identity)
        if known is not None:
            return known.version
        taken_ns = time.time_ns()
        content, stat = self.parts.store.read(path, limit=self.parts.settings.max_write_bytes)
        found = inspect(content, name=path)[0]
        facts.put(stat.identity, found, taken_ns=taken_ns)
        return found.version

    def _resolved(self, path: str) -> WorkspacePath:
        return self.parts.workspace.resolve(path)


def _node(origin: Origin, stat: FileStat) -> Node:
    if stat.type == "directory":
        return Node(kind="folder", origin=origin)
    return Node(kind="file" if stat.type == "file" else "other", origin=origin, mode=stat.mode)
