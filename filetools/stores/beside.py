"""Notes of the folders in which a store had to put temporary files beside their targets.

A temporary file in a target's own folder cannot carry its owner's name, and nobody scans the tree for it. So before the
first one a note is put into the private directory, under the owner's name: whoever finds the owner dead knows where to look.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress

from filetools.stores.owners import Owner, is_left_behind
from filetools.stores.private import PrivateDirectory


class FolderNotes:
    """The notes of one store; lives as long as the store is open. Thread-safe."""

    __slots__ = ("_lock", "_names", "_owner", "_private")

    def __init__(self, private: PrivateDirectory, owner: Owner) -> None:
        self._private = private
        self._owner = owner
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()

    def note(self, folder: str) -> None:
        """Note a folder, once, before a temporary file is made in it.

        Raises:
            OSError: The note cannot be written, so the file must not be made.
        """
        with self._lock:
            if folder in self._names:
                return
            name = self._owner.new_name()
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0)
            descriptor = os.open(name, flags, 0o600, dir_fd=self._private.beside)
            try:
                os.write(descriptor, os.fsencode(folder))
            finally:
                os.close(descriptor)
            self._names[folder] = name

    def of_the_dead(self) -> Iterator[tuple[str, str]]:
        """Yield (name of the note, folder) of owners that are gone."""
        for name in os.listdir(self._private.beside):
            with suppress(FileNotFoundError):
                changed_ns = os.stat(name, dir_fd=self._private.beside, follow_symlinks=False).st_ctime_ns
                if is_left_behind(name, changed_ns):
                    yield name, self._read(name)

    def drop(self, name: str) -> None:
        """Remove a note whose folder holds nothing any more."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._private.beside)

    def own(self) -> list[tuple[str, str]]:
        """Return (name of the note, folder) of this store."""
        with self._lock:
            return [(name, folder) for folder, name in self._names.items()]

    def _read(self, name: str) -> str:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0), dir_fd=self._private.beside)
        try:
            return os.fsdecode(os.read(descriptor, 8192))
        finally:
            os.close(descriptor)
