"""Where the bytes of versions are kept: small ones in the journal's database, large ones in files beside it."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Final

from filetools.errors import VersionGoneError
from filetools.journal.blobs import BlobFolder
from filetools.journal.database import Database, translated
from filetools.models import VERSION_PREFIX

LARGEST_ROW_BYTES: Final = 128 * 1024
"""Contents above this size go into files, so that the write-ahead file and its checkpoints stay small."""


class SqliteContents:
    """Contents of an embedded journal; implements `Contents`."""

    def __init__(self, database: Database, blobs: BlobFolder) -> None:
        self._database = database
        self._blobs = blobs

    def get(self, version: str) -> bytes:
        """Return the bytes of a version, verified against its hash."""
        digest = digest_of(version)
        with self._database.reading() as connection:
            row = connection.execute("SELECT bytes FROM contents WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            raise VersionGoneError(None, version)
        content = row[0] if row[0] is not None else self._read_blob(version, digest)
        if hashlib.sha256(content).digest() != digest:
            raise VersionGoneError(None, version)
        return bytes(content)

    def has(self, version: str) -> bool:
        """Whether the bytes of a version are kept."""
        with self._database.reading() as connection:
            found = connection.execute("SELECT 1 FROM contents WHERE hash = ?", (digest_of(version),)).fetchone()
        return found is not None

    def put(self, content: bytes, version: str) -> None:
        """Make large content durable ahead of its commit; small content does nothing here."""
        if len(content) > LARGEST_ROW_BYTES:
            with translated():
                self._blobs.put(digest_of(version).hex(), content)

    def keep(self, content: bytes, version: str) -> None:
        """Keep bytes that no record refers to, until retention takes them as the oldest."""
        self.put(content, version)
        self._database.write(lambda connection: keep(connection, version, content, 0))

    def _read_blob(self, version: str, digest: bytes) -> bytes:
        try:
            with translated():
                return self._blobs.get(digest.hex())
        except OSError as exc:
            raise VersionGoneError(None, version) from exc


def keep(connection: sqlite3.Connection, version: str, content: bytes, number: int) -> None:
    """Insert content inside a commit, or note that the record `number` uses it once more."""
    row = content if len(content) <= LARGEST_ROW_BYTES else None
    connection.execute(
        "INSERT INTO contents (hash, size, used, bytes) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (hash) DO UPDATE SET used = excluded.used",
        (digest_of(version), len(content), number, row),
    )


def touch(connection: sqlite3.Connection, version: str, number: int) -> None:
    """Note inside a commit that the record `number` uses content that is kept already."""
    connection.execute("UPDATE contents SET used = ? WHERE hash = ?", (number, digest_of(version)))


def digest_of(version: str) -> bytes:
    """Return the raw hash of a version string."""
    return bytes.fromhex(version.removeprefix(VERSION_PREFIX))


def version_from(digest: bytes | None) -> str | None:
    """Return the version string of a raw hash, or None."""
    return None if digest is None else VERSION_PREFIX + digest.hex()
