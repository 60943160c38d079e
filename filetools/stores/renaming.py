"""Renames that lose nothing: exchange and rename without replacing, and their fallbacks where they are missing.

A spot is a directory's descriptor and a name in it. All functions raise OSError.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from filetools.durable import MISSING_CALL, sync_descriptor
from filetools.paths.resolver import FOLDER_FLAGS
from filetools.stores.attributes import copy_attributes
from filetools.stores.system import (
    RENAME_EXCHANGE,
    RENAME_NOREPLACE,
    Opened,
    rename_with_flags,
)

Spot = tuple[int, str]
_NO_LINK: Final = frozenset({errno.EPERM, errno.EMLINK, *MISSING_CALL})
"""Errors of a refused second name: for a directory, by the file system, or by a rule about other users' files."""
_UNUSED_NAME: Final = ".no-such-name"
"""Never made in a private directory."""
_DEEPEST_MERGE: Final = 200
"""Deepest nesting of folders that are moved entry by entry; each level holds two descriptors open."""


def identity(spot: Spot) -> tuple[int, int]:
    """Return device and inode of the entry at a spot, without following links."""
    found = os.stat(spot[1], dir_fd=spot[0], follow_symlinks=False)
    return found.st_dev, found.st_ino


def exists(spot: Spot) -> bool:
    """True if there is an entry at a spot, even a dangling link."""
    try:
        identity(spot)
    except FileNotFoundError:
        return False
    return True


def is_folder(spot: Spot) -> bool:
    """True if there is a folder at a spot, without following links."""
    return stat.S_ISDIR(os.stat(spot[1], dir_fd=spot[0], follow_symlinks=False).st_mode)


def try_exchange(first: Spot, second: Spot) -> bool:
    """Exchange two names in one step; False if the system cannot."""
    try:
        rename_with_flags(first, second, RENAME_EXCHANGE)
    except OSError as exc:
        if exc.errno not in MISSING_CALL:
            raise
        return False
    return True


def exchange(live: Spot, hidden: Spot, spare: Callable[[], str]) -> str:
    """Put the hidden file in the live place, and return the name of the former live file, beside the hidden one.

    Args:
        live: The name that others see; must exist.
        hidden: The name in a temporary place; must exist.
        spare: Returns a free name beside the hidden one, for the fallback.

    Returns:
        The hidden name, or the spare one: once the hidden file is live nothing is renamed, so that nothing can fail.

    Raises:
        FileNotFoundError: One of the two is missing; nothing changed.
    """
    # The live name first: watchers then see it updated once, in the other order they see it vanish.
    if try_exchange(live, hidden):
        return hidden[1]
    name = spare()
    replace_keeping(hidden, live, (hidden[0], name))
    return name


def replace_keeping(source: Spot, live: Spot, spare: Spot) -> None:
    """Rename over the live file, which gets the spare name first.

    A file that another program renames to the live name between the link and the rename is lost: no portable call closes
    this window. If links are refused, the live name is free for an instant.

    Raises:
        FileNotFoundError: The source or the live file is missing; nothing changed.
    """
    found = os.stat(source[1], dir_fd=source[0], follow_symlinks=False)
    # A directory cannot be renamed over a file, so the name has to be free for it.
    linked = not stat.S_ISDIR(found.st_mode) and _link_current(live, spare)
    if not linked:
        os.rename(live[1], spare[1], src_dir_fd=live[0], dst_dir_fd=spare[0])
    try:
        os.rename(source[1], live[1], src_dir_fd=source[0], dst_dir_fd=live[0])
    except OSError:
        if linked:
            os.unlink(spare[1], dir_fd=spare[0])
        else:
            rename_without_replacing(spare, live)
        raise
    # If both are names of one file, the rename did nothing.
    _drop_old_name(source, live)


def _link_current(live: Spot, spare: Spot) -> bool:
    """Link the live file to a spare name; False if links are refused."""
    try:
        os.link(live[1], spare[1], src_dir_fd=live[0], dst_dir_fd=spare[0], follow_symlinks=False)
    except OSError as exc:
        if exc.errno not in _NO_LINK:
            raise
        return False
    return True


def rename_without_replacing(source: Spot, destination: Spot) -> None:
    """Rename, unless the destination exists.

    Raises:
        FileExistsError: It does; nothing changed.
    """
    try:
        rename_with_flags(source, destination, RENAME_NOREPLACE)
    except OSError as exc:
        if exc.errno not in MISSING_CALL:
            raise
    else:
        return
    try:
        os.link(source[1], destination[1], src_dir_fd=source[0], dst_dir_fd=destination[0], follow_symlinks=False)
    except OSError as exc:
        if exc.errno not in _NO_LINK:
            raise
    else:
        _drop_old_name(source, destination)
        return
    if exists(destination):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(source[1], destination[1], src_dir_fd=source[0], dst_dir_fd=destination[0])


