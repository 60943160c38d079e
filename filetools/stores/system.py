"""System calls under a local store that Python does not offer or only some systems have, each behind one small function
that raises OSError, and a probe of which ones a file system supports.

If the platform lacks a call, the function raises ENOSYS, so that callers have one way to find out; every missing
ability has a fallback.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Final, ParamSpec

from msgspec import Struct

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2
MISSING_CALL: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
"""Errors of a kernel, a sandbox or a file system that does not support a call or a flag of it."""
STAMP_PROBES: Final = 20
O_TMPFILE: Final[int | None] = getattr(os, "O_TMPFILE", None)
_F_SETLEASE: Final[int | None] = getattr(fcntl, "F_SETLEASE", None)
_F_FULLFSYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
_RWF_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)
_PREADV: Final[Callable[..., int] | None] = getattr(os, "preadv", None)
P = ParamSpec("P")


class Opened:
    """A descriptor held for a `with` block. A class: a generator costs as much as the call."""

    __slots__ = ("_descriptor", "_open")

    def __init__(self, opening: Callable[P, int], *arguments: P.args, **options: P.kwargs) -> None:
        self._open = partial(opening, *arguments, **options)
        self._descriptor = -1

    def __enter__(self) -> int:
        """Open it."""
        self._descriptor = self._open()
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        """Close it."""
        os.close(self._descriptor)


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def call_library(name: str, *arguments: int | bytes) -> int:
    """Call a function of the C library.

    Raises:
        OSError: It failed; ENOSYS if the library has no such function.
    """
    try:
        function = getattr(_library(), name)
    except (AttributeError, TypeError) as exc:  # such as glibc before 2.28 for renameat2; Windows has no such library
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from exc
    result: int = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


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


def link_descriptor(descriptor: int, directory: int, name: str) -> None:
    """Link a nameless file (`O_TMPFILE`) to a name; fails with EEXIST if the name is taken.

    Source: open(2), O_TMPFILE; a link through /proc needs no privilege, AT_EMPTY_PATH does.
    """
    os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=directory, follow_symlinks=True)


def lease_refused(descriptor: int) -> bool:
    """True if some process has the file open for writing; tested by taking a read lease for an instant.

    Args:
        descriptor: Open read-only.

    Raises:
        OSError: The file system does not support leases, or the file belongs to another user.

    Source: fcntl(2), "Leases".
    """
    if _F_SETLEASE is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    # If another process opens the file for writing in this instant, the kernel sends a signal; the default, SIGIO, would
    # end this process, while SIGURG is ignored unless it has a handler.
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
        The number of bytes read; None if that would wait for a disk or the call does not exist.

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
    """Fill `buffer` from the start of the file; returns the number of bytes read, or None if the call does not exist.

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
            # Network shares do not support the call; any other failure is the failure of the sync itself.
            if exc.errno not in (*MISSING_CALL, errno.ENOTTY):
                raise
        else:
            return
    os.fsync(descriptor)


class Capabilities(Struct, frozen=True, kw_only=True):
    """Abilities of one file system, probed once per store; a call that is refused nevertheless falls back by itself."""

    exchange: bool = True
    """Two names can be exchanged in one step. Otherwise, the live file gets a second name and is then renamed over."""
    no_replace: bool = True
    """A rename can refuse to replace. Otherwise, a link is made and the old name removed."""
    tmpfile: bool = True
    """New files can be written without a name. Otherwise, they have a temporary one."""
    leases: bool = True
    """A read lease shows whether a file is open for writing. Otherwise, it is watched for 50 ms."""
    hard_links: bool = True
    """A file can have two names. Otherwise, it is renamed away, and its name is free for an instant."""
    fine_times: bool = True
    """Every change after a stat has a distinct time. Otherwise, a file can change within a tick and keep its time."""


def probe_capabilities(directory: int, new_name: Callable[[], str]) -> Capabilities:
    """Try everything once in a private directory and leave it as it was.

    Args:
        directory: Descriptor of a directory that only this user can reach.
        new_name: Returns names by which a sweep recognises the files if this process dies during the probe.

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
            no_replace=_works(lambda: rename_with_flags(*pair, RENAME_NOREPLACE), must_refuse=True),
            tmpfile=_works(lambda: _make_nameless(directory, new_name())),
            leases=_works(lambda: _take_lease(directory, first)),
            hard_links=_works(
                partial(os.link, first, second, src_dir_fd=directory, dst_dir_fd=directory), must_refuse=True
            ),
            fine_times=_stamps_every_change(directory, first),
        )
    finally:
        for name in (first, second):
            os.unlink(name, dir_fd=directory)


def _works(attempt: Callable[[], None], *, must_refuse: bool = False) -> bool:
    """True if a call is supported; with `must_refuse`, if it refuses because the second name exists."""
    try:
        attempt()
    except OSError as exc:
        return must_refuse and isinstance(exc, FileExistsError)
    return not must_refuse


def _make_nameless(directory: int, name: str) -> None:
    if O_TMPFILE is None:
        raise OSError
    with Opened(os.open, ".", O_TMPFILE | os.O_WRONLY, 0o600, dir_fd=directory) as descriptor:
        link_descriptor(descriptor, directory, name)
    os.unlink(name, dir_fd=directory)


def _take_lease(directory: int, name: str) -> None:
    with Opened(os.open, name, os.O_RDONLY, dir_fd=directory) as descriptor:
        lease_refused(descriptor)


def _stamps_every_change(directory: int, name: str) -> bool:
    """True if quick successive writes, each followed by a stat, all have different times (Linux 6.13 and later)."""
    stamps = set()
    with Opened(os.open, name, os.O_WRONLY, dir_fd=directory) as descriptor:
        for _ in range(STAMP_PROBES):
            os.pwrite(descriptor, b"x", 0)
            stamps.add(os.fstat(descriptor).st_mtime_ns)
    return len(stamps) == STAMP_PROBES
