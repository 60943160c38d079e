"""The embedded journal's database file: opening, connections, write transactions behind the gate, damage.

Two sorts of connection: one writer, used behind the gate, and a small pool of readers. Nothing outside this package
sees SQLite; its errors leave here translated.
"""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError, InternalError, StateDamagedError
from filetools.journal.gate import Gate
from filetools.journal.schema import SCHEMA_VERSION, migrate, schema_of
from filetools.models import Durability

DATABASE_NAME: Final = "journal.db"
CHECKPOINT_BYTES: Final = 16 * 1024 * 1024
"""Size of the write-ahead file from which the keeper copies it into the database."""

T = TypeVar("T")


class Database:
    """An open journal database. Lives as long as the journal; unusable after a fork."""

    def __init__(self, directory: Path, *, durability: Durability, timeout_seconds: float = 30.0) -> None:
        """Open or create the database in `directory`.

        Raises:
            StateDamagedError: The file is not a journal, or cannot be read.
            StateTooNewError: A newer release wrote it.
            AccessDeniedError, DiskFullError: The directory cannot be written.
        """
        self._directory = directory
        self._path = directory / DATABASE_NAME
        self._process = os.getpid()
        self._closed = False
        self._synchronous = "FULL" if durability == "commit" else "NORMAL"
        self._synchronous_now = ""
        self._readers: list[sqlite3.Connection] = []
        self._readers_lock = threading.Lock()
        self.opening = secrets.randbits(62)
        """Random number of this opening; tells own records from other processes'."""
        with translated():
            self.gate = Gate(directory, timeout_seconds=timeout_seconds)
            try:
                self._writer = self._open_writer()
            except BaseException:
                self.gate.close()
                raise
        self._identity = self._identity_on_disk()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for queries; each statement sees the newest commit of any process."""
        self._check_usable()
        with self._readers_lock:
            connection = self._readers.pop() if self._readers else None
        with translated():
            if connection is None:
                connection = self._connect()
            try:
                yield connection
            finally:
                with self._readers_lock:
                    self._readers.append(connection)

    def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Run `work` in one write transaction and commit it; nothing is kept if it raises.

        Args:
            work: Gets the connection inside the transaction.
            durable: False leaves the commit unsynced, for marks that recovery can find again by itself.

        Raises:
            StateDamagedError: The database is no longer the file that was opened; nothing is acknowledged.
        """
        self._check_usable()
        with translated(), self.gate:
            self._check_identity()
            self._use_synchronous(self._synchronous if durable else "NORMAL")
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                result = work(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                raise
            # Looked at again: a folder removed during the commit took the commit with it.
            self._check_identity()
            return result

    def checkpoint(self, *, at_least_bytes: int = CHECKPOINT_BYTES) -> bool:
        """Copy the write-ahead file into the database if it has grown to `at_least_bytes`; False if it has not."""
        self._check_usable()
        if self._wal_bytes() < at_least_bytes:
            return False
        with translated(), self.gate:
            self._check_identity()
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return True

    def close(self) -> None:
        """Checkpoint and release every connection; may be called twice, and after a fork does nothing."""
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        with suppress(FileToolsError), translated(), self.gate:
            with suppress(FileToolsError):
                self._check_identity()
                self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._close_connections()
        self.gate.close()

    def _close_connections(self) -> None:
        with self._readers_lock:
            for connection in self._readers:
                connection.close()
            self._readers.clear()
        self._writer.close()

    def _use_synchronous(self, wanted: str) -> None:
        if wanted != self._synchronous_now:
            self._writer.execute(f"PRAGMA synchronous = {wanted}")
            self._synchronous_now = wanted

    def _open_writer(self) -> sqlite3.Connection:
        with self.gate:
            writer = self._connect()
            try:
                if schema_of(writer) != SCHEMA_VERSION:
                    writer.execute("PRAGMA page_size = 4096")
                writer.execute("PRAGMA journal_mode = WAL")
                writer.execute("PRAGMA wal_autocheckpoint = 0")
                writer.execute("BEGIN IMMEDIATE")
                migrate(writer)
                writer.execute("COMMIT")
            except BaseException:
                writer.close()
                raise
            os.chmod(self._path, 0o600)
            return writer

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=10, cached_statements=256
        )
        connection.execute("PRAGMA mmap_size = 0")
        return connection

    def _wal_bytes(self) -> int:
        try:
            return os.stat(f"{self._path}-wal").st_size
        except FileNotFoundError:
            return 0

    def _identity_on_disk(self) -> tuple[int, int]:
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except OSError as exc:
            raise StateDamagedError("the journal's database has vanished") from exc
        return (found.st_dev, found.st_ino)

    def _check_identity(self) -> None:
        if self._identity_on_disk() != self._identity:
            raise StateDamagedError("the journal's database was replaced while open")

    def _check_usable(self) -> None:
        if os.getpid() != self._process:
            raise InternalError("This journal was opened before a fork; open the workspace again in the new process")
        if self._closed:
            raise InternalError("The journal is closed")


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of SQLite and of the operating system into the product's own."""
    try:
        yield
    except sqlite3.Error as exc:
        raise _translate(exc) from exc
    except FileToolsError:
        raise  # several of them are OSErrors too
    except OSError as exc:
        raise _translate_os(exc) from exc


def _translate_os(error: OSError) -> FileToolsError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError("the journal")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessDeniedError("the journal", error.strerror or "denied")
    return StateDamagedError(error.strerror or str(error))


def _translate(error: sqlite3.Error) -> FileToolsError:
    code: Any = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary == sqlite3.SQLITE_FULL:
        return DiskFullError("the journal")
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return AccessDeniedError("the journal", f"its database cannot be written: {error}")
    return StateDamagedError(str(error))
