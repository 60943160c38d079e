"""Looking into a folder that was removed and is kept: what is in it, and the bytes of its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from filetools.stores.local_disk import READ_FLAGS, Place
from filetools.stores.reading import to_file_stat
from filetools.stores.store import FileStat


def entries_of(place: Place) -> list[tuple[str, FileStat]]:
    """Return what stands at a hidden place and below it, by its path there, folders before what is in them."""
    with place.opened() as folder:
        try:
            top = to_file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return []
        below = _below(place.name, folder) if top.type == "directory" else ()
        return [("", top), *sorted(below)]


def read_entry(place: Place, relative: str) -> bytes:
    """Return the bytes of a file that `entries_of` has named, or what a link points to.

    Raises:
        OSError: It is gone, or neither.
    """
    name = f"{place.name}/{relative}" if relative else place.name
    with place.opened() as folder:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return os.fsencode(os.readlink(name, dir_fd=folder))
        with open(os.open(name, READ_FLAGS, dir_fd=folder), "rb") as file:
            return file.read()


def _below(name: str, folder: int) -> Iterator[tuple[str, FileStat]]:
    for where, folders, files, inside in os.fwalk(name, dir_fd=folder, follow_symlinks=False):
        prefix = where[len(name) + 1 :]
        for entry in (*folders, *files):
            with suppress(FileNotFoundError):
                found = to_file_stat(os.stat(entry, dir_fd=inside, follow_symlinks=False))
                yield (f"{prefix}/{entry}" if prefix else entry), found
