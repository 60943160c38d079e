"""Files at hidden places of a local disk, which other programs do not see, and their final removal."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from filetools.durable import sync_descriptor
from filetools.errors import (
    ChangedMeanwhileError,
    FileToolsError,
    InternalError,
    PathNotFoundError,
)
from filetools.paths.resolver import FOLDER_FLAGS, READ_FLAGS
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.stores.private import (
    Explained,
    HiddenPlace,
    LocalDisk,
    foreign_name_for,
    private_name,
    refuse_other_kinds,
)
from filetools.stores.reading import is_open_for_writing, read_stable, to_file_stat
from filetools.stores.renaming import exchange, exists, is_folder, rename_without_replacing
from filetools.stores.store import FileStat
from filetools.stores.system import Opened

_TRIES: Final = 5
ELSEWHERE: Final = ".at"
"""End of the name of a link in the trash that leads to what could not be moved there."""


class HiddenFile:
    """One file or directory at a hidden place."""

    __slots__ = ("_disk", "_path", "_place", "stat")

    def __init__(self, disk: LocalDisk, path: WorkspacePath, place: HiddenPlace, stat: FileStat) -> None:
        """Represent what is at `place`.

        Args:
            disk: The store's disk.
            path: The path of the visible file, which errors name; for leftovers, the label of the place.
            place: Where it is.
            stat: Its facts.
        """
        self._disk = disk
        self._path = path
        self._place: HiddenPlace | None = place
        self.stat = stat

    @property
    def temporary(self) -> str:
        """Where it is, relative to the store; "" once it is visible or discarded."""
        return self._place.label if self._place else ""

    def where(self) -> HiddenPlace:
        """Return its place.

        Raises:
            InternalError: It is visible or discarded.
        """
        if self._place is None:
            raise InternalError("It is visible or discarded", path=self._path)
        return self._place

    def discard(self) -> None:
        """Delete it permanently, a directory with everything below it; may be called twice."""
        if self._place is not None:
            with Explained(self._disk.workspace, self._path):
                remove_place(self._place)
            self._place = None


class LocalDisplaced(HiddenFile):
    """A file or directory that was displaced; it can be put back, kept or discarded."""

    __slots__ = ()

    def read(self) -> bytes:
        """Return its whole content.

        Raises:
            PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError: It has no content.
            FileBusyError: Another program keeps writing it.
        """
        refuse_other_kinds(self.stat.type, self._path)
        with Explained(self._disk.workspace, self._path):
            return read_stable(self._open, path=self._path)[0]

    def is_untouched(self) -> bool:
        """True if no program has it open for writing or has written to it since `stat` was taken: then that is final."""
        if self.stat.type != "file" or self._place is None:
            return True
        with Explained(self._disk.workspace, self._path), Opened(self._open) as descriptor:
            # In this order: once no program has it open for writing, the facts are final.
            if is_open_for_writing(descriptor):
                return False
            now = to_file_stat(os.fstat(descriptor))
        return (now.size, now.modified_ns) == (self.stat.size, self.stat.modified_ns)

    def put_back(self) -> None:
        """As `Displaced.put_back`; if nothing is at the former path, nothing is left to represent."""
        path, place = self._path, self.where()
        if place.label == path:
            raise InternalError("A file without a former place cannot be put back", path=path)
        workspace = self._disk.workspace
        with Explained(workspace, path, workspace.open_parent) as parent, place.folder as folder:
            live, hidden = (parent, path.name), (folder, place.name)
            for _ in range(_TRIES):
                try:
                    name = exchange(live, hidden, place.spare)
                except FileNotFoundError:
                    with suppress(FileExistsError):
                        rename_without_replacing(hidden, live)
                        self._place = None
                        return
                else:
                    self._place = place.named(name)
                    self.stat = to_file_stat(os.stat(name, dir_fd=folder, follow_symlinks=False))
                    return
        raise ChangedMeanwhileError(path, _TRIES)

    def keep(self, name: str) -> None:
        """Move it to `.filetools/displaced/<name>`; if that is on another file system, it stays beside its former place.

        Raises:
            PathExistsError: A displaced file has that name already.
        """
        place, target = self.where(), self._disk.hidden("displaced", private_name(name))
        with Explained(self._disk.workspace, self._path), place.folder as folder, target.folder as kept:
            try:
                rename_without_replacing((folder, place.name), (kept, target.name))
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
            else:
                self._place = target

    def sync(self) -> None:
        """As `Displaced.sync`."""
        if self._place is not None:
            with Explained(self._disk.workspace, self._path), self._place.folder as folder:
                sync_descriptor(folder)

    def _open(self) -> int:
        """Open it: the type of a hidden file is known, and nobody else has its name."""
        place = self.where()
        with place.folder as folder:
            return os.open(place.name, READ_FLAGS, dir_fd=folder)


class LocalTrashed:
    """What was removed with a name in the trash: in the private folder, or beside its path if it could not be moved there."""

    __slots__ = ("_link", "_path", "_place", "_workspace")

    def __init__(self, disk: LocalDisk, path: WorkspacePath, trash: str) -> None:
        private, self._link = disk.hidden("trash", private_name(trash)), disk.hidden("trash", trash + ELSEWHERE)
        away = [disk.live(folder.child(foreign_name_for(trash))) for folder in (ROOT, *path.folders)]
        with suppress(OSError), self._link.folder as folder:
            away.append(disk.live(WorkspacePath(os.readlink(self._link.name, dir_fd=folder))))
        self._place = next(filter(_is_there, (private, *away)), private)
        self._path = path
        self._workspace = disk.workspace

    def is_there(self) -> bool:
        """As `Trashed.is_there`."""
        return _is_there(self._place)

    def entries(self) -> list[tuple[str, FileStat]]:
        """As `Trashed.entries`."""
        place = self._place
        with Explained(self._workspace, self._path), suppress(FileNotFoundError), place.folder as folder:
            top = to_file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
            return [("", top), *sorted(_below(place.name, folder) if top.type == "directory" else ())]
        return []

    def read(self, relative: str) -> bytes:
        """As `Trashed.read`."""
        name = f"{self._place.name}/{relative}" if relative else self._place.name
        with Explained(self._workspace, self._path), self._place.folder as folder:
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return os.fsencode(os.readlink(name, dir_fd=folder))
            with open(os.open(name, READ_FLAGS, dir_fd=folder), "rb") as file:
                return file.read()

    def restore(self) -> None:
        """As `Trashed.restore`."""
        path, place, workspace = self._path, self._place, self._workspace
        with Explained(workspace, path, workspace.open_parent) as parent, place.folder as folder:
            if not self.is_there():
                raise PathNotFoundError(path)
            rename_without_replacing((folder, place.name), (parent, path.name))

    def discard(self) -> None:
        """As `Trashed.discard`."""
        with Explained(self._workspace, self._path):
            remove_place(self._place)
            remove_place(self._link)


def _is_there(place: HiddenPlace) -> bool:
    try:
        with place.folder as folder:
            return exists((folder, place.name))
    except FileToolsError:  # the folder is gone, or no longer a folder
        return False


def _below(name: str, folder: int) -> Iterator[tuple[str, FileStat]]:
    for where, folders, files, inside in os.fwalk(name, dir_fd=folder, follow_symlinks=False):
        prefix = where[len(name) + 1 :]
        for entry in (*folders, *files):
            with suppress(FileNotFoundError):
                found = to_file_stat(os.stat(entry, dir_fd=inside, follow_symlinks=False))
                yield (f"{prefix}/{entry}" if prefix else entry), found


def remove_place(place: HiddenPlace) -> None:
    """Remove the entry at a place, a directory with all below it; does nothing if there is none.

    Directories are emptied one at a time, first moving their own directories up beside the top. So only one descriptor is
    open and no depth is too deep; after a crash the rest is at places that a sweep finds.

    Raises:
        OSError: Some of it could not be removed; it stays at temporary places.
    """
    pending = [place]
    while pending:
        place = pending.pop()
        # The whole folder may be gone, if the place is beside a target.
        with suppress(FileNotFoundError, NotADirectoryError), place.folder as folder:
            try:
                os.unlink(place.name, dir_fd=folder)
            except OSError as exc:
                # POSIX lets unlink of a directory fail with EPERM, Linux says EISDIR.
                if exc.errno not in (errno.EISDIR, errno.EPERM) or not is_folder((folder, place.name)):
                    raise
                _remove_directory(place, folder, pending)


def _remove_directory(place: HiddenPlace, folder: int, moved: list[HiddenPlace]) -> None:
    """Remove one directory; adds the new places of the directories in it to `moved`."""
    with Opened(os.open, place.name, FOLDER_FLAGS, dir_fd=folder) as inside:
        _make_writable(inside)
        with os.scandir(inside) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_directory in found:
            with suppress(FileNotFoundError):
                if not is_directory:
                    os.unlink(name, dir_fd=inside)
                    continue
                # A directory can change its parent only where it is writable itself.
                with suppress(PermissionError), Opened(os.open, name, FOLDER_FLAGS, dir_fd=inside) as descriptor:
                    _make_writable(descriptor)
                target = place.named(place.spare())
                os.rename(name, target.name, src_dir_fd=inside, dst_dir_fd=folder)
                moved.append(target)
    os.rmdir(place.name, dir_fd=folder)


def _make_writable(descriptor: int) -> None:
    mode = os.fstat(descriptor).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(descriptor, stat.S_IMODE(mode) | stat.S_IRWXU)
