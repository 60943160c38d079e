"""What this process wrote to a mirror, remembered by identity, so that its own bytes need no hash coming out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from filetools.stores.store import FileStat

MAX_FILES: Final = 8192

_Identity = tuple[int, int, int]


class KnownFiles:
    """Versions of a mirror's files by path, the least recently written dropped first. Thread-safe; lives as its mirror.

    A file counts as ours while inode, size and mtime are those it had when it went live; its ctime is no help, since
    the exchange that takes it out changes it.
    """

    def __init__(self, max_files: int = MAX_FILES) -> None:
        self._max_files = max_files
        self._files: OrderedDict[str, tuple[_Identity, str]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, path: str, stat: FileStat, version: str) -> None:
        """Remember a file that just went live."""
        with self._lock:
            self._files[path] = (_identity(stat), version)
            self._files.move_to_end(path)
            if len(self._files) > self._max_files:
                self._files.popitem(last=False)

    def version_of(self, path: str, stat: FileStat) -> str | None:
        """Return the version of a file if it still is the one that was written, else None."""
        with self._lock:
            known = self._files.get(path)
        return known[1] if known is not None and known[0] == _identity(stat) else None

    def rename(self, source: str, destination: str) -> None:
        """Remember a file under its new path."""
        with self._lock:
            known = self._files.pop(source, None)
            if known is not None:
                self._files[destination] = known

    def forget(self, path: str) -> None:
        """Forget a file that is gone."""
        with self._lock:
            self._files.pop(path, None)


def _identity(stat: FileStat) -> _Identity:
    return (stat.inode, stat.size, stat.modified_ns)
