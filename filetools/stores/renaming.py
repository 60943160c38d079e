"""Renames that lose nothing: exchange and rename without replacing, and what stands in where they are missing.

A spot is a directory's descriptor and a name in it. All functions raise OSError.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from filetools.stores.capabilities import Capabilities
from filetools.stores.linux import MISSING_CALL, RENAME_EXCHANGE, RENAME_NOREPLACE, rename_with_flags

Spot = tuple[int, str]
_NO_LINK: Final = frozenset({errno.EPERM, errno.EMLINK, *MISSING_CALL})
"""Why a second name is refused: a directory, the file system, or a rule against links to other people's files."""
_NOBODYS_NAME: Final = ".no-such-name"
"""Never made in a private directory."""
_TRIES: Final = 5
_IS_LINUX: Final = sys.platform.startswith("linux")


def identity(spot: Spot) -> tuple[int, int]:
    """Return device and inode of what stands at a spot, links not followed."""
    found = os.stat(spot[1], dir_fd=spot[0], follow_symlinks=False)
    return found.st_dev, found.st_ino


def exists(spot: Spot) -> bool:
    """Whether anything stands at a spot, be it a dangling link."""
    try:
        identity(spot)
    except FileNotFoundError:
        return False
    return True


def exchange(capabilities: Capabilities, live: Spot, hidden: Spot, spare: Callable[[], str]) -> None:
    """Put the hidden file in the live place; what stood there is at the hidden spot afterwards.

    Args:
        capabilities: Decides the way; a refusal by the file system falls back all the same.
        live: The name that others see; must exist.
        hidden: The name in a temporary place; must exist.
        spare: Gives a free name beside the hidden one, for the fallback.

    Raises:
        FileNotFoundError: One of the two is missing; nothing changed.
    """
    if capabilities.exchange:
        try:
            # The live name first: watchers then see it updated once, in the other order they see it vanish.
            rename_with_flags(live, hidden, RENAME_EXCHANGE)
        except OSError as exc:
            if exc.errno not in MISSING_CALL:
                raise
        else:
            return
    _exchange_in_steps(capabilities, live, hidden, (hidden[0], spare()))


def _exchange_in_steps(capabilities: Capabilities, live: Spot, hidden: Spot, spare: Spot) -> None:
    replace_keeping(capabilities, hidden, live, spare)
    os.rename(spare[1], hidden[1], src_dir_fd=spare[0], dst_dir_fd=hidden[0])


def replace_keeping(capabilities: Capabilities, source: Spot, live: Spot, spare: Spot) -> None:
    """Rename over the live file, which gets the spare name first.

    A file that a stranger renames to the live name between the last look and the rename is lost: no portable call
    closes this window. Where links are refused, the live name is free for an instant.

    Raises:
        FileNotFoundError: The source or the live file is missing; nothing changed.
    """
    found = os.stat(source[1], dir_fd=source[0], follow_symlinks=False)
    # A directory cannot be renamed over a file, so the name has to be free for it.
    linked = capabilities.hard_links and not stat.S_ISDIR(found.st_mode) and _link_current(live, spare)
    if not linked:
        os.rename(live[1], spare[1], src_dir_fd=live[0], dst_dir_fd=spare[0])
    try:
        os.rename(source[1], live[1], src_dir_fd=source[0], dst_dir_fd=live[0])
    except OSError:
        if linked:
            os.unlink(spare[1], dir_fd=spare[0])
        else:
            rename_without_replacing(capabilities, spare, live)
        raise
    # Two names of one file: the rename did nothing.
    _drop_old_name(source, live)


def _link_current(live: Spot, spare: Spot) -> bool:
    """Give the live file a spare name and see that it is still the live one; False where links are refused."""
    for _ in range(_TRIES):
        try:
            os.link(live[1], spare[1], src_dir_fd=live[0], dst_dir_fd=spare[0], follow_symlinks=False)
        except OSError as exc:
            if exc.errno in _NO_LINK:
                return False
            raise
        with suppress(FileNotFoundError):
            if identity(live) == identity(spare):
                return True
        os.unlink(spare[1], dir_fd=spare[0])
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def rename_without_replacing(capabilities: Capabilities, source: Spot, destination: Spot) -> None:
    """Rename, unless something stands at the destination.

    Raises:
        FileExistsError: Something does; nothing changed.
    """
    if capabilities.no_replace:
        try:
            rename_with_flags(source, destination, RENAME_NOREPLACE)
        except OSError as exc:
            if exc.errno not in MISSING_CALL:
                raise
        else:
            return
    if capabilities.hard_links:
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
    # A stranger may have replaced the source since it was linked; then that name is theirs.
    with suppress(FileNotFoundError):
        if identity(source) == identity(destination):
            os.unlink(source[1], dir_fd=source[0])


def can_rename_between(first: int, second: int) -> bool:
    """Whether files can be renamed from one directory to another.

    Equal device numbers do not tell: a bind mount has them and refuses. A rename of a name that does not exist is
    refused for the mount before the name is looked up.

    Args:
        first: Descriptor of a private directory.
        second: Descriptor of the other one.

    Raises:
        OSError: The second directory is read-only.

    Source: Linux fs/namei.c, do_renameat2.
    """
    # On Linux the rename alone tells; other systems may look the name up first.
    if not _IS_LINUX and os.fstat(first).st_dev != os.fstat(second).st_dev:
        return False
    try:
        os.rename(_NOBODYS_NAME, _NOBODYS_NAME, src_dir_fd=first, dst_dir_fd=second)
    except FileNotFoundError:
        return True
    except OSError as exc:
        if exc.errno == errno.EXDEV:
            return False
        raise
    return True
