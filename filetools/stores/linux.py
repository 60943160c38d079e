"""System calls that Python does not offer, or only Linux has, each behind one small function that raises OSError.

Where the platform lacks a call, the function raises ENOSYS, so that callers have one way to learn it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2
MISSING_CALL: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
"""What a kernel, a sandbox or a file system answers when it does not know a call or a flag of it."""
O_TMPFILE: Final[int | None] = getattr(os, "O_TMPFILE", None)
_F_SETLEASE: Final[int | None] = getattr(fcntl, "F_SETLEASE", None)
_F_FULLFSYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
_RWF_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)
_PREADV: Final[Callable[..., int] | None] = getattr(os, "preadv", None)


def _load_renameat2() -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):  # a C library older than glibc 2.28
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function


_RENAMEAT2: Final = _load_renameat2()


def rename_with_flags(source: tuple[int, str], destination: tuple[int, str], flags: int) -> None:
    """Rename with `RENAME_NOREPLACE` or `RENAME_EXCHANGE`.

    Args:
        source: Directory descriptor and name; in an exchange the name that watchers shall see updated.
        destination: Directory descriptor and name.
        flags: One of the two constants.

    Raises:
        OSError: As the kernel says; ENOSYS where the call does not exist.

    Source: rename(2).
    """
    if _RENAMEAT2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    old, new = os.fsencode(source[1]), os.fsencode(destination[1])
    while _RENAMEAT2(source[0], old, destination[0], new, flags) != 0:
        number = ctypes.get_errno()
        # Network and FUSE file systems may be interrupted before anything was done.
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))


def link_descriptor(descriptor: int, directory: int, name: str) -> None:
    """Give a nameless file (`O_TMPFILE`) a name; fails with EEXIST if it is taken.

    Source: open(2), O_TMPFILE; the way through /proc needs no privilege, AT_EMPTY_PATH does.
    """
    os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=directory, follow_symlinks=True)


def lease_refused(descriptor: int) -> bool:
    """Whether some process has the file open for writing, asked by taking a read lease for an instant.

    Args:
        descriptor: Open read-only.

    Raises:
        OSError: The file system knows no leases, or the file belongs to somebody else.

    Source: fcntl(2), "Leases".
    """
    if _F_SETLEASE is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    # Whoever opens the file for writing in this instant makes the kernel send a signal; the default, SIGIO, would
    # end this process, while SIGURG is ignored unless somebody asked for it.
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
    try:
        fcntl.fcntl(descriptor, _F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    fcntl.fcntl(descriptor, _F_SETLEASE, fcntl.F_UNLCK)
    return False


def read_cached(descriptor: int, buffer: memoryview) -> int | None:
    """Fill `buffer` from the start of the file if the kernel holds its bytes in memory.

    Returns:
        How many bytes came, or None where that would wait for a disk or the call does not exist.

    Source: preadv2(2), RWF_NOWAIT.
    """
    if _RWF_NOWAIT is None:
        return None
    try:
        return os.preadv(descriptor, [buffer], 0, _RWF_NOWAIT)
    except BlockingIOError:
        return None
    except OSError as exc:
        if exc.errno in MISSING_CALL:
            return None
        raise


def read_into(descriptor: int, buffer: memoryview) -> int | None:
    """Fill `buffer` from the start of the file; returns how many bytes came, or None where the call does not exist.

    Source: preadv(2); macOS has it since 11, Windows has not.
    """
    return None if _PREADV is None else _PREADV(descriptor, [buffer], 0)


def sync_descriptor(descriptor: int) -> None:
    """Make a file's bytes, or a directory's names, survive a power cut; never tried twice on one descriptor.

    Raises:
        OSError: Also when an earlier write could not reach the disk; the kernel may have dropped those bytes.
    """
    if _F_FULLFSYNC is not None:
        try:
            fcntl.fcntl(descriptor, _F_FULLFSYNC)
        except OSError as exc:
            # Network shares do not know the call; any other failure is the failure of the sync itself.
            if exc.errno not in (*MISSING_CALL, errno.ENOTTY):
                raise
        else:
            return
    os.fsync(descriptor)
