"""The store on a local disk: everything relative to descriptors, never through a link."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.content.identity_cache import CLOCK_TICK_NS, tick_of
from filetools.durable import sync_descriptor
from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    MountPointError,
    NotRegularFileError,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.local_displaced import ELSEWHERE, LocalDisplaced, LocalTrashed
from filetools.stores.local_prepare import prepare_new, prepare_replacement, written
from filetools.stores.private import (
    UNFINISHED,
    Explained,
    HiddenPlace,
    LocalDisk,
    PrivateDirectory,
    foreign_name_for,
    is_left_behind,
    private_name,
)
from filetools.stores.reading import LocalReader, LocalReading, to_file_stat
from filetools.stores.renaming import (
    Spot,
    exists,
    rename_anything,
    replace_keeping,
    try_exchange,
)
from filetools.stores.store import Content, Displaced, Prepared, Reader, Trashed
from filetools.stores.system import RENAME_EXCHANGE, Opened, rename_with_flags, stamps_every_change

_TRIES: Final = 5
_NOT_THERE: Final = (
    PathNotFoundError, DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, NotRegularFileError,
)  # fmt: skip
"""Errors that mean that nothing of a path needs to be synced."""
MOST_SYNCED_FOLDERS: Final = 10_000
"""Maximum number of folders whose last sync a store remembers."""


class LocalStore(LocalReading):
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
    ) -> None:
        """Open the private directory, making it if it is missing.

        Args:
            workspace: The root.
            name: Short name for messages.
            private_directory: `.filetools` of this root, or another directory on the same file system if possible.
            tick_ns: As the attribute; None to find out.

        Raises:
            StateDamagedError: A private folder is a link or a file.
            AccessDeniedError, DiskFullError: The private directory cannot be made or written.
        """
        self._prepare(name)
        self._disk = LocalDisk(workspace, PrivateDirectory(workspace, private_directory))
        try:
            self.tick_ns = self._find_tick() if tick_ns is None else tick_ns
        except BaseException:
            self.close()
            raise

    def _prepare(self, name: str) -> None:
        self.name = name
        """As `Store.name`."""
        self._synced_folders: dict[WorkspacePath, tuple[int, int, int]] = {}

    def _find_tick(self) -> int:
        private = self._disk.private
        with Explained(self._disk.workspace, WorkspacePath(STATE_DIRECTORY)):
            return 0 if stamps_every_change(private.folder("tmp"), private.new_name()) else CLOCK_TICK_NS

    def open(self, path: WorkspacePath) -> Reader:
        """Open a regular file for reading parts.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError
        """
        return LocalReader(*self._disk.workspace.open_regular(path))

    def prepare(
        self,
        path: WorkspacePath,
        content: Content,
        *,
        new: bool,
        mode: int | None = None,
        like: WorkspacePath | None = None,
        within: WorkspacePath | None = None,
        ignores_read_only: bool = False,
    ) -> Prepared:
        """As `Store.prepare`; nothing is synced here."""
        if new:
            return prepare_new(self._disk, path, content, mode, like, within)
        return prepare_replacement(self._disk, path, content, mode, ignores_read_only=ignores_read_only)

    def make_directory(self, path: WorkspacePath, mode: int = 0o777) -> bool:
        """As `Store.make_directory`."""
        with Explained(self._disk.workspace, path, self._disk.workspace.open_parent) as parent:
            try:
                os.mkdir(path.name, mode, dir_fd=parent)
            except FileExistsError as exc:
                found = to_file_stat(os.stat(path.name, dir_fd=parent, follow_symlinks=False))
                if found.type == "symlink":
                    raise SymlinkNotAllowedError(path, path) from exc
                if found.type != "directory":
                    raise PathExistsError(path) from exc
                return False
        return True

    def remove_empty_directory(self, path: WorkspacePath) -> None:
        """As `Store.remove_empty_directory`."""
        with Explained(self._disk.workspace, path, self._disk.workspace.open_parent) as parent:
            try:
                os.rmdir(path.name, dir_fd=parent)
            except OSError as exc:
                if exc.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    raise DirectoryNotEmptyError(path) from exc
                raise

    def remove(self, path: WorkspacePath, trash: str | None = None) -> Displaced:
        """Take a file, a link itself, a special file or a whole directory out of the tree in one atomic step.

        A directory that the file system cannot rename, as in a lower layer of an overlay, is moved entry by entry; the same
        call once more finishes what was interrupted.

        Args:
            path: What to remove.
            trash: Name under `.filetools/trash/` to keep it as; None keeps it only until `discard`.

        Raises:
            PathNotFoundError: Nothing is there.
            PathExistsError: The trash has that name already.
            FileBusyError: It is a mount point.
        """
        disk, origin = self._disk, self._disk.live(path)
        with Explained(disk.workspace, path), origin.folder as parent:
            if trash is None:
                place = disk.away(disk.temporary(), path, parent)
            else:
                place = disk.away(disk.hidden("trash", private_name(trash)), path, parent, foreign_name_for(trash))
                if place.name != trash:  # so that it is found once nobody knows its path any more
                    with suppress(OSError):  # no links on this file system, or no space: then it is kept for longer
                        os.symlink(place.label, trash + ELSEWHERE, dir_fd=disk.private.folder("trash"))
            with place.folder as folder:
                if trash is not None and exists((folder, place.name)):
                    raise PathExistsError(place.label)
                # A retry must find what a dead process began. Without a trash name nobody retries, so the sweep must find it.
                stage = (parent, foreign_name_for(f"{trash}-begun")) if trash is not None else (folder, place.spare())
                rename_anything((parent, origin.name), stage, (folder, place.name))
                found = to_file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
        return LocalDisplaced(disk, path, place, found)

    def trash_names(self) -> list[str]:
        """As `Store.trash_names`, also of what had to stay elsewhere."""
        return [name.removesuffix(ELSEWHERE) for name in os.listdir(self._disk.private.folder("trash"))]

    def trashed(self, path: WorkspacePath, trash: str) -> Trashed:
        """As `Store.trashed`."""
        return LocalTrashed(self._disk, path, trash)

    def move(self, source: WorkspacePath, destination: WorkspacePath, *, overwrite: bool = False) -> Displaced | None:
        """Rename a file or directory; the destination's parent must exist.

        With `overwrite` and an existing destination the two are exchanged, so that the destination is never missing; the
        displaced file is at the source for an instant, until it is hidden.

        Returns:
            With `overwrite`, the displaced destination if one was there.

        Raises:
            PathExistsError: The destination exists and `overwrite` is False.
            PathNotFoundError: The source does not exist.
            InvalidArgumentError: One of the two lies inside the other.
            AccessDeniedError: The two are on different file systems.
        """
        disk = self._disk
        if source.is_below(destination) or destination.is_below(source):
            raise InvalidArgumentError(
                f"Cannot move {source!r} to {destination!r}: one lies inside the other", path=source
            )
        origin, target = disk.live(source), disk.live(destination)
        with Explained(disk.workspace, destination), origin.folder as old_parent, target.folder as new_parent:
            old, new = (old_parent, origin.name), (new_parent, target.name)
            stage = (new_parent, foreign_name_for(f"{source}/{destination}"))
            if not exists(old) and not exists(stage):
                raise PathNotFoundError(source)
            if disk.workspace.key(source) == disk.workspace.key(destination):
                # Only the spelling of a name changes; a case-insensitive file system takes the new one for existing.
                if source == destination and not overwrite:
                    raise PathExistsError(destination)
                os.rename(old[1], new[1], src_dir_fd=old[0], dst_dir_fd=new[0])
                return None
            try:
                return _move(disk, old, new, stage, source, destination, overwrite=overwrite)
            except OSError as exc:
                if exc.errno == errno.EBUSY and isinstance(
                    found := disk.workspace.explain(source, exc), MountPointError
                ):
                    raise found from exc
                if exc.errno == errno.EXDEV:
                    raise AccessDeniedError(
                        destination, "source and destination are on different file systems"
                    ) from exc
                raise

    def set_mode(self, path: WorkspacePath, mode: int, *, directory: bool = False) -> None:
        """As `Store.set_mode`."""
        workspace = self._disk.workspace
        opening = workspace.open_directory if directory else workspace.open_file
        with Explained(workspace, path, opening) as descriptor:
            os.fchmod(descriptor, mode)

    def make_link(self, path: WorkspacePath, target: bytes) -> None:
        """As `Store.make_link`."""
        with Explained(self._disk.workspace, path, self._disk.workspace.open_parent) as parent:
            os.symlink(os.fsdecode(target), path.name, dir_fd=parent)

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        """Make a file's bytes and its name durable, with the names of all folders on the way to it.

        If the path does not exist, or a folder above is something else, the nearest existing folder above is synced, so that
        the removal is durable.

        Returns:
            True if a file or a folder is there.

        Raises:
            StorageFailedError: The disk failed; bytes written before may be lost, and must be written again.
        """
        workspace, kind, synced = self._disk.workspace, None, set() if synced is None else synced
        with suppress(*_NOT_THERE):
            found = LocalReading.stat(self, path)
            if found is not None and found.type == "file":
                with Explained(workspace, path, workspace.open_file) as descriptor:
                    sync_descriptor(descriptor)
            kind = None if found is None else found.type
        folder = path if kind == "directory" else path.parent
        with suppress(*_NOT_THERE):
            for above in dict.fromkeys((ROOT, *folder.folders, folder)):
                if above not in synced:
                    self._sync_names(above)
                    synced.add(above)
        return kind in ("file", "directory")

    def _sync_names(self, folder: WorkspacePath) -> None:
        """Sync a folder unless no name in it has changed since it was last synced."""
        workspace = self._disk.workspace
        with Explained(workspace, folder, workspace.open_directory) as descriptor:
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
                    if name.endswith(UNFINISHED):
                        left.discard()
                    else:
                        yield left
        for name in os.listdir(disk.private.folder("displaced")):
            yield from self._left_at(disk.hidden("displaced", name))
        for note, folder, start in disk.private.notes_of_dead_owners():
            names = _names_beside(disk, folder, start)
            for name in names:
                yield from self._left_at(disk.live(folder.child(name)))
            if not names:
                disk.private.drop_note(note)

    def _left_at(self, place: HiddenPlace) -> Iterator[LocalDisplaced]:
        path = WorkspacePath(place.label)
        with suppress(FileNotFoundError, NotADirectoryError):
            with Explained(self._disk.workspace, path), place.folder as folder:
                found = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
            yield LocalDisplaced(self._disk, path, place, to_file_stat(found))

    def probe(self) -> None:
        """Raise a `FileToolsError` unless the store can be read and written now."""
        workspace = self._disk.workspace
        workspace.check_alive()
        self._disk.private.check_present()
        place = self._disk.temporary()
        with Explained(workspace, WorkspacePath(STATE_DIRECTORY)), place.folder as folder:
            with written(place, b"probe", 0o600):
                pass
            os.unlink(place.name, dir_fd=folder)

    def close(self) -> None:
        """Release descriptors; may be called twice. Prepared files count as left behind from here on."""
        self._disk.private.close()


def _names_beside(disk: LocalDisk, folder: WorkspacePath, start: str) -> list[str]:
    """Return the names of temporary files that one owner had to make in a folder of the tree."""
    with suppress(FileToolsError), Opened(disk.workspace.open_directory, folder) as descriptor:
        return [name for name in os.listdir(descriptor) if name.startswith(start)]
    return []


def _move(
    disk: LocalDisk,
    old: Spot,
    new: Spot,
    stage: Spot,
    source: WorkspacePath,
    destination: WorkspacePath,
    *,
    overwrite: bool,
) -> LocalDisplaced | None:
    for _ in range(_TRIES):
        try:
            rename_anything(old, stage, new)
        except FileExistsError as exc:
            if not overwrite:
                raise PathExistsError(destination) from exc
        else:
            return None
        try:
            return _move_over(disk, old, new, source, destination)
        except FileNotFoundError:
            if not exists(old):
                raise PathNotFoundError(source) from None
    raise ChangedMeanwhileError(destination, _TRIES)


def _move_over(
    disk: LocalDisk, old: Spot, new: Spot, source: WorkspacePath, destination: WorkspacePath
) -> LocalDisplaced:
    """Put the source in the destination's place.

    With an exchange the destination is never missing and no file of another program is overwritten unseen; the displaced
    file is at the source until the next call hides it.
    """
    place = disk.temporary() if disk.is_near(old[0]) else disk.beside(source)
    with place.folder as folder:
        hidden = (folder, place.name)
        if try_exchange(new, old):
            try:
                os.rename(old[1], hidden[1], src_dir_fd=old[0], dst_dir_fd=hidden[0])
            except OSError:
                rename_with_flags(new, old, RENAME_EXCHANGE)
                raise
        else:
            replace_keeping(old, new, hidden)
        found = to_file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
    return LocalDisplaced(disk, destination, place, found)
