"""Reads a folder that is not a workspace: no state, no temporary files, nothing is ever created in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

from filetools.errors import AccessDeniedError, SymlinkNotAllowedError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.private import Disk, Explained
from filetools.stores.reading import LocalReading, read_exactly, to_file_stat
from filetools.stores.store import FileStat

_BUFFER_BYTES: Final = 256 * 1024


class FolderStore(LocalReading):
    """Reads one folder by descriptors, so that no link leads out of it. Usable while the workspace is open.

    Args:
        workspace: The folder, opened; the caller closes it.
        is_withheld: Returns True for a path below it that the caller may not read.
    """

    def __init__(self, workspace: Workspace, *, is_withheld: Callable[[str], bool] | None = None) -> None:
        self._disk = Disk(workspace)
        self.is_withheld: Final = is_withheld

    def resolve(self, raw_path: str) -> WorkspacePath:
        """Return the normal form of a path in the folder, where "" is the folder itself; see `Workspace.resolve`."""
        return self._disk.workspace.resolve(raw_path, allow_root=True)

    def locate(self, path: WorkspacePath) -> WorkspacePath:
        """Return where a path really is, following links inside the folder; see `Workspace.locate`."""
        return self._disk.workspace.locate(path)

    def followed(self, path: WorkspacePath) -> tuple[WorkspacePath, FileStat] | None:
        """Return where a path really is, and its facts; None if nothing is there.

        Raises:
            SymlinkEscapeError, SymlinkNotAllowedError, AccessDeniedError
        """
        # Links are rare, and looking for them first would cost one more system call.
        with suppress(SymlinkNotAllowedError):
            found = self.stat(path)
            if found is None or found.type != "symlink":
                return None if found is None else (path, found)
        path = self.locate(path)
        found = self.stat(path)
        return None if found is None else (path, found)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """Return a file's whole content and the facts it had while it was read; see `LocalReading.read`.

        Raises:
            AccessDeniedError: A rule keeps the caller from reading it.
        """
        self._refuse_withheld(path)
        return super().read(path, limit=limit)

    def read_start(self, path: WorkspacePath, count: int) -> tuple[bytes, FileStat]:
        """Return the first bytes of a file, at most `count`, and its facts; no more than that is read.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        """
        self._refuse_withheld(path)
        with Explained(self._disk.workspace, path, self._disk.workspace.open_file) as descriptor:
            return read_exactly(descriptor, count), to_file_stat(os.fstat(descriptor))

    def read_end(self, path: WorkspacePath, count: int) -> bytes:
        """Return the last bytes of a file, at most `count`; no more than that is read.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        """
        with self.opened(path, buffering=0) as (file, size):
            file.seek(max(0, size - count))
            return file.read(count)

    @contextmanager
    def opened(self, path: WorkspacePath, *, buffering: int = _BUFFER_BYTES) -> Iterator[tuple[BinaryIO, int]]:
        """Hold a file open for sequential reading; yields it, and its size in bytes when it was opened.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        """
        self._refuse_withheld(path)
        with (
            Explained(self._disk.workspace, path, self._disk.workspace.open_file) as descriptor,
            os.fdopen(descriptor, "rb", buffering, closefd=False) as file,
        ):
            yield file, os.fstat(descriptor).st_size

    def _refuse_withheld(self, path: WorkspacePath) -> None:
        if self.is_withheld is not None and self.is_withheld(path):
            raise AccessDeniedError(path, "a rule keeps you from reading it")
