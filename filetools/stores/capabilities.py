"""What the system under a local store can do; every missing ability has a fallback."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from filetools.stores.linux import (
    O_TMPFILE,
    RENAME_EXCHANGE,
    RENAME_NOREPLACE,
    lease_refused,
    link_descriptor,
    rename_with_flags,
)

STAMP_PROBES: Final = 20


class Capabilities(Struct, frozen=True, kw_only=True):
    """Abilities of one file system, probed once a store; a call that still meets a refusal falls back by itself."""

    exchange: bool = True
    """Two names can be exchanged in one step. Else the live file is linked away and then renamed over."""
    no_replace: bool = True
    """A rename can refuse to replace. Else a link is made and the old name removed."""
    tmpfile: bool = True
    """New files can be written without a name. Else they have a temporary one."""
    leases: bool = True
    """Writers can be seen through a read lease. Else a file is watched for 50 ms."""
    hard_links: bool = True
    """A file can have two names. Else it is renamed away, and its name is free for an instant."""
    fine_times: bool = True
    """Every change after a look has a time of its own. Else a file can change within a tick and keep its time."""


def probe_capabilities(directory: int, new_name: Callable[[], str]) -> Capabilities:
    """Try everything once in a private directory and leave it as it was.

    Args:
        directory: Descriptor of a directory that only this user can reach.
        new_name: Names files so that a sweep knows whose they were, if this process dies amid the trying.

    Raises:
        OSError: Not even a plain file can be made there.
    """
    first, second = new_name(), new_name()
    for name in (first, second):
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=directory))
    pair = (directory, first), (directory, second)
    try:
        return Capabilities(
            exchange=_works(lambda: rename_with_flags(*pair, RENAME_EXCHANGE)),
            no_replace=_refuses(lambda: rename_with_flags(*pair, RENAME_NOREPLACE)),
            tmpfile=_works(lambda: _make_nameless(directory, new_name())),
            leases=_works(lambda: _take_lease(directory, first)),
            hard_links=_refuses(lambda: os.link(first, second, src_dir_fd=directory, dst_dir_fd=directory)),
            fine_times=_stamps_every_change(directory, first),
        )
    finally:
        for name in (first, second):
            os.unlink(name, dir_fd=directory)


def _works(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _refuses(attempt: Callable[[], None]) -> bool:
    """Whether the call is known: it is asked for what it must refuse because the second name exists."""
    try:
        attempt()
    except FileExistsError:
        return True
    except OSError:
        return False
    return False


def _make_nameless(directory: int, name: str) -> None:
    if O_TMPFILE is None:
        raise OSError
    descriptor = os.open(".", O_TMPFILE | os.O_WRONLY, 0o600, dir_fd=directory)
    try:
        link_descriptor(descriptor, directory, name)
    finally:
        os.close(descriptor)
    os.unlink(name, dir_fd=directory)


def _take_lease(directory: int, name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY, dir_fd=directory)
    try:
        lease_refused(descriptor)
    finally:
        os.close(descriptor)


def _stamps_every_change(directory: int, name: str) -> bool:
    """Whether writes in quick succession, each looked at, all have different times (Linux 6.13 and later)."""
    descriptor = os.open(name, os.O_WRONLY, dir_fd=directory)
    try:
        stamps = set()
        for _ in range(STAMP_PROBES):
            os.pwrite(descriptor, b"x", 0)
            stamps.add(os.fstat(descriptor).st_mtime_ns)
        return len(stamps) == STAMP_PROBES
    finally:
        os.close(descriptor)
