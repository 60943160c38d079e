"""Disk space held back for the journal, so that files can still be deleted and moved on a full disk."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

RESERVE_BYTES: Final = 512 * 1024
"""Enough for several deletions until a checkpoint makes room in the write-ahead file again."""
SLICE_BYTES: Final = 64 * 1024
"""Released at a time: on a full disk other programs take free space at once."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Reserve:
    """A file that takes up space and shrinks when the space is needed. All processes on a root share it."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "reserve"

    def fill(self) -> None:
        """Grow to the full size again if the disk has twice as much free; failures are ignored."""
        missing = RESERVE_BYTES - self._size()
        if missing > 0 and free_bytes(self._file.parent) >= 2 * RESERVE_BYTES:
            with suppress(OSError), open(os.open(self._file, _FLAGS, 0o600), "wb", buffering=0) as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
                else:
                    file.seek(0, os.SEEK_END)
                    file.write(bytes(missing))

    def shrink(self) -> bool:
        """Release a slice; False if none is left."""
        size = self._size()
        with suppress(OSError):
            if size:
                os.truncate(self._file, max(0, size - SLICE_BYTES))
                return True
        return False

    def has_room(self) -> bool:
        """Release what opening a database takes, if the disk has less; False if it still has less.

        A database shares memory through a file: if that cannot grow, the process is killed.
        """
        while free_bytes(self._file.parent) < SLICE_BYTES:
            if not self.shrink():
                return False
        return True

    def _size(self) -> int:
        with suppress(OSError):
            return self._file.stat().st_size
        return 0


def free_bytes(folder: Path) -> int:
    """Return how many bytes of a disk are free; `sys.maxsize` if unknown."""
    with suppress(OSError, AttributeError):
        found = os.statvfs(folder)
        if found.f_blocks:
            return found.f_bavail * found.f_frsize
    return sys.maxsize
