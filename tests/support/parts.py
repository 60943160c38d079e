"""Sources of bytes for tests of partial reading: real files by descriptor, and one that counts what is read."""

from __future__ import annotations

import os
from pathlib import Path

from filetools.content.extracts.ranges import ByteSource


class DescriptorSource:
    """A real file, read with `pread`; counts the bytes it was asked to bring."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self.source = ByteSource(os.fstat(self._descriptor).st_size, self.read_at)
        self.bytes_read = 0

    def read_at(self, offset: int, count: int) -> bytes:
        found = os.pread(self._descriptor, count, offset)
        self.bytes_read += len(found)
        return found

    def close(self) -> None:
        os.close(self._descriptor)
