"""A local store on a workspace of its own, and the same store counted, without its quick way of listing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from filetools.stores.store import FileStat, ScanEntry


class DirectStore(LocalStore):
    """A local store that shows its workspace, which the caller closes."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, private_directory=workspace.root / ".filetools")
        self.workspace = workspace


class CountedStore:
    """Passes scan, stat and read on to a store and counts them, with the paths scanned."""

    def __init__(self, inner: LocalStore) -> None:
        self.inner = inner
        self.calls: Counter[str] = Counter()
        self.scanned: list[str] = []

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        self.calls["scan"] += 1
        self.scanned.append(path)
        return self.inner.scan(path)

    def stat(self, path: WorkspacePath) -> FileStat | None:
        self.calls["stat"] += 1
        return self.inner.stat(path)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        self.calls["read"] += 1
        return self.inner.read(path, limit=limit)

    def reset(self) -> None:
        self.calls.clear()
        self.scanned.clear()


def open_store(root: Path) -> DirectStore:
    """Return a store on a directory; its workspace lives as long as the test process."""
    return DirectStore(Workspace.open(root))
