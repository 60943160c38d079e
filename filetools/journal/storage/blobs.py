"""Contents too large for the database: one file per version, named by its hash, complete or absent."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.errors import FileToolsError, StateDamagedError

YOUNG_SECONDS: Final = 3600.0
"""A file younger than this may still be written, or wait for the commit that refers to it."""
_NAME: Final = re.compile(r"[0-9a-f]{64}")
_PLAIN: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NEW: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _PLAIN
_OLD: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _PLAIN


class BlobFolder:
    """A folder of blobs: their names are hashes, any other name is a writer's unfinished work."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        """Open the folder, or create it so that only its owner may enter it.

        Raises:
            StateDamagedError: Something else is at its path.
            OSError: It cannot be made.
        """
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        if not stat.S_ISDIR(directory.lstat().st_mode):
            raise StateDamagedError(f"{directory.name} is not a directory")
        self._directory = directory
        self._durable = durable

    def put_all(self, contents: Mapping[str, bytes], *, is_synced: bool = True) -> None:
        """Store contents by name; durable on return, unless they need not be.

        Existing ones are rewritten only if they are damaged: the disk may be full.
        """
        is_synced = is_synced and self._durable
        for name, content in contents.items():
            # An existing one may be another writer's of this instant, or a relaxed journal's, and not synced yet.
            if self.intact_size(name, is_synced=is_synced) is None:
                self._write(self._directory / name, content, is_synced)
        if is_synced and contents:
            sync_directory(self._directory)

    def get(self, name: str) -> bytes:
        """Return a blob's bytes.

        Raises:
            OSError: There is none of that name, or it cannot be read.
        """
        with open(open_regular(self._directory / name), "rb") as file:
            return file.read()

    def has(self, name: str, size: int) -> bool:
        """True if there is a blob of this size."""
        try:
            return (self._directory / name).lstat().st_size == size
        except FileNotFoundError:
            return False

    def intact_size(self, name: str, *, is_synced: bool = False) -> int | None:
        """Return the size of a blob whose bytes match its hash, synced if asked for; None if there is none."""
        try:
            with open(open_regular(self._directory / name), "rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != name:
                    return None
                if is_synced:
                    os.fsync(file.fileno())  # if it fails the kernel may have dropped bytes, and reports that only once
                return file.tell()
        except (FileToolsError, OSError):
            return None

    def remove(self, names: Iterable[str]) -> None:
        """Remove blobs that exist."""
        for name in names:
            (self._directory / name).unlink(missing_ok=True)

    def names(self) -> Iterator[str]:
        """Yield the names of all blobs."""
        with os.scandir(self._directory) as entries:
            yield from (entry.name for entry in entries if _NAME.fullmatch(entry.name))

    def sweep(self) -> list[str]:
        """Remove the unfinished work of dead writers; returns the names of blobs old enough to have been committed."""
        with os.scandir(self._directory) as entries:
            # By age, not by the process id in the name, which means nothing across containers that share a root.
            old = [entry.name for entry in entries if _is_old(entry)]
        self.remove(name for name in old if not _NAME.fullmatch(name))
        return [name for name in old if _NAME.fullmatch(name)]

    def _write(self, target: Path, content: bytes, is_synced: bool) -> None:
        temporary = self._directory / f"new-{os.getpid()}-{secrets.token_hex(8)}"
        descriptor = os.open(temporary, _NEW, 0o600)
        try:
            try:
                write_all(descriptor, content)
                if is_synced:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            temporary.replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise


def _is_old(entry: os.DirEntry[str]) -> bool:
    with suppress(FileNotFoundError):
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > YOUNG_SECONDS
    return False


def write_all(descriptor: int, content: bytes) -> None:
    """Write all bytes of content at the file's current offset."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_directory(directory: Path) -> None:
    """Make the entries of a directory durable; does nothing where directories cannot be synced (Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(place: Path, flags: int = _OLD) -> int:
    """Return a descriptor of a regular file.

    Raises:
        StateDamagedError: Something else is at its path.
        OSError: There is none, or it cannot be opened.
    """
    descriptor = os.open(place, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StateDamagedError(f"{place.name[:12]} among the kept contents is not a regular file")
    return descriptor
