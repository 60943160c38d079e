"""Mirrors as opened workspaces know them: stores that may be missing or out of order for a while."""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.journal.changes import MirrorRow
from filetools.journal.journal import Journal
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.late import LateStore
from filetools.stores.local import LocalStore
from filetools.stores.store import FileStat, Store
from filetools.sync.identity import MARKER

MIRROR_NAME: Final = "mirror"
ROOT_MOVED: Final = (
    "the root was moved or copied since the mirror was added; 'filetools mirror add --adopt' takes it along"
)


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

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        """As `Store.sync`, and as careful as `stat`: what lies in another folder is not what was promised."""
        self._root.check_alive()
        return super().sync(path, synced=synced)

    def close(self) -> None:
        """Release store and root; may be called twice."""
        super().close()
        self._root.close()


class AddedMirrors:
    """The mirrors that were added to a root, opened when they are there. Lives as long as the root is open."""

    def __init__(self, journal: Journal, root: Path, state_directory: Path | None) -> None:
        self._journal = journal
        self._root = root
        self._state_directory = state_directory
        self._stores: list[LateStore] = []

    def open(self, row: MirrorRow) -> Store:
        """Return the store of a mirror; nothing is opened yet."""
        store = LateStore(partial(self._open, Path(row.place)), name=MIRROR_NAME)
        self._stores.append(store)
        return store

    def close(self) -> None:
        """Release every store; may be called twice."""
        for store in self._stores:
            store.close()

    def _open(self, folder: Path) -> Store:
        row = self._journal.mirrors.get(str(folder))
        if row is not None and row.root != home_of(self._root):
            raise OSError(errno.EXDEV, ROOT_MOVED)
        refuse_overlaps(self._root, folder, self._state_directory)
        # A folder without the marker is not made and not touched: the mirror's disk is away, and this is where it goes.
        if not (folder / MARKER).is_file():
            raise FileNotFoundError(errno.ENOENT, "its folder is not there")
        return DirectoryMirror(folder)


def home_of(root: Path) -> bytes:
    """Return the place of a root, by which a copy of it, state and all, is told from the root itself."""
    return os.fsencode(os.path.realpath(root))


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


def refuse_overlaps(root: Path, mirror: Path | None, state: Path | None) -> None:
    """Refuse directories that would be taken for each other's files.

    Raises:
        InvalidArgumentError: One of them lies in another, or is the same.
    """
    if mirror is not None and _overlap(root, mirror):
        raise InvalidArgumentError("Root and mirror must not be the same directory, nor one inside the other")
    if state is None:
        return
    if _overlap(root, state) and not _is_within(state, root / STATE_DIRECTORY):
        raise InvalidArgumentError(f"The state directory must lie outside the root, or be its {STATE_DIRECTORY}")
    if mirror is not None and _overlap(mirror, state):
        raise InvalidArgumentError("Mirror and state directory must not be the same, nor one inside the other")


def _overlap(first: Path, second: Path) -> bool:
    return _is_within(first, second) or _is_within(second, first)


def _is_within(inner: Path, outer: Path) -> bool:
    return Path(os.path.realpath(inner)).is_relative_to(os.path.realpath(outer))
