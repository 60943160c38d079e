"""Bytes of versions: small ones in the database, large ones in files of their own."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.errors import VersionGoneError
from filetools.journal.core.database import StateDatabase
from filetools.journal.translation import TRANSLATED
from filetools.models.words import VERSION_PREFIX

LARGEST_ROW_BYTES: Final = 128 * 1024
"""Size up to which contents lie in the database."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def digest_of(content: bytes) -> bytes:
    """Return the hash under which the database keeps a content."""
    return hashlib.sha256(content).digest()


def version_from(digest: bytes | None) -> str | None:
    """Return the version that a hash stands for; None stays None."""
    return None if digest is None else VERSION_PREFIX + digest.hex()


def digest_from(version: str) -> bytes:
    """Return the hash that a version stands for."""
    return bytes.fromhex(version.removeprefix(VERSION_PREFIX))


class ContentTable:
    """Contents by hash. `keep` is called inside a transaction of the writer; `read` in any thread."""

    def __init__(self, database: StateDatabase, directory: Path) -> None:
        """Use the contents of a database.

        Args:
            database: It holds the small ones.
            directory: Where the files of the large ones lie, in folders of two digits; made if it is missing.
        """
        self._database = database
        self._directory = directory
        with TRANSLATED:
            directory.mkdir(mode=0o700, exist_ok=True)
            _sync_folder(directory.parent)  # it may be new, and nothing else syncs its name

    def keep(self, digest: bytes, content: bytes) -> None:
        """Keep a content. A large one is written and synced here, so that the commit never refers to missing bytes.

        Raises:
            DiskFullError, StorageFailedError: It cannot be kept.
        """
        connection = self._database.write
        with TRANSLATED:
            if len(content) <= LARGEST_ROW_BYTES:
                connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?, ?)", (digest, len(content), content))
                return
            if connection.execute("SELECT 1 FROM contents WHERE hash = ?", (digest,)).fetchone() is None:
                self._write_file(digest, content)
                connection.execute("INSERT INTO contents VALUES (?, ?, NULL)", (digest, len(content)))

    def read(self, digest: bytes) -> bytes:
        """Return the bytes of a version.

        Raises:
            VersionGoneError: They are not kept, or do not have this hash any more.
        """
        return self._checked(digest, self._database.rows("SELECT bytes FROM contents WHERE hash = ?", (digest,)))

    def read_inside(self, digest: bytes) -> bytes:
        """As `read`, inside the writer's transaction: contents that it has kept count."""
        with TRANSLATED:
            query = self._database.write.execute("SELECT bytes FROM contents WHERE hash = ?", (digest,))
            return self._checked(digest, query.fetchall())

    def has(self, connection: sqlite3.Connection, digest: bytes) -> bool:
        """Whether a content is kept."""
        return connection.execute("SELECT 1 FROM contents WHERE hash = ?", (digest,)).fetchone() is not None

    def _checked(self, digest: bytes, found: Sequence[tuple[bytes | None]]) -> bytes:
        content = found[0][0] if found else None
        if found and content is None:
            with suppress(OSError):
                content = self._file(digest).read_bytes()
        if content is None or digest_of(content) != digest:
            raise VersionGoneError(None, f"{VERSION_PREFIX}{digest.hex()}")
        return content

    def _write_file(self, digest: bytes, content: bytes) -> None:
        path = self._file(digest)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_name(f"{path.name}.new")
        with suppress(FileNotFoundError):
            temporary.unlink()  # a dead process was writing it; nobody else writes now
        descriptor = os.open(temporary, _FLAGS, 0o600)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)  # before the name: a name without bytes would look like a kept content
        finally:
            os.close(descriptor)
        temporary.replace(path)
        _sync_folder(path.parent)
        _sync_folder(self._directory)

    def _file(self, digest: bytes) -> Path:
        name = digest.hex()
        return self._directory / name[:2] / name[2:]


def _sync_folder(path: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
