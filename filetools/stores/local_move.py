"""Renaming within a local store, also over something that is there."""

from __future__ import annotations

import errno
import os
from typing import Final

from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    FileToolsError,
    InvalidArgumentError,
    MountPointError,
    PathExistsError,
    PathNotFoundError,
)
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.linux import MISSING_CALL, RENAME_EXCHANGE, rename_with_flags
from filetools.stores.local_disk import Explained, LocalDisk
from filetools.stores.local_displaced import LocalDisplaced
from filetools.stores.owners import foreign_name_for
from filetools.stores.private import refuse_nesting
from filetools.stores.reading import to_file_stat
from filetools.stores.renaming import Spot, exists, rename_anything, replace_keeping

_TRIES: Final = 5


def move(
    disk: LocalDisk, source: WorkspacePath, destination: WorkspacePath, *, overwrite: bool
) -> LocalDisplaced | None:
    """Rename; see `Store.move`."""
    refuse_nesting(source, destination)
    origin, target = disk.live(source), disk.live(destination)
    with Explained(disk.workspace, destination), origin.opened() as old_parent, target.opened() as new_parent:
        old, new = (old_parent, origin.name), (new_parent, target.name)
        stage = (new_parent, foreign_name_for(f"{source}/{destination}"))
        if not exists(old) and not exists(stage):
            raise PathNotFoundError(source)
        if disk.workspace.key(source) == disk.workspace.key(destination):
            _respell(old, new, destination, overwrite=overwrite)
            return None
        try:
            return _move(disk, old, new, stage, source, destination, overwrite=overwrite)
        except OSError as exc:
            if exc.errno == errno.EBUSY and isinstance(found := disk.workspace.explain(source, exc), MountPointError):
                raise found from exc
            raise _explained(destination, exc) or exc from exc


def _respell(old: Spot, new: Spot, destination: WorkspacePath, *, overwrite: bool) -> None:
    """Change the spelling of a name; a file system without case takes the new one for existing."""
    if old[1] == new[1] and not overwrite:
        raise PathExistsError(destination)
    os.rename(old[1], new[1], src_dir_fd=old[0], dst_dir_fd=new[0])


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
            rename_anything(disk.capabilities, old, stage, new)
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

    By an exchange the destination is never missing and no file of a stranger is overwritten unseen; what came out
    stands at the source until the next call hides it.
    """
    place = disk.reachable(disk.temporary(), source, old[0])
    with place.opened() as folder:
        hidden = (folder, place.name)
        if not _exchange_and_hide(disk, old, new, hidden):
            replace_keeping(disk.capabilities, old, new, hidden)
        found = to_file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
    return LocalDisplaced(disk, place, found, path=destination, origin=disk.live(destination))


def _exchange_and_hide(disk: LocalDisk, old: Spot, new: Spot, hidden: Spot) -> bool:
    if not disk.capabilities.exchange:
        return False
    try:
        rename_with_flags(new, old, RENAME_EXCHANGE)
    except OSError as exc:
        if exc.errno in MISSING_CALL:
            return False
        raise
    try:
        os.rename(old[1], hidden[1], src_dir_fd=old[0], dst_dir_fd=hidden[0])
    except OSError:
        rename_with_flags(new, old, RENAME_EXCHANGE)
        raise
    return True


def _explained(destination: WorkspacePath, error: OSError) -> FileToolsError | None:
    if isinstance(error, FileToolsError):
        return error
    if error.errno == errno.EXDEV:
        return AccessDeniedError(destination, "source and destination are on different file systems")
    if error.errno == errno.EINVAL:
        return InvalidArgumentError(f"Cannot move to {destination!r}: one lies inside the other", path=destination)
    return None
