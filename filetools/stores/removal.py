"""Removing hidden files and whole trees for good, by descriptor and to any depth."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Final

from filetools.stores.local_disk import Place

_FOLDER_FLAGS: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def remove_place(place: Place) -> None:
    """Remove what stands at a place, a directory with all below it; nothing there is fine.

    Raises:
        OSError: Some of it could not be removed; it stays at temporary places.
    """
    with place.opened() as folder:
        try:
            os.unlink(place.name, dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError as exc:
            # POSIX lets unlink of a directory fail with EPERM, Linux says EISDIR.
            if exc.errno not in (errno.EISDIR, errno.EPERM) or not _is_directory(place.name, folder):
                raise
        else:
            return
    _remove_tree(place)


def _remove_tree(top: Place) -> None:
    """Empty directories one at a time, first moving their own directories up beside the top.

    So only one descriptor is open and no depth is too deep; after a crash the rest stands at places that a sweep finds.
    """
    pending = [top]
    while pending:
        place = pending.pop()
        with place.opened() as folder:
            pending += _empty(place, folder)
            with suppress(FileNotFoundError):
                os.rmdir(place.name, dir_fd=folder)


def _empty(place: Place, folder: int) -> list[Place]:
    moved: list[Place] = []
    try:
        inside = os.open(place.name, _FOLDER_FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return moved
    try:
        _make_writable(inside)
        with os.scandir(inside) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_directory in found:
            if not is_directory:
                os.unlink(name, dir_fd=inside)
                continue
            _make_directory_writable(name, inside)
            target = place.sibling()
            os.rename(name, target.name, src_dir_fd=inside, dst_dir_fd=folder)
            moved.append(target)
    finally:
        os.close(inside)
    return moved


def _is_directory(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _make_directory_writable(name: str, folder: int) -> None:
    """A directory can change its parent only where it is writable itself."""
    with suppress(PermissionError):
        descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
        try:
            _make_writable(descriptor)
        finally:
            os.close(descriptor)


def _make_writable(descriptor: int) -> None:
    mode = os.fstat(descriptor).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(descriptor, stat.S_IMODE(mode) | stat.S_IRWXU)
