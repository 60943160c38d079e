"""Where the bytes of versions are kept: small ones in the journal's database, large ones in files beside it.

What is kept for a snapshot is deflated first, where that pays: a row whose bytes are fewer than its `size` is. What a commit
keeps is not, so that no call waits for it. `size` is always that of the content, and so is what retention counts.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from filetools.errors import FileToolsError, VersionGoneError
from filetools.journal.blobs import BlobFolder
from filetools.journal.database import Database
from filetools.journal.translation import TRANSLATED
from filetools.models import VERSION_PREFIX

LARGEST_ROW_BYTES: Final = 128 * 1024
"""Contents above this size go into files, so that the write-ahead file and its checkpoints stay small."""
SLICE_BYTES: Final = 512 * 1024
"""Bytes of contents written in one transaction, so that commits wait a few milliseconds at most."""
MOST_LOOKED_UP: Final = 1000
"""Versions that are looked up one by one; of more, all that is kept is read."""
DEFLATE_LEVEL: Final = 1
"""Twice as fast as zlib's own choice, and text comes out a twentieth to a tenth larger."""
_KEEP: Final = (
    "INSERT INTO contents (hash, size, used, bytes) VALUES (?, ?, ?, ?)"
    # The bytes again, which repairs a damaged row and costs nothing where they are the same.
    " ON CONFLICT (hash) DO UPDATE SET used = max(used, excluded.used), bytes = excluded.bytes"
)
_KEEP_READ: Final = "INSERT OR IGNORE INTO contents (hash, size, used, bytes) VALUES (?, ?, ?, NULL)"
VERSION_TEXT: Final = f"CASE WHEN version IS NOT NULL THEN '{VERSION_PREFIX}' || lower(hex(version)) END"
"""Gives the column `version` as text, for queries of so many rows that it matters."""
UNSYNCED: Final = -1
"""Value of `used` for texts that somebody read and no record needs: nobody has synced them, and they are the first to go."""
IS_BLOB: Final = "typeof(bytes) = 'null'"
"""Whether content is in a file. `bytes IS NULL` would say the same, after reading all of the bytes."""
IS_FREE: Final = (
    # A file that was only found needs its bytes for a snapshot alone.
    "NOT EXISTS (SELECT 1 FROM heads WHERE heads.version = contents.hash AND heads.number > 0)"
    " AND NOT EXISTS (SELECT 1 FROM snapshot_rows WHERE snapshot_rows.version = contents.hash)"
    # Of all that an actor has seen of a path, only the newest row's base is kept for it.
    " AND NOT EXISTS (SELECT 1 FROM seen_versions AS seen WHERE seen.base = contents.hash AND seen.time > ?"
    " AND NOT EXISTS (SELECT 1 FROM seen_versions AS newer"
    " WHERE newer.owner = seen.owner AND newer.key = seen.key AND newer.time > seen.time))"
    " AND NOT EXISTS (SELECT 1 FROM documents WHERE documents.base = contents.hash)"
    " AND NOT EXISTS (SELECT 1 FROM descriptors WHERE descriptors.version = contents.hash)"
    " AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.version = contents.hash)"
)
"""Whether nothing but records of the past needs a row of contents; takes the time since when a base counts, in seconds."""
_TOUCH: Final = "UPDATE contents SET used = ? WHERE hash = ?"

Values = tuple[bytes, int, int, bytes]


