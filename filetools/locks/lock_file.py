"""One open lock file."""

from __future__ import annotations

import os
from typing import Final

_CLOSED: Final = -1


class LockFile:
    """A descriptor of our own, so that its lock excludes every other opener. Lives until closed."""

    __slots__ = ("descriptor", "identity", "name")

    def __init__(self, name: str, descriptor: int, identity: tuple[int, int]) -> None:
        self.name = name
        self.descriptor = descriptor
        self.identity = identity
        """Inode and device."""

    def read_at(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset`."""
        if hasattr(os, "pread"):
            return os.pread(self.descriptor, count, offset)
        os.lseek(self.descriptor, offset, os.SEEK_SET)
        return os.read(self.descriptor, count)

    def write_at(self, offset: int, content: bytes) -> None:
        """Write a few bytes at `offset`, in one call."""
        if hasattr(os, "pwrite"):
            os.pwrite(self.descriptor, content, offset)
        else:
            os.lseek(self.descriptor, offset, os.SEEK_SET)
            os.write(self.descriptor, content)

    def close(self) -> None:
        """Close the descriptor, which drops its lock; may be called twice."""
        if self.descriptor != _CLOSED:
            # The number goes first: whoever still uses this object must fail, not reach the next file of that number.
            descriptor, self.descriptor = self.descriptor, _CLOSED
            os.close(descriptor)
