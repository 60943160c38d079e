"""The part of a local store that creates, moves and removes names."""

from __future__ import annotations

import errno
import os
from typing import Final

from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    FileToolsError,
    InvalidArgumentError,
    MountPointError,
    PathExistsError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local_disk import Explained, LocalDisk
from filetools.stores.local_displaced import LocalDisplaced, LocalTrashed
from filetools.stores.local_prepare import prepare_new, prepare_replacement
from filetools.stores.private import foreign_name_for, foreign_trash_name, private_name
from filetools.stores.reading import to_file_stat
from filetools.stores.renaming import (
    Spot,
    exists,
    rename_anything,
    replace_keeping,
    try_exchange,
)
from filetools.stores.store import Displaced, Prepared, Trashed
from filetools.stores.system import RENAME_EXCHANGE, Opened, rename_with_flags

_TRIES: Final = 5


class LocalChanging:
    """Changes the names of one root; part of a local store."""

    _disk: LocalDisk

    def prepare(
        self,
        path: WorkspacePath,
        content: bytes,
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
        with Explained(self._disk.workspace, path), Opened(self._disk.workspace.open_parent, path) as parent:
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
        with Explained(self._disk.workspace, path), Opened(self._disk.workspace.open_parent, path) as parent:
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
        with Explained(disk.workspace, path), origin.opened() as parent:
            if trash is None:
                place = disk.away(disk.temporary(), path, parent)
            else:
                place = disk.away(disk.hidden("trash", private_name(trash)), path, parent, foreign_trash_name(trash))
            with place.opened() as folder:
                if trash is not None and exists((folder, place.name)):
                    raise PathExistsError(place.label)
                # A retry must find what a dead process began. Without a trash name nobody retries, so the sweep must find it.
                stage = (parent, foreign_name_for(f"{trash}-begun")) if trash is not None else (folder, place.spare())
                rename_anything((parent, origin.name), stage, (folder, place.name), is_ours=True)
                found = to_file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
        return LocalDisplaced(disk, path, place, found)

    def trash_names(self) -> list[str]:
        """Return the names in `.filetools/trash`, in no particular order."""
        return os.listdir(self._disk.private.folder("trash"))

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
        nested = InvalidArgumentError(
            f"Cannot move {source!r} to {destination!r}: one lies inside the other", path=source
        )
        if source.is_below(destination) or destination.is_below(source):
            raise nested
        origin, target = disk.live(source), disk.live(destination)
        with Explained(disk.workspace, destination), origin.opened() as old_parent, target.opened() as new_parent:
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
                if exc.errno == errno.EXDEV and not isinstance(exc, FileToolsError):
                    raise AccessDeniedError(
                        destination, "source and destination are on different file systems"
                    ) from exc
                if exc.errno == errno.EINVAL and not isinstance(exc, FileToolsError):
                    raise nested from exc
                raise

    def set_mode(self, path: WorkspacePath, mode: int, *, directory: bool = False) -> None:
        """As `Store.set_mode`."""
        workspace = self._disk.workspace
        opening = workspace.open_directory if directory else workspace.open_file
        with Explained(workspace, path), Opened(opening, path) as descriptor:
            os.fchmod(descriptor, mode)

    def make_link(self, path: WorkspacePath, target: bytes) -> None:
        """As `Store.make_link`."""
        with Explained(self._disk.workspace, path), Opened(self._disk.workspace.open_parent, path) as parent:
            os.symlink(os.fsdecode(target), path.name, dir_fd=parent)


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
    place = disk.reachable(disk.temporary(), source, old[0])
    with place.opened() as folder:
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
