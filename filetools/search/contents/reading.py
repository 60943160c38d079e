"""Reads many files of one tree: opens each folder once, without following links, and its files relative to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from filetools.errors import AccessDeniedError, FileTooLargeError, FileToolsError
from filetools.paths.resolver import READ_FLAGS
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.source import Listable, OpensDirectories


class FileReader:
    """Reads files for one page of a search, until it is closed. Use in one thread."""

    def __init__(self, store: Listable, limit_bytes: int) -> None:
        self._store = store
        self._local = store if isinstance(store, OpensDirectories) else None
        self._limit_bytes = limit_bytes
        self._folder: str | None = None
        self._descriptor = -1

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None if it no longer exists or is no longer a regular file.

        Raises:
            FileTooLargeError, AccessDeniedError
        """
        if self._local is None:
            return self._store.read(WorkspacePath(path), limit=self._limit_bytes)[0]
        name = self._enter(self._local, path)
        try:
            descriptor = os.open(name, READ_FLAGS, dir_fd=self._descriptor)
        except PermissionError as exc:
            raise AccessDeniedError(WorkspacePath(path)) from exc
        except OSError:
            return None
        try:
            return self._content(descriptor, path)
        finally:
            os.close(descriptor)

    def larger(self, paths: Iterable[str]) -> set[str]:
        """Return the files known to be larger than the limit."""
        found = set()
        for path in paths:
            try:
                if self._local is None:
                    facts = self._store.stat(WorkspacePath(path))
                    size = 0 if facts is None else facts.size
                else:
                    name = self._enter(self._local, path)
                    size = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_size
            except (OSError, FileToolsError):
                continue
            if size > self._limit_bytes:
                found.add(path)
        return found

    def _enter(self, local: OpensDirectories, path: str) -> str:
        """Open the folder of a path if it is not open; return the last segment."""
        folder, _, name = path.rpartition("/")
        if folder != self._folder:
            self.close()
            self._descriptor = local.open_directory(WorkspacePath(folder))
            self._folder = folder
        return name

    def _content(self, descriptor: int, path: str) -> bytes | None:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > self._limit_bytes:
            raise FileTooLargeError(WorkspacePath(path), found.st_size, self._limit_bytes)
        content = os.read(descriptor, found.st_size + 1)
        if len(content) == found.st_size:
            return content
        # Another program is writing to it, or it is a virtual file whose size is meaningless.
        parts = [content]
        while len(content) and sum(map(len, parts)) <= self._limit_bytes:
            content = os.read(descriptor, 65_536)
            parts.append(content)
        return b"".join(parts)

    def close(self) -> None:
        """Close the open folder."""
        if self._folder is not None:
            os.close(self._descriptor)
            self._folder = None
