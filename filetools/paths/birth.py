"""The creation time of a file, which Python does not query on Linux.

Source: statx(2), Linux 4.11.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from functools import lru_cache
from typing import Any, Final

_AT_EMPTY_PATH: Final = 0x1000
_STATX_BTIME: Final = 0x800


_BIRTH_OFFSET: Final = 80
"""Offset of the seconds (64 bits) and nanoseconds (32 bits) in the record, which begins with a mask of its fields."""


def birth_ns(descriptor: int) -> int | None:
    """Return the creation time of an open file, in nanoseconds since the epoch; None if the system does not report it."""
    seconds = getattr(os.fstat(descriptor), "st_birthtime", None)  # BSD and macOS
    if seconds is not None:
        return int(seconds * 1_000_000_000)
    statx, found = _statx(), ctypes.create_string_buffer(256)
    if statx is None or statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, found):
        return None
    whole, nanoseconds = struct.unpack_from("qI", found, _BIRTH_OFFSET)
    return int(whole * 1_000_000_000 + nanoseconds) if struct.unpack_from("I", found)[0] & _STATX_BTIME else None


@lru_cache(maxsize=1)
def _statx() -> Any:
    if sys.platform != "linux":
        return None
    # Not in every C library: musl has it since 1.2.3.
    return getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
