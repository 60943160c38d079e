"""System calls under a local store that Python does not offer or only some systems have, each behind one small function
that raises OSError.

If the platform lacks a call, the function raises ENOSYS, so that callers have one way to find out: they try it, and fall
back.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, ParamSpec

from filetools.durable import MISSING_CALL
from filetools.paths.library import call_library

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2
STAMP_PROBES: Final = 20
_RWF_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)
P = ParamSpec("P")


class Opened:
    """A descriptor held for a `with` block, opened anew for each. A class: a generator costs as much as the call."""

    __slots__ = ("_descriptors", "_open")

    def __init__(self, opening: Callable[P, int], *arguments: P.args, **options: P.kwargs) -> None:
        self._open = partial(opening, *arguments, **options)
        self._descriptors: list[int] = []
        """Of the blocks that are entered, which may be nested."""

    def __enter__(self) -> int:
        """Open it."""
        self._descriptors.append(self._open())
        return self._descriptors[-1]

    def __exit__(self, *_: object) -> None:
        """Close it."""
        os.close(self._descriptors.pop())


def rename_with_flags(source: tuple[int, str], destination: tuple[int, str], flags: int) -> None:
    """Rename with `RENAME_NOREPLACE` or `RENAME_EXCHANGE`.

    Args:
        source: Directory descriptor and name; in an exchange the name that watchers should see updated.
        destination: Directory descriptor and name.
        flags: One of the two constants.

    Raises:
        OSError: As from the kernel; ENOSYS if the call does not exist.

    Source: rename(2).
    """
    old, new = os.fsencode(source[1]), os.fsencode(destination[1])
    while True:
        # Network and FUSE file systems may be interrupted before anything was done.
        with suppress(InterruptedError):
            call_library("renameat2", source[0], old, destination[0], new, flags)
            return


def lease_refused(descriptor: int) -> bool:
    """True if some process has the file open for writing; tested by taking a read lease for an instant.

    Args:
        descriptor: Open read-only.

    Raises:
        OSError: The file system does not support leases, or the file belongs to another user.

    Source: fcntl(2), "Leases".
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    # If another process opens the file for writing in this instant, the kernel sends a signal; the default, SIGIO, would
    # end this process, while SIGURG is ignored unless it has a handler.
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def read_cached(descriptor: int, buffer: memoryview) -> int | None:
    """Fill `buffer` from the start of the file if the kernel holds its bytes in memory.

    Returns:
        The number of bytes read; None if that would wait for a disk or the call does not exist.

    Source: preadv2(2), RWF_NOWAIT.
    """
    if _RWF_NOWAIT is None:
        return None
    try:
        return os.preadv(descriptor, [buffer], 0, _RWF_NOWAIT)
    except OSError as exc:
        if exc.errno not in (errno.EAGAIN, *MISSING_CALL):
            raise
        return None


def stamps_every_change(directory: int, name: str) -> bool:
    """True if quick successive writes, each followed by a stat, all have different times (Linux 6.13 and later).

    Args:
        directory: Descriptor of a private directory.
        name: A free name in it, by which a sweep recognises the file if this process dies meanwhile.

    Raises:
        OSError: Not even a plain file can be made there.
    """
    stamps = set()
    with Opened(os.open, name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=directory) as descriptor:
        try:
            for _ in range(STAMP_PROBES):
                os.pwrite(descriptor, b"x", 0)
                stamps.add(os.fstat(descriptor).st_mtime_ns)
        finally:
            os.unlink(name, dir_fd=directory)
    return len(stamps) == STAMP_PROBES
