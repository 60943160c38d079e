"""A directory as a mirror: a local store that need not exist yet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from filetools.errors import FileToolsError, StateDamagedError, SyncFailedError, WorkspaceGoneError
from filetools.models.words import STATE_DIRECTORY
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from filetools.stores.private import LocalDisk, PrivateDirectory
from filetools.stores.store import FileStat


class DirectoryMirror(LocalStore):
    """A local store that owns its root; opened by the first call that needs it, and reopened by `probe` after it was gone.

    So an unmounted disk, or a folder without permissions, fails calls, which callers expect, and not the opening of the
    workspace. Calls wait for its opening. Thread-safe; open as long as the workspace.
    """

    def __init__(self, directory: Path, check: Callable[[], None] = lambda: None) -> None:
        """Open nothing yet.

        Args:
            directory: Created if it is missing.
            check: Called before each opening; raises OSError or FileToolsError if the directory must not be opened now.
        """
        self._prepare(directory.name)
        self._directory = directory
        self._check = check
        self._opening = threading.Lock()
        self._current: LocalDisk | None = None
        self._opened: list[LocalDisk] = []
        self._is_closed = False

    @property
    def _disk(self) -> LocalDisk:  # type: ignore[override]  # nobody assigns it
        with self._opening:
            if self._current is None:
                self._current = self._open()
            return self._current

    def _open(self) -> LocalDisk:
        self._refuse_closed()
        try:
            self._check()
            self._directory.mkdir(parents=True, exist_ok=True)
            workspace = Workspace.open(self._directory)
            try:
                disk = LocalDisk(workspace, PrivateDirectory(workspace, self._directory / STATE_DIRECTORY))
            except BaseException:
                workspace.close()
                raise
        except SyncFailedError:
            raise
        except (FileToolsError, OSError) as exc:
            reason = exc.message if isinstance(exc, FileToolsError) else exc.strerror or type(exc).__name__
            raise SyncFailedError(None, f"its folder cannot be opened ({reason})") from exc
        self._opened.append(disk)
        if self._is_closed:
            self.close()
        self._refuse_closed()
        return disk

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise WorkspaceGoneError("it was closed")

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """As `Store.stat`; also checks that the directory's path still leads here.

        Raises:
            WorkspaceGoneError: It was moved away or removed, or a disk was mounted over it.
        """
        self._disk.workspace.check_alive()
        return super().stat(path)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """As `Store.read`, with the check of `stat`."""
        self._disk.workspace.check_alive()
        return super().read(path, limit=limit)

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        """As `Store.sync`, with the check of `stat`: syncing another folder would not keep the promise."""
        self._disk.workspace.check_alive()
        return super().sync(path, synced=synced)

    def probe(self) -> None:
        """As `Store.probe`; reopens a directory that was gone. Calls in progress keep the former one."""
        disk = self._disk
        try:
            super().probe()
        except (WorkspaceGoneError, StateDamagedError):
            with self._opening:
                if self._current is disk:
                    self._current = None
            super().probe()

    def close(self) -> None:
        """Release all that was opened; may be called twice. Does not wait for an opening that hangs."""
        self._is_closed = True
        self._current = None
        while self._opened:
            disk = self._opened.pop()
            disk.private.close()
            disk.workspace.close()
