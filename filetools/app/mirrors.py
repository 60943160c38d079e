"""Mirrors as opened workspaces know them: stores that may be missing or out of order for a while."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from filetools.paths import Workspace
from filetools.settings import STATE_DIRECTORY
from filetools.stores import LateStore, LocalStore, Store

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

    def close(self) -> None:
        """Release store and root; may be called twice."""
        super().close()
        self._root.close()


def mirror_store(mirror: Path | Store) -> Store:
    """Return a mirror's store; nothing is opened yet."""
    return LateStore(partial(DirectoryMirror, mirror), name=MIRROR_NAME) if isinstance(mirror, Path) else mirror
