"""Mirrors as opened workspaces know them: stores that may be missing or out of order for a while."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.paths import Workspace, WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores import FileStat, LateStore, LocalStore, Store

MIRROR_NAME: Final = "mirror"


class DirectoryMirror(LocalStore):
    """A directory as a mirror: a local store that owns its root. Lives until it is closed or found to be gone."""

    def __init__(self, directory: Path) -> None:
        """Make the directory if it is missing, and open it.

        Raises:
            OSError, FileToolsError: It cannot be made, or not be opened.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self._root = Workspace.open(directory)
        try:
            super().__init__(self._root, name=MIRROR_NAME, private_directory=directory / STATE_DIRECTORY)
        except BaseException:
            self._root.close()
            raise

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """As `Store.stat`; every look makes sure that the directory's path still leads here.

        Raises:
            WorkspaceGoneError: It was moved away or removed, or a disk was mounted over it.
        """
        self._root.check_alive()
        return super().stat(path)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """As `Store.read`, and as careful as `stat`."""
        self._root.check_alive()
        return super().read(path, limit=limit)

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> None:
        """As `Store.sync`, and as careful as `stat`: what lies in another folder is not what was promised."""
        self._root.check_alive()
        super().sync(path, synced=synced)

    def close(self) -> None:
        """Release store and root; may be called twice."""
        super().close()
        self._root.close()


def mirror_of(given: object) -> Path | Store:
    """Return what a caller named as the mirror: the absolute path of a directory, or a store.

    Raises:
        InvalidArgumentError: It is neither; several mirrors at once are not possible.
    """
    if isinstance(given, str | os.PathLike):
        place = os.fspath(given)
        if isinstance(place, str) and place and "\0" not in place:
            return Path(os.path.abspath(place))
    elif isinstance(given, Store):
        return given
    raise InvalidArgumentError(f"The mirror is one directory or one store, not {type(given).__name__} {given!r:.60}")


def place_of(mirror: Path | Store) -> str:
    """Return the name under which a root's journal knows a mirror, however its path was spelt; looks at no mirror."""
    return os.path.realpath(mirror) if isinstance(mirror, Path) else f"store {mirror.name}"


def mirror_store(mirror: Path | Store) -> Store:
    """Return a mirror's store; nothing is opened yet."""
    return LateStore(partial(DirectoryMirror, mirror), name=MIRROR_NAME) if isinstance(mirror, Path) else mirror
