"""When a file was made, which Python does not ask Linux for.

Source: statx(2), Linux 4.11.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import lru_cache
from typing import Any, Final

_AT_EMPTY_PATH: Final = 0x1000
_STATX_BTIME: Final = 0x800


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_uint32), ("reserved", ctypes.c_int32))


class _Statx(ctypes.Structure):
    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("before_times", ctypes.c_uint8 * 60),
        ("accessed", _Time),
        ("born", _Time),
        ("after_times", ctypes.c_uint8 * 160),
    )


def birth_ns(descriptor: int) -> int | None:
    """Return when what is open was made, in nanoseconds since the epoch; None where the system does not tell."""
    told = getattr(os.fstat(descriptor), "st_birthtime", None)  # BSD and macOS
    if told is not None:
        return int(told * 1_000_000_000)
    statx = _statx()
    found = _Statx()
    if statx is None or statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, ctypes.byref(found)):
        return None
    return int(found.born.seconds * 1_000_000_000 + found.born.nanoseconds) if found.mask & _STATX_BTIME else None


@lru_cache(maxsize=1)
def _statx() -> Any:
    if sys.platform != "linux":
        return None
    # Not in every C library: musl has it since 1.2.3.
    return getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