class SqliteContents:
    """Contents of an embedded journal; implements `Contents`."""

    def __init__(self, database: Database, blobs: BlobFolder) -> None:
        self._database = database
        self._blobs = blobs

    def get(self, version: str) -> bytes:
        """Return the bytes of a version, verified against its hash."""
        digest = digest_of(version)
        row = self._database.row("SELECT bytes, size FROM contents WHERE hash = ?", (digest,))
        if row is None:
            raise VersionGoneError(None, version)
        content = inflated(*row) if row[0] is not None else self._read_blob(version, digest)
        if hashlib.sha256(content).digest() != digest:
            raise VersionGoneError(None, version)
        return bytes(content)

    def has(self, version: str) -> bool:
        """Whether the bytes of a version are kept; those that nobody has synced do not count."""
        digest = digest_of(version)
        row = self._database.row(f"SELECT size, {IS_BLOB} FROM contents WHERE hash = ? AND used >= 0", (digest,))
        if row is None:
            return False
        size, is_blob = row
        return not is_blob or self._blobs.has(digest.hex(), size)

    def put(self, content: bytes, version: str) -> None:
        """Make large content durable ahead of its commit; small content does nothing here."""
        if len(content) > LARGEST_ROW_BYTES:
            with TRANSLATED:
                self._blobs.put(digest_of(version).hex(), content)

    def keep(self, content: bytes, version: str) -> None:
        """Keep bytes that no record refers to, until retention takes them as the oldest."""
        self.put(content, version)
        self._database.write(lambda connection: self.record(connection, content, version, 0))

    def keep_all(self, contents: Mapping[str, bytes]) -> None:
        """As `keep`, for several versions at once, and deflated; durable with the next commit."""
        for version, content in contents.items():
            self.put(content, version)
        # Large ones are recorded as in a commit: their files must still be there, behind the gate.
        small = {version: content for version, content in contents.items() if len(content) <= LARGEST_ROW_BYTES}
        large = {version: content for version, content in contents.items() if version not in small}
        for rows in _portions((digest_of(version), content) for version, content in small.items()):
            self._database.write(partial(_keep_rows, rows), durable=False)

        def work(connection: sqlite3.Connection) -> None:
            for version, content in large.items():
                self.record(connection, content, version, 0)

        if large:
            self._database.write(work, durable=False)

    def missing(self, versions: Iterable[str]) -> set[str]:
        """Return those of these versions whose bytes are not kept."""
        versions = set(versions)
        query = f"SELECT hash, size, {IS_BLOB} FROM contents WHERE used >= 0"
        if len(versions) > MOST_LOOKED_UP:
            rows = self._database.rows(query)
        else:
            rows = [
                row
                for version in versions
                if (row := self._database.row(f"{query} AND hash = ?", (digest_of(version),))) is not None
            ]
        kept = {digest for digest, size, is_blob in rows if not is_blob or self._blobs.has(digest.hex(), size)}
        return {version for version in versions if digest_of(version) not in kept}

    def keep_read(self, texts: Mapping[str, bytes]) -> None:
        """Keep texts that actors have read, by version, all at once and unsynced; what is kept already is not kept twice.

        The bytes go into files, so that writers wait for a few rows only.
        """
        known = "SELECT 1 FROM contents WHERE hash = ?"
        digests = {digest_of(version): content for version, content in texts.items()}
        new = {digest: content for digest, content in digests.items() if not self._database.row(known, (digest,))}
        if new:
            with TRANSLATED:
                for digest, content in new.items():
                    self._blobs.put_unsynced(digest.hex(), content)
            rows = [(digest, len(content), UNSYNCED) for digest, content in new.items()]
            self._database.write(lambda connection: connection.executemany(_KEEP_READ, rows), durable=False)

    def record(self, connection: sqlite3.Connection, content: bytes | None, version: str, number: int) -> None:
        """Note inside a commit that the record `number` uses content, and keep it if it is given."""
        digest = digest_of(version)
        if content is None:
            connection.execute(_TOUCH, (number, digest))
        elif len(content) <= LARGEST_ROW_BYTES:
            connection.execute(_KEEP, (digest, len(content), number, content))
        else:
            # Put before the gate; retention may have removed it in between, and cannot now.
            if not self._blobs.has(digest.hex(), len(content)):
                self._blobs.put(digest.hex(), content)
            connection.execute(_KEEP, (digest, len(content), number, None))

    def record_all(self, connection: sqlite3.Connection, used: Iterable[tuple[bytes | None, str, int]]) -> None:
        """As `record`, for many contents with their versions and records at once."""
        small: list[Values] = []
        for content, version, number in used:
            if content is None or len(content) > LARGEST_ROW_BYTES:
                self.record(connection, content, version, number)
            else:
                small.append((digest_of(version), len(content), number, content))
        connection.executemany(_KEEP, small)

    def replaced(self, connection: sqlite3.Connection, versions: Iterable[tuple[str, int]]) -> None:
        """Note inside a commit that records, by number, replace contents that no record has used before."""
        values = [(number, digest_of(version)) for version, number in versions]
        connection.executemany("UPDATE contents SET used = ? WHERE hash = ? AND used = 0", values)

    def _read_blob(self, version: str, digest: bytes) -> bytes:
        try:
            return self._blobs.get(digest.hex())
        except (FileToolsError, OSError) as exc:
            raise VersionGoneError(None, version) from exc


def deflated(content: bytes) -> bytes:
    """Return content as it is kept for a snapshot: deflated, or as it is where that does not save an eighth."""
    packed = zlib.compress(content, DEFLATE_LEVEL)
    return packed if len(packed) < len(content) - len(content) // 8 else content


def inflated(stored: bytes, size: int) -> bytes:
    """Return content of a size from what is stored of it; other bytes if that is damaged."""
    if len(stored) >= size or size > LARGEST_ROW_BYTES:
        return stored
    try:
        return zlib.decompressobj().decompress(stored, size)  # never more, whatever stands there
    except zlib.error:
        return stored


def _keep_rows(rows: list[Values], connection: sqlite3.Connection) -> None:
    connection.executemany(_KEEP, rows)


def _portions(contents: Iterable[tuple[bytes, bytes]]) -> Iterator[list[Values]]:
    """Yield rows of contents, by digest, in as many as one transaction writes."""
    rows: list[Values] = []
    held = 0
    for digest, content in contents:
        rows.append((digest, len(content), 0, deflated(content)))
        held += len(rows[-1][-1])
        if held >= SLICE_BYTES:
            yield rows
            rows, held = [], 0
    if rows:
        yield rows


def digest_of(version: str) -> bytes:
    """Return the raw hash of a version string."""
    return bytes.fromhex(version.removeprefix(VERSION_PREFIX))


def version_from(digest: bytes | None) -> str | None:
    """Return the version string of a raw hash, or None."""
    return None if digest is None else VERSION_PREFIX + digest.hex()
