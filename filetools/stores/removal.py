"""Removing hidden files and whole trees for good, by descriptor and to any depth."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Final

from filetools.stores.local_disk import HiddenPlace

_FOLDER_FLAGS: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)

_TRIES: Final = 5


def remove_place(place: HiddenPlace) -> None:
    """Remove what stands at a place, a directory with all below it; nothing there is fine.

    Raises:
        OSError: Some of it could not be removed; it stays at temporary places.
    """
    try:
        with place.opened() as folder:
            if not _unlink(place.name, folder):
                _remove_tree(place)
    except (FileNotFoundError, NotADirectoryError):
        # With its whole folder, which a place beside a target can lose to anybody.
        return


def _unlink(name: str, folder: int) -> bool:
    """Remove a name that is no directory; False if it is one."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError as exc:
        # POSIX lets unlink of a directory fail with EPERM, Linux says EISDIR.
        if exc.errno not in (errno.EISDIR, errno.EPERM) or not _is_directory(name, folder):
            raise
        return False
    return True


def _remove_tree(top: HiddenPlace) -> None:
    """Empty directories one at a time, first moving their own directories up beside the top.

    So only one descriptor is open and no depth is too deep; after a crash the rest stands at places that a sweep finds.
    """
    pending = [top]
    while pending:
        place = pending.pop()
        with place.opened() as folder:
            pending += _remove_directory(place, folder)


def _remove_directory(place: HiddenPlace, folder: int) -> list[HiddenPlace]:
    """Remove one directory; return where the directories in it are now."""
    moved: list[HiddenPlace] = []
    for attempt in range(_TRIES):
        moved += _empty(place, folder)
        try:
            os.rmdir(place.name, dir_fd=folder)
        except FileNotFoundError:
            break
        except OSError as exc:
            # Whoever works in there may have made a new file since it was emptied.
            if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST) or attempt == _TRIES - 1:
                raise
        else:
            break
    return moved


def _empty(place: HiddenPlace, folder: int) -> list[HiddenPlace]:
    try:
        inside = os.open(place.name, _FOLDER_FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return []
    try:
        _make_writable(inside)
        with os.scandir(inside) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        moved: list[HiddenPlace] = []
        for name, is_directory in found:
            with suppress(FileNotFoundError):
                if is_directory:
                    # In the same folder, which that of a sibling need not be.
                    moved.append(_move_up(name, inside, place.named(place.sibling().name), folder))
                else:
                    os.unlink(name, dir_fd=inside)
        return moved
    finally:
        os.close(inside)


def _move_up(name: str, inside: int, target: HiddenPlace, folder: int) -> HiddenPlace:
    # A directory can change its parent only where it is writable itself.
    with suppress(PermissionError):
        descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=inside)
        try:
            _make_writable(descriptor)
        finally:
            os.close(descriptor)
    os.rename(name, target.name, src_dir_fd=inside, dst_dir_fd=folder)
    return target


def _is_directory(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _make_writable(descriptor: int) -> None:
    mode = os.fstat(descriptor).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(descriptor, stat.S_IMODE(mode) | stat.S_IRWXU)


def bytes_below(folder: int, name: str) -> int:
    """Return the bytes of a file, or of all files below a directory; what vanishes meanwhile does not count.

    Args:
        folder: Descriptor of the directory that holds it.
        name: Its name there.

    Raises:
        FileNotFoundError: Nothing is there.
    """
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        return found.st_size
    total = 0
    for _, _, files, inside in os.fwalk(name, dir_fd=folder, follow_symlinks=False):
        for file in files:
            with suppress(FileNotFoundError):
                total += os.stat(file, dir_fd=inside, follow_symlinks=False).st_size
    return total
