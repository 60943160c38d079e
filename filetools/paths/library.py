"""Functions of the C library that Python does not offer, among them the creation time of a file.

If the platform lacks one, ENOSYS is raised, so that callers have one way to find out: they try it, and fall back.

Source: statx(2), Linux 4.11.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import cache
from typing import Any, Final

_AT_EMPTY_PATH: Final = 0x1000
_STATX_BTIME: Final = 0x800


_BIRTH_OFFSET: Final = 80
"""Offset of the seconds (64 bits) and nanoseconds (32 bits) in the record, which begins with a mask of its fields."""


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def call_library(name: str, *arguments: int | bytes | ctypes.Array[Any]) -> int:
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


def birth_ns(descriptor: int) -> int | None:
    """Return the creation time of an open file, in nanoseconds since the epoch; None if the system does not report it."""
    seconds = getattr(os.fstat(descriptor), "st_birthtime", None)  # BSD and macOS
    if seconds is not None:
        return int(seconds * 1_000_000_000)
    found = ctypes.create_string_buffer(256)
    try:
        call_library("statx", descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, found)
    except OSError:
        return None
    whole, nanoseconds = struct.unpack_from("qI", found, _BIRTH_OFFSET)
    return int(whole * 1_000_000_000 + nanoseconds) if struct.unpack_from("I", found)[0] & _STATX_BTIME else None
