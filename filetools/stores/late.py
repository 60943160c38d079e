"""A store that need not be there yet: opened by the first call that needs it, and anew after it was gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from typing import Final

from filetools.errors import FileToolsError, StateDamagedError, SyncFailedError, WorkspaceGoneError
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced, FileStat, Prepared, Reader, ScanEntry, Store, T, Take

UNKNOWN_TICK_NS: Final = 20_000_000
"""Tick of a store that is not open: longer than that of any clock that stamps files."""


class LateStore:
    """A whole store in place of one that opens when it can. Thread-safe; lives as long as the workspace is open.

    A disk that is not mounted, or a folder without rights, then fails calls, which callers expect, and not the opening of
    the workspace. Whoever calls it waits for its opening.
    """

    def __init__(self, open_store: Callable[[], Store], *, name: str) -> None:
        """Open nothing yet.

        Args:
            open_store: Opens the store; called again after each failure, and after the store was gone.
            name: Short name for messages.
        """
        self._open_store = open_store
        self._name = name
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._former: list[Store] = []
        self._is_closed = False

    @property
    def name(self) -> str:
        """Short name for messages."""
        return self._name

    @property
    def tick_ns(self) -> int:
        """As the store's; a safe value while there is none."""
        store = self._store
        return UNKNOWN_TICK_NS if store is None else store.tick_ns

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """As `Store.stat`."""
        return self._opened().stat(path)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """As `Store.read`."""
        return self._opened().read(path, limit=limit)

    def read_now(self, path: WorkspacePath, limit: int, take: Take[T]) -> T | None:
        """As `Store.read_now`; None while there is no store, since opening one may block."""
        store = self._store
        return None if store is None else store.read_now(path, limit, take)

    def read_lent(self, path: WorkspacePath, limit: int, take: Take[T]) -> T:
        """As `Store.read_lent`."""
        return self._opened().read_lent(path, limit, take)

    def open(self, path: WorkspacePath) -> Reader:
        """As `Store.open`."""
        return self._opened().open(path)

    def read_link(self, path: WorkspacePath) -> bytes:
        """As `Store.read_link`."""
        return self._opened().read_link(path)

    def make_link(self, path: WorkspacePath, target: bytes) -> None:
        """As `Store.make_link`."""
        self._opened().make_link(path, target)

    def prepare(
        self,
        path: WorkspacePath,
        content: bytes,
        *,
        new: bool,
        mode: int | None = None,
        like: WorkspacePath | None = None,
        within: WorkspacePath | None = None,
        now_at: WorkspacePath | None = None,
    ) -> Prepared:
        """As `Store.prepare`."""
        return self._opened().prepare(path, content, new=new, mode=mode, like=like, within=within, now_at=now_at)

    def make_directory(self, path: WorkspacePath, mode: int = 0o777) -> bool:
        """As `Store.make_directory`."""
        return self._opened().make_directory(path, mode)

    def remove_empty_directory(self, path: WorkspacePath) -> None:
        """As `Store.remove_empty_directory`."""
        self._opened().remove_empty_directory(path)

    def remove(self, path: WorkspacePath, trash: str | None = None) -> Displaced:
        """As `Store.remove`."""
        return self._opened().remove(path, trash)

    def restore(self, path: WorkspacePath, trash: str) -> None:
        """As `Store.restore`."""
        self._opened().restore(path, trash)

    def trashed(self, path: WorkspacePath, trash: str) -> list[tuple[str, FileStat]]:
        """As `Store.trashed`."""
        return self._opened().trashed(path, trash)

    def read_trashed(self, path: WorkspacePath, trash: str, relative: str) -> bytes:
        """As `Store.read_trashed`."""
        return self._opened().read_trashed(path, trash, relative)

    def trash_names(self) -> list[str]:
        """As `Store.trash_names`."""
        return self._opened().trash_names()

    def trash_bytes(self, trash: str) -> int:
        """As `Store.trash_bytes`."""
        return self._opened().trash_bytes(trash)

    def empty_trash(self, trash: str) -> None:
        """As `Store.empty_trash`."""
        self._opened().empty_trash(trash)

    def has_trash(self, path: WorkspacePath, trash: str) -> bool:
        """As `Store.has_trash`."""
        return self._opened().has_trash(path, trash)

    def move(self, source: WorkspacePath, destination: WorkspacePath, *, overwrite: bool = False) -> Displaced | None:
        """As `Store.move`."""
        return self._opened().move(source, destination, overwrite=overwrite)

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        """As `Store.scan`."""
        return self._opened().scan(path)

    def look_into(
        self, path: WorkspacePath, names: Collection[str] | None = None
    ) -> tuple[FileStat, dict[str, FileStat]]:
        """As `Store.look_into`."""
        return self._opened().look_into(path, names)

    def state_below(self, path: WorkspacePath) -> WorkspacePath | None:
        """As `Store.state_below`."""
        return self._opened().state_below(path)

    def set_mode(self, path: WorkspacePath, mode: int) -> None:
        """As `Store.set_mode`."""
        self._opened().set_mode(path, mode)

    def set_directory_mode(self, path: WorkspacePath, mode: int) -> None:
        """As `Store.set_directory_mode`."""
        self._opened().set_directory_mode(path, mode)

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        """As `Store.sync`."""
        return self._opened().sync(path, synced=synced)

    def leftovers(self) -> Iterator[Displaced]:
        """As `Store.leftovers`."""
        return self._opened().leftovers()

    def probe(self) -> None:
        """As `Store.probe`; a store that was gone is opened anew."""
        store = self._opened()
        try:
            store.probe()
        except (WorkspaceGoneError, StateDamagedError):
            self._let_go(store)
            self._opened().probe()

    def close(self) -> None:
        """Close the store, and those before it; may be called twice. Waits for no opening that hangs."""
        self._is_closed = True
        stores, self._former = self._former, []
        if self._store is not None:
            stores.append(self._store)
            self._store = None
        for store in stores:
            store.close()

    def _opened(self) -> Store:
        store = self._store
        if store is not None:
            return store
        with self._lock:
            if self._store is None:
                self._store = self._open()
            return self._store

    def _open(self) -> Store:
        self._check_open()
        try:
            store = self._open_store()
        except FileToolsError as exc:
            raise SyncFailedError(None, f"{self._name!r} cannot be opened: {exc.message}") from exc
        except OSError as exc:
            raise SyncFailedError(
                None, f"{self._name!r} cannot be opened: {exc.strerror or type(exc).__name__}"
            ) from exc
        try:
            self._check_open()
        except WorkspaceGoneError:
            store.close()
            raise
        return store

    def _check_open(self) -> None:
        if self._is_closed:
            raise WorkspaceGoneError("it was closed")

    def _let_go(self, store: Store) -> None:
        """Have the next call open another; what is under way with this one goes on with it."""
        with self._lock:
            if self._store is store:
                self._store = None
                self._former.append(store)
