"""Reads many files of one tree quickly: opens each folder once, and its files relative to it."""

from __future__ import annotations

import os
import stat

from filetools.paths.resolver import READ_FLAGS
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.source import Listable
from filetools.stores.reading import LocalReading


class FileReader:
    """Reads the files of one page of a search, until it is closed. Use in one thread.

    Args:
        store: Where they are; it also reads what needs more than one look.
        limit_bytes: Largest size of a file.
    """

    def __init__(self, store: Listable, limit_bytes: int) -> None:
        self._store = store
        self._local = store if isinstance(store, LocalReading) else None
        self._limit_bytes = limit_bytes
        self._folder: str | None = None
        self._descriptor = -1

    def read(self, path: str) -> bytes:
        """Return a file's content; raises as `Store.read`."""
        content = None if self._local is None else self._read_once(self._local, path)
        return self._store.read(WorkspacePath(path), limit=self._limit_bytes)[0] if content is None else content

    def _read_once(self, local: LocalReading, path: str) -> bytes | None:
        """Return the content of a regular file; None if it is too large, is changing, or cannot be read."""
        folder, _, name = path.rpartition("/")
        if folder != self._folder:
            self.close()
            self._descriptor, self._folder = local.open_directory(WorkspacePath(folder)), folder
        try:
            descriptor = os.open(name, READ_FLAGS, dir_fd=self._descriptor)
        except OSError:
            return None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > self._limit_bytes:
                return None
            content = os.read(descriptor, found.st_size + 1)
            return content if len(content) == found.st_size else None
        except OSError:
            return None  # such as EIO: the store says which file that is
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close the folder; may be called twice."""
        descriptor, self._descriptor, self._folder = self._descriptor, -1, None
        if descriptor >= 0:
            os.close(descriptor)
