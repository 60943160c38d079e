"""The few inotify calls that the bell needs, through ctypes; Linux only, absent elsewhere.

Source: inotify(7), inotify_init1(2), inotify_add_watch(2).
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Final

IN_MODIFY: Final = 0x002
IN_ATTRIB: Final = 0x004
IN_DELETE_SELF: Final = 0x400
IN_MOVE_SELF: Final = 0x800

HAS_INOTIFY: Final = sys.platform.startswith("linux")

_READ_BYTES: Final = 4096


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def open_inotify() -> int:
    """Return a new inotify descriptor that does not block and is not inherited.

    Raises:
        OSError: EMFILE if the user has too many instances.
    """
    return _checked(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))


def add_watch(descriptor: int, path: str, mask: int) -> int:
    """Watch one path, never through a link at its end.

    Raises:
        OSError: ENOSPC if the user has too many watches, ENOENT if nothing is there.
    """
    do_not_follow = 0x02000000
    return _checked(_libc().inotify_add_watch(descriptor, os.fsencode(path), mask | do_not_follow))


def drain(descriptor: int) -> None:
    """Throw away every event that waits."""
    try:
        while os.read(descriptor, _READ_BYTES):
            pass
    except BlockingIOError:
        return


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
