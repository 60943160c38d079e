"""Contents too large for the database: one file a version, named by its hash, complete or absent."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class BlobFolder:
    """A folder of blobs; every name is a hash, every other name a dead writer's leftover."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        directory.mkdir(mode=0o700, exist_ok=True)
        self._directory = directory
        self._durable = durable

    def put(self, name: str, content: bytes) -> None:
        """Store `content` under `name`; durable on return. Already there: nothing happens."""
        target = self._directory / name
        if self._is_whole(target, len(content)):
            return
        temporary = self._directory / f"new-{os.getpid()}-{secrets.token_hex(8)}"
        try:
            self._write(temporary, content)
            temporary.replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
        if self._durable:
            sync_directory(self._directory)

    def get(self, name: str) -> bytes:
        """Return a blob's bytes.

        Raises:
            FileNotFoundError: There is none of that name.
        """
        return (self._directory / name).read_bytes()

    def remove(self, name: str) -> None:
        """Remove a blob, if it is there."""
        with suppress(FileNotFoundError):
            (self._directory / name).unlink()

    def names(self) -> Iterator[str]:
        """Yield the names of all files in the folder, leftovers included."""
        with os.scandir(self._directory) as entries:
            for entry in entries:
                yield entry.name

    def _is_whole(self, target: Path, size: int) -> bool:
        # A power cut may leave a renamed but unwritten file of a relaxed journal; its size tells, its hash at reading.
        try:
            return target.stat().st_size == size
        except FileNotFoundError:
            return False

    def _write(self, temporary: Path, content: bytes) -> None:
        descriptor = os.open(temporary, _FLAGS, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            if self._durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable; does nothing where directories cannot be synced (Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
