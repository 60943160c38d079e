"""Reads names and facts for listings from any store, faster from one that opens directories."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, Protocol

from filetools.errors import (
    AbortedError,
    AccessDeniedError,
    DirectoryNotFoundError,
    PathNotDirectoryError,
    PathNotFoundError,
    PathTooLongError,
    SymlinkNotAllowedError,
)
from filetools.models.words import EntryType
from filetools.paths.explain import translate
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.folder import SortedFolder, sorted_folder
from filetools.stores.reading import LocalReading, type_of_entry
from filetools.stores.store import FileStat, ScanEntry

Abort = Callable[[], bool]

CHECK_EVERY: Final = 1_024
"""Number of names between two checks of the abort signal."""
GONE: Final = (
    DirectoryNotFoundError,
    PathNotFoundError,
    PathNotDirectoryError,
    PathTooLongError,
    SymlinkNotAllowedError,
    AccessDeniedError,
)
"""Errors that mean a folder seen a moment ago was removed or replaced, became unreadable, or is too deep."""


class Listable(Protocol):
    """The part of a store that listings use."""

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        """Yield the names in a directory."""

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """Return facts of a path, or None if nothing is there."""

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """Return a file's content and facts."""


class Source:
    """Reads folders for one listing."""

    def __init__(self, store: Listable, abort: Abort | None, what: str) -> None:
        self.store = store
        self._abort = abort
        self._what = what
        self._local = store if isinstance(store, LocalReading) else None

    def check(self) -> None:
        """Raise AbortedError if the caller wants to stop."""
        if self._abort is not None and self._abort():
            raise AbortedError(self._what)

    def folder(self, path: str) -> SortedFolder:
        """Return the names of a folder.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError
            AbortedError: The caller wants to stop.
        """
        self.check()
        if self._local is None:
            return sorted_folder({entry.name: entry.type for entry in self.store.scan(WorkspacePath(path))})
        kinds: dict[str, EntryType] = {}
        descriptor = self._local.open_directory(WorkspacePath(path))
        try:
            # Not by `scan`, which takes three times as long.
            with os.scandir(descriptor) as rows:
                while batch := list(islice(rows, CHECK_EVERY)):
                    kinds |= {
                        row.name: "file" if row.is_file(follow_symlinks=False) else type_of_entry(row) for row in batch
                    }
                    self.check()
        except OSError as exc:
            raise translate(path, exc) from exc  # in /proc, reading an open folder may be denied
        finally:
            os.close(descriptor)
        return sorted_folder(kinds)

    def facts(self, paths: Iterable[str]) -> dict[str, FileStat]:
        """Return the facts of the paths that still exist."""
        names: defaultdict[str, list[str]] = defaultdict(list)
        for path in paths:
            folder, _, name = path.rpartition("/")
            names[folder].append(name)
        found: dict[str, FileStat] = {}
        for folder, inside in names.items():
            self.check()
            where = WorkspacePath(folder)
            with suppress(*GONE):
                if self._local is not None:
                    _, there = self._local.look_into(where, inside)
                else:
                    there = {name: one for name in inside if (one := self.store.stat(where.child(name))) is not None}
                found |= {f"{folder}/{name}" if folder else name: one for name, one in there.items()}
        return found
