"""Opening below a root by name, for systems without directory descriptors (Windows)."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from filetools.paths.resolver import Obstacle, is_link


class CheckedResolver:
    """Resolver that looks at each component by name, then opens the whole name. Lives as long as its workspace.

    Between the look and the opening a name can be exchanged: where this resolver is needed, that is a documented limit.
    """

    __slots__ = ("_root",)

    def __init__(self, root: Path) -> None:
        self._root = str(root)

    def open(self, root: int, path: str, flags: int, mode: int) -> int:
        """Open `path` by its whole name after a look at each component; see `Resolver.open`."""
        self._refuse_link(root, path)
        return os.open(self._place(path), flags, mode)

    def open_cached(self, root: int, path: str, flags: int) -> int | None:
        """Never: the looks may wait for the disk."""
        return None

    def stat(self, root: int, path: str) -> os.stat_result:
        """Look by the whole name after a look at each folder; see `Resolver.stat`."""
        self._refuse_link(root, path.rpartition("/")[0])
        return os.lstat(self._place(path))

    def obstacle(self, root: int, path: str) -> Obstacle | None:
        """Look at each component by name; see `Resolver.obstacle`."""
        names = path.split("/")
        place = self._root
        for depth, name in enumerate(names, 1):
            place = os.path.join(place, name)
            try:
                found = os.lstat(place)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if depth == len(names) or is_link(found) or not stat.S_ISDIR(found.st_mode):
                target = os.readlink(place) if stat.S_ISLNK(found.st_mode) else None
                return Obstacle("/".join(names[:depth]), found.st_mode, is_link(found), target)
        return None

    def _place(self, path: str) -> str:
        return os.path.join(self._root, *path.split("/")) if path else self._root

    def _refuse_link(self, root: int, path: str) -> None:
        found = self.obstacle(root, path) if path else None
        if found is not None and found.is_link:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