def _drop_old_name(source: Spot, destination: Spot) -> None:
    # Another program may have replaced the source since it was linked; then that name is not ours.
    with suppress(FileNotFoundError):
        if identity(source) == identity(destination):
            os.unlink(source[1], dir_fd=source[0])


def rename_anything(source: Spot, stage: Spot, destination: Spot) -> None:
    """Rename unless the destination exists, a folder by its entries if nothing else is possible.

    Args:
        source: Anything.
        stage: As for `rename_by_entries`; if it exists, a rename was interrupted and is finished.
        destination: In a folder that things can be renamed to.

    Raises:
        FileExistsError, FileNotFoundError, OSError: As there.
    """
    if not exists(stage):
        try:
            rename_without_replacing(source, destination)
        except OSError as exc:
            if exc.errno != errno.EXDEV or not is_folder(source) or not can_rename_between(source[0], destination[0]):
                raise
        else:
            return
    rename_by_entries(source, stage, destination)


def rename_by_entries(source: Spot, stage: Spot, destination: Spot) -> None:
    """Rename a folder that the file system cannot rename: a folder of a lower layer of an overlay (EXDEV).

    Like `mv`, this makes a new folder and moves the entries there, files by a rename each. The same call once more finishes
    an interrupted one, even if the source is already gone.

    Args:
        source: The folder.
        stage: A hidden name, the same in each call for this rename; no other code may use or sweep it.
        destination: The folder's new name; nothing may be there.

    Raises:
        FileNotFoundError: There is neither a source nor a stage.
        FileExistsError: The destination exists; the source is as it was.
        OSError: An entry could not be moved; the source is as it was, as far as the file system allowed.
    """
    if not exists(stage) or exists(source):
        try:
            _move_entries(source, stage)
        except OSError:
            with suppress(FileNotFoundError):
                _move_entries(stage, source)
            raise
    try:
        rename_without_replacing(stage, destination)
    except OSError:
        _move_entries(stage, source)
        raise


def _move_entries(source: Spot, destination: Spot, depth: int = 0) -> None:
    """Move the entries of a folder into another, made if it is missing, and remove the empty folder."""
    if depth > _DEEPEST_MERGE:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    with Opened(os.open, source[1], FOLDER_FLAGS, dir_fd=source[0]) as origin:
        found, is_new = os.fstat(origin), not exists(destination)
        if is_new:
            os.mkdir(destination[1], 0o700, dir_fd=destination[0])
        with Opened(os.open, destination[1], FOLDER_FLAGS, dir_fd=destination[0]) as target:
            if is_new:  # first, so that an interrupted folder has them, and one moved back keeps them
                copy_attributes(origin, found, target)
            for name in os.listdir(origin):
                with suppress(FileNotFoundError):
                    _move_entry((origin, name), target, depth)
            sync_descriptor(target)  # a power cut must not keep the removal alone
            if is_new:
                os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
    os.rmdir(source[1], dir_fd=source[0])


def _move_entry(entry: Spot, target: int, depth: int) -> None:
    name = entry[1]
    while exists((target, name)) and not (is_folder(entry) and is_folder((target, name))):
        name += "~"  # another program made a file under the name of one moved before
    try:
        rename_without_replacing(entry, (target, name))
    except OSError as exc:
        if exc.errno not in (errno.EEXIST, errno.EXDEV) or not is_folder(entry):
            raise
        _move_entries(entry, (target, name), depth + 1)


def can_rename_between(first: int, second: int) -> bool:
    """True if files can be renamed from one directory to another.

    Equal device numbers prove nothing: a bind mount has them and refuses. A rename of a name that does not exist is
    refused for the mount before the name is looked up.

    Args:
        first: Descriptor of a private directory.
        second: Descriptor of the other one.

    Raises:
        OSError: The second directory is read-only.

    Source: Linux fs/namei.c, do_renameat2.
    """
    # Subvolumes of one mount differ in it, and they refuse renames only after the name was looked up.
    if os.fstat(first).st_dev != os.fstat(second).st_dev:
        return False
    try:
        os.rename(_UNUSED_NAME, _UNUSED_NAME, src_dir_fd=first, dst_dir_fd=second)
    except FileNotFoundError:
        return True
    except OSError as exc:
        if exc.errno == errno.EXDEV:
            return False
        raise
    return True
