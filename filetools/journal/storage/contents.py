"""Stores the bytes of versions: in the journal's database, or large ones in a file each."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Final

from filetools.durable import sync_descriptor, sync_directory, write_atomically
from filetools.errors import StateDamagedError, VersionGoneError
from filetools.journal.storage.database import TRANSLATED, Connection, Database, size_of, slices
from filetools.models.words import VERSION_PREFIX
from filetools.paths.resolver import READ_FLAGS

LARGEST_ROW_BYTES: Final = 128 * 1024
"""Contents above this size get a file each, so that the write-ahead file and its checkpoints stay small."""
SLICE_BYTES: Final = 512 * 1024
"""Bytes of contents written in one transaction, so that commits wait a few milliseconds at most."""
_KEEP: Final = (
    "INSERT INTO contents (hash, size, used, bytes) VALUES (?, ?, ?, ?)"
    # Writes the bytes again, which repairs a damaged row and costs nothing if they are the same.
    " ON CONFLICT (hash) DO UPDATE SET used = max(used, excluded.used), bytes = excluded.bytes"
)
VERSION_TEXT: Final = f"CASE WHEN version IS NOT NULL THEN '{VERSION_PREFIX}' || lower(hex(version)) END"
"""The column `version` as text, for queries of so many rows that it matters."""
UNSYNCED: Final = -1
"""Value of `used` for texts that an actor read and no record needs: not synced, and removed first."""
IS_BLOB: Final = "typeof(bytes) = 'null'"
"""True if content is in a file of its own. `bytes IS NULL` is equivalent, but reads all of the bytes."""
IS_FREE: Final = (
    # A file that was only found needs its bytes only for a snapshot.
    "NOT EXISTS (SELECT 1 FROM heads WHERE heads.version = contents.hash AND heads.number > 0)"
    " AND NOT EXISTS (SELECT 1 FROM snapshot_rows WHERE snapshot_rows.version = contents.hash)"
    # Of all that an actor has seen of a path, only the newest row's base is kept for it.
    " AND NOT EXISTS (SELECT 1 FROM seen_versions AS seen WHERE seen.base = contents.hash AND seen.time > ?"
    " AND NOT EXISTS (SELECT 1 FROM seen_versions AS newer"
    " WHERE newer.owner = seen.owner AND newer.key = seen.key AND newer.time > seen.time))"
    " AND NOT EXISTS (SELECT 1 FROM documents WHERE documents.base = contents.hash)"
    " AND NOT EXISTS (SELECT 1 FROM rows WHERE rows.version = contents.hash)"
)
"""True if only past records need a row of contents; takes the time since which a base counts, in seconds."""
_TOUCH: Final = "UPDATE contents SET used = ? WHERE hash = ?"

_STORED: Final = f"SELECT size, used, {IS_BLOB} FROM contents WHERE hash = ?"


class Contents:
    """Contents of an embedded journal."""

    def __init__(self, database: Database, blobs: BlobFolder) -> None:
        self._database = database
        self.blobs = blobs

    def get(self, version: str) -> bytes:
        """Return the bytes of a version, verified against its hash.

        Raises:
            VersionGoneError: They are not kept, or no longer intact.
        """
        digest = digest_of(version)
        row = self._database.row("SELECT bytes FROM contents WHERE hash = ?", (digest,))
        content = None if row is None else row[0]
        if row is not None and content is None:
            with suppress(OSError):
                content = self.blobs.get(digest.hex())
        if content is None or hashlib.sha256(content).digest() != digest:
            raise VersionGoneError(None, str(version_from(digest)))
        return bytes(content)

    def has(self, version: str) -> bool:
        """True if the bytes of a version are kept; unsynced ones do not count."""
        digest = digest_of(version)
        row = self._database.row(_STORED, (digest,))
        return row is not None and row[1] != UNSYNCED and (not row[2] or self.blobs.has(digest.hex(), row[0]))

    def put_all(self, contents: Mapping[str, bytes]) -> None:
        """Make large contents durable ahead of the commit that refers to them; others travel in the commit."""
        with TRANSLATED:
            self.blobs.put_all(
                {digest_of(version).hex(): one for version, one in contents.items() if len(one) > LARGEST_ROW_BYTES}
            )

    def remove_unused(self, digests: Iterable[bytes]) -> None:
        """Remove the files among these to which no row refers, such as those of a commit that had no room."""

        def work(connection: Connection) -> list[str]:
            found = ((digest.hex(), connection.execute(_STORED, (digest,)).fetchone()) for digest in digests)
            return [name for name, row in found if row is None or not row[2]]

        # Behind the gate: a commit that relies on one of these files looks for it there, and writes it again.
        self._database.write(work, durable=False, afterwards=self.blobs.remove)

    def keep(self, content: bytes, version: str) -> None:
        """Keep bytes that no record refers to, if they are not kept yet, until retention removes them as the oldest."""
        if not self.has(version):
            self.keep_all([(version, content)], durable=True)

    def keep_inside(self, digest: bytes, content: bytes) -> None:
        """As `keep`, inside a transaction; large content is durable before its commit.

        Raises:
            DiskFullError, StorageFailedError: It cannot be kept.
        """
        self.put_all({str(version_from(digest)): content})  # an existing file may be unsynced
        self._enter(self._database.connection, digest, content, 0)

    def keep_all(self, contents: Iterable[tuple[str, bytes]], *, durable: bool = False, used: int = 0) -> None:
        """As `keep`, for versions with their bytes, a portion at a time; by default durable with the next commit."""
        for portion in slices(contents, SLICE_BYTES, lambda each: len(each[1])):
            if used != UNSYNCED:
                self.put_all(dict(portion))
            self._database.write(partial(self._keep_portion, portion, used), durable=durable)

    def keep_read(self, texts: Mapping[str, bytes]) -> None:
        """Keep texts that actors have read, by version, all at once and unsynced; those kept already are skipped."""
        new = [each for each in texts.items() if self._database.row(_STORED, (digest_of(each[0]),)) is None]
        self.keep_all(new, used=UNSYNCED)

    def record(
        self,
        connection: Connection,
        number: int,
        *,
        before: str | None,
        after: str | None,
        content: bytes | None,
    ) -> None:
        """Note inside a commit which versions the record `number` replaces and uses.

        Args:
            connection: The writing connection.
            number: Number of the record.
            before: The version that it replaces; it counts as used by this record unless an older one has used it.
            after: The version that it uses.
            content: Bytes of `after`, to be kept; None if they may be kept already.
        """
        if before is not None:
            connection.execute(f"{_TOUCH} AND used = 0", (number, digest_of(before)))
        if after is not None and content is not None:
            self._enter(connection, digest_of(after), content, number)
        elif after is not None:
            connection.execute(_TOUCH, (number, digest_of(after)))

    def _enter(self, connection: Connection, digest: bytes, content: bytes, used: int) -> None:
        is_large = len(content) > LARGEST_ROW_BYTES
        # Perhaps stored before the gate; retention may have removed it since, and cannot now.
        if is_large and not self.blobs.has(digest.hex(), len(content)):
            self.blobs.put_all({digest.hex(): content}, is_synced=used != UNSYNCED)
        connection.execute(_KEEP, (digest, len(content), used, None if is_large else content))

    def _keep_portion(self, portion: list[tuple[str, bytes]], used: int, connection: Connection) -> None:
        for version, content in portion:
            self._enter(connection, digest_of(version), content, used)


def digest_of(version: str) -> bytes:
    """Return the raw hash of a version string."""
    return bytes.fromhex(version.removeprefix(VERSION_PREFIX))


def version_from(digest: bytes | None) -> str | None:
    """Return the version string of a raw hash, or None."""
    return None if digest is None else VERSION_PREFIX + digest.hex()


# -- large contents: one file per version, named by its hash, complete or absent

YOUNG_SECONDS: Final = 3600.0
"""A file younger than this may still be written, or wait for the commit that refers to it."""
_NAME: Final = re.compile(r"[0-9a-f]{64}")


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
                write_atomically(self._directory / name, content, is_synced=is_synced)
        if is_synced and contents:
            sync_directory(self._directory)

    def get(self, name: str) -> bytes:
        """Return a blob's bytes.

        Raises:
            OSError: There is none of that name, or it cannot be read.
        """
        with _opened(self._directory / name) as file:
            return file.read()

    def has(self, name: str, size: int) -> bool:
        """True if there is a blob of this size."""
        return size_of(self._directory / name) == size

    def intact_size(self, name: str, *, is_synced: bool = False) -> int | None:
        """Return the size of a blob whose bytes match its hash, synced if asked for; None if there is none."""
        try:
            with _opened(self._directory / name) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != name:
                    return None
                if is_synced:
                    # If it fails the kernel may have dropped bytes, and reports that only once.
                    sync_descriptor(file.fileno())
                return file.tell()
        except OSError:
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
            # By age: a process id would mean nothing across containers that share a root.
            old = [entry.name for entry in entries if _is_old(entry)]
        self.remove(name for name in old if not _NAME.fullmatch(name))
        return [name for name in old if _NAME.fullmatch(name)]


def _is_old(entry: os.DirEntry[str]) -> bool:
    with suppress(FileNotFoundError):
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > YOUNG_SECONDS
    return False


def _opened(file: Path) -> BufferedReader:
    return open(file, "rb", opener=lambda place, _: os.open(place, READ_FLAGS))
