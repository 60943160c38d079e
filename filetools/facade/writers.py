"""Where calls of this process are at work right now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath


class Writers:
    """The paths that calls are changing, until that is told. One an opened workspace; belongs to its loop."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._keys: Counter[str] = Counter()

    @contextmanager
    def at_work(self, keys: Sequence[str]) -> Iterator[None]:
        """Be at work on the paths of these lock keys."""
        self._keys.update(keys)
        try:
            yield
        finally:
            self._keys.subtract(keys)
            for key in [key for key in keys if not self._keys[key]]:
                del self._keys[key]

    def is_at(self, path: WorkspacePath) -> bool:
        """Whether a call is at work on a path."""
        return bool(self._keys) and self._workspace.key(path) in self._keys
