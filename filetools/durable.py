"""Makes files and the names in directories survive a power cut."""

from __future__ import annotations

import errno
import os
import secrets
from functools import partial
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MISSING_CALL: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
"""Errors of a kernel, a sandbox or a file system that does not support a call or a flag of it."""


def sync_descriptor(descriptor: int) -> None:
    """Make a file's bytes, or a directory's names, survive a power cut; never tried twice on one descriptor.

    Raises:
        OSError: Also when an earlier write could not reach the disk; the kernel may have dropped those bytes.
    """
    if hasattr(fcntl, "F_FULLFSYNC"):  # on macOS, where a plain sync leaves bytes in the drive's own cache
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError as exc:
            # Network shares do not support the call; any other failure is the failure of the sync itself.
            if exc.errno not in (*MISSING_CALL, errno.ENOTTY):
                raise
        else:
            return
    os.fsync(descriptor)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable; does nothing where directories cannot be synced (Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(file: Path, content: bytes, *, mode: int = 0o600, is_synced: bool = True) -> None:
    """Write a file atomically; its name is durable once its directory is synced.

    Args:
        file: The file; one that exists is replaced.
        content: Its bytes.
        mode: Permission bits, which the umask narrows; by default only the user can read it.
        is_synced: False if its bytes need not be durable.

    Raises:
        OSError: It cannot be written; then the former file is unchanged.
    """
    temporary = file.with_name(f".filetools-{secrets.token_hex(8)}")  # a suffix could make a long name too long
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as opened:
            opened.write(content)
            opened.flush()
            if is_synced:
                sync_descriptor(opened.fileno())
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
