"""The store on a local disk: everything relative to descriptors, never through a link."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.content.identity_cache import CLOCK_TICK_NS, tick_of
from filetools.errors import DirectoryNotFoundError, FileToolsError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.local_change import LocalChanging
from filetools.stores.local_disk import Explained, HiddenPlace, LocalDisk
from filetools.stores.local_displaced import LocalDisplaced
from filetools.stores.local_prepare import written
from filetools.stores.private import (
    FOREIGN_NAME,
    PrivateDirectory,
    is_foreign_trash,
    is_left_behind,
)
from filetools.stores.reading import LocalReader, LocalReading, to_file_stat
from filetools.stores.store import Displaced, Reader
from filetools.stores.system import Opened, stamps_every_change, sync_descriptor

MOST_SYNCED_FOLDERS: Final = 10_000
"""Maximum number of folders whose last sync a store remembers."""
ORPHAN_SECONDS: Final = 60.0
"""Longer than any living store leaves a temporary file beside its target."""


class LocalStore(LocalReading, LocalChanging):
    """Files of one root on a local disk, usable while the workspace is open; does not close the workspace.

    Not for use in a forked child, which would share the descriptors but not their closing.
    """

    _disk: LocalDisk
    tick_ns: int = CLOCK_TICK_NS
    """Longest time within which a file can change twice and keep its identity; 0 if never."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        name: str = "primary",
        private_directory: Path,
        tick_ns: int | None = None,
        orphan_seconds: float = ORPHAN_SECONDS,
    ) -> None:
        """Open the private directory, making it if it is missing.

        Args:
            workspace: The root.
            name: Short name for messages.
            private_directory: `.filetools` of this root, or another directory on the same file system if possible.
            tick_ns: As the attribute; None to find out.
            orphan_seconds: Age from which a temporary file beside its target counts as left behind, if a store that
                no longer exists had noted the folder.

        Raises:
            StateDamagedError: A private folder is a link or a file.
            AccessDeniedError, DiskFullError: The private directory cannot be made or written.
        """
        self._prepare(name, orphan_seconds)
        self._disk = LocalDisk(workspace, PrivateDirectory(workspace, private_directory))
        try:
            self.tick_ns = self._find_tick() if tick_ns is None else tick_ns
        except BaseException:
            self.close()
            raise

    def _prepare(self, name: str, orphan_seconds: float = ORPHAN_SECONDS) -> None:
        self.name = name
        """As `Store.name`."""
        self._orphan_seconds = orphan_seconds
        self._synced_folders: dict[WorkspacePath, tuple[int, int, int]] = {}

    def _find_tick(self) -> int:
        private = self._disk.private
        with Explained(self._disk.workspace, WorkspacePath(STATE_DIRECTORY)):
            return 0 if stamps_every_change(private.folder("tmp"), private.owner.new_name()) else CLOCK_TICK_NS

    def open(self, path: WorkspacePath) -> Reader:
        """Open a regular file for reading parts.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError
        """
        return LocalReader(self._disk.workspace.open_file(path))

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        """Make a file's bytes and its name durable, with the names of all folders on the way to it.

        If the path does not exist, the nearest existing folder above is synced, so that the removal is durable.

        Returns:
            True if a file or a folder is there.

        Raises:
            StorageFailedError: The disk failed; bytes written before may be lost, and must be written again.
        """
        workspace = self._disk.workspace
        found = LocalReading.stat(self, path)
        kind = None if found is None else found.type
        if kind == "file":
            with Explained(workspace, path), Opened(workspace.open_file, path) as descriptor:
                sync_descriptor(descriptor)
        folder = path if kind == "directory" else path.parent
        synced = set() if synced is None else synced
        with suppress(DirectoryNotFoundError):  # a missing folder has nothing to sync
            for above in dict.fromkeys((ROOT, *folder.folders, folder)):
                if above not in synced:
                    self._sync_names(above)
                    synced.add(above)
        return kind in ("file", "directory")

    def _sync_names(self, folder: WorkspacePath) -> None:
        """Sync a folder unless no name in it has changed since it was last synced."""
        workspace = self._disk.workspace
        with Explained(workspace, folder), Opened(workspace.open_directory, folder) as descriptor:
            taken_ns, found = time.time_ns(), os.fstat(descriptor)
            state = (found.st_dev, found.st_ino, found.st_ctime_ns)
            if self._synced_folders.get(folder) == state:
                return
            sync_descriptor(descriptor)
        # A change within the clock's tick would show the same time, and one after the clock was set back perhaps, too.
        if taken_ns - found.st_ctime_ns > tick_of(found.st_ctime_ns):
            if len(self._synced_folders) >= MOST_SYNCED_FOLDERS:
                self._synced_folders.clear()
            self._synced_folders[folder] = state

    def leftovers(self) -> Iterator[Displaced]:
        """Yield the files that dead processes left in `.filetools/tmp` and in noted folders, and everything in `displaced`."""
        disk = self._disk
        for name in os.listdir(disk.private.folder("tmp")):
            for left in self._left_at(disk.hidden("tmp", name)):
                if is_left_behind(name, left.stat.changed_ns):
                    yield left
        for name in os.listdir(disk.private.folder("displaced")):
            yield from self._left_at(disk.hidden("displaced", name))
        for note, folder in disk.private.notes_of_dead_owners():
            waits = False
            for name in _names_beside(disk, WorkspacePath(folder)):
                for left in self._left_at(disk.live(WorkspacePath(folder).child(name))):
                    is_trash = left.stat.type == "directory" or is_foreign_trash(name)  # trash is kept
                    is_young = time.time() - left.stat.changed_ns / 1e9 < self._orphan_seconds
                    waits = waits or (is_young and not is_trash)
                    if not is_young and not is_trash:
                        yield left
            if not waits:
                disk.private.drop_note(note)

    def _left_at(self, place: HiddenPlace) -> Iterator[LocalDisplaced]:
        path = WorkspacePath(place.label)
        with suppress(FileNotFoundError, NotADirectoryError):
            with Explained(self._disk.workspace, path), place.opened() as folder:
                found = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
            yield LocalDisplaced(self._disk, path, place, to_file_stat(found))

    def probe(self) -> None:
        """Raise a `FileToolsError` unless the store can be read and written now."""
        workspace = self._disk.workspace
        workspace.check_alive()
        self._disk.private.check_present()
        place = self._disk.temporary()
        with Explained(workspace, WorkspacePath(STATE_DIRECTORY)), place.opened() as folder:
            with written(place, b"probe", 0o600):
                pass
            os.unlink(place.name, dir_fd=folder)

    def close(self) -> None:
        """Release descriptors; may be called twice. Prepared files count as left behind from here on."""
        self._disk.private.close()


def _names_beside(disk: LocalDisk, folder: WorkspacePath) -> list[str]:
    """Return the names of temporary files that had to be made in a folder of the tree."""
    with suppress(FileToolsError), Opened(disk.workspace.open_directory, folder) as descriptor:
        return [name for name in os.listdir(descriptor) if FOREIGN_NAME.fullmatch(name)]
    return []
