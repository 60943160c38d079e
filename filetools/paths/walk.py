"""Opening beneath a root component by component, where the kernel cannot do it in one call."""

from __future__ import annotations

import os
import stat
from typing import Final

from filetools.paths.resolver import O_DIRECTORY, O_PATH, SAFE_FLAGS, Obstacle, is_link

_STEP_FLAGS: Final = (O_PATH or os.O_RDONLY) | O_DIRECTORY | SAFE_FLAGS


class WalkResolver:
    """Resolver that opens each folder relative to the one before, refusing links. Lives as long as its workspace."""

    __slots__ = ()

    def open(self, root: int, path: str, flags: int, mode: int) -> int:
        """Open `path` relative to `root`; see `Resolver.open`."""
        if not path:
            return os.open(".", flags, dir_fd=root)
        parent, name = _descend(root, path)
        try:
            return os.open(name, flags, mode, dir_fd=parent)
        finally:
            if parent != root:
                os.close(parent)

    def open_cached(self, root: int, path: str, flags: int) -> int | None:
        """Never: a walk cannot tell whether it will wait."""
        return None

    def stat(self, root: int, path: str) -> os.stat_result:
        """Look from the parent's descriptor; see `Resolver.stat`."""
        if not path:
            return os.fstat(root)
        parent, name = _descend(root, path)
        try:
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
        finally:
            if parent != root:
                os.close(parent)

    def obstacle(self, root: int, path: str) -> Obstacle | None:
        """Look at each component in turn; see `Resolver.obstacle`."""
        return find_obstacle(root, path)


def find_obstacle(root: int, path: str) -> Obstacle | None:
    """Walk down from the descriptor `root`, looking before each step; see `Resolver.obstacle`."""
    names = path.split("/")
    held = root
    try:
        for depth, name in enumerate(names, 1):
            found = os.stat(name, dir_fd=held, follow_symlinks=False)
            if depth == len(names) or not stat.S_ISDIR(found.st_mode):
                target = os.readlink(name, dir_fd=held) if stat.S_ISLNK(found.st_mode) else None
                return Obstacle("/".join(names[:depth]), found.st_mode, is_link(found), target)
            held = _step(root, held, name)
    except FileNotFoundError:
        return None
    finally:
        if held != root:
            os.close(held)
    return None


def _descend(root: int, path: str) -> tuple[int, str]:
    """Return a descriptor of the folder that holds `path` (the root's own where that is it), and the last name."""
    *folders, name = path.split("/")
    held = root
    try:
        for folder in folders:
            held = _step(root, held, folder)
    except BaseException:
        if held != root:
            os.close(held)
        raise
    return held, name


def _step(root: int, held: int, name: str) -> int:
    """Open the folder `name` in `held`, which is closed unless it is the root's own descriptor."""
    step = os.open(name, _STEP_FLAGS, dir_fd=held)
    if held != root:
        os.close(held)
    return step
