"""The embedded journal's database: connections, write transactions behind the gate, and what makes it unusable.

Two sorts of connection: one writer, used behind the gate, and a small pool of readers. Nothing outside this package
sees SQLite; its errors leave here translated.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from filetools.errors import FileToolsError, InternalError, StateDamagedError, StorageFailedError
from filetools.journal.birth import PAGE_BYTES, PARTS, connect, make_sure_of_database
from filetools.journal.gate import Gate
from filetools.journal.identity import Identities
from filetools.journal.opening import refuse_damage
from filetools.journal.position import PositionNote
from filetools.journal.schema import migrate
from filetools.journal.translation import TRANSLATED
from filetools.models import Durability

CHECKPOINT_BYTES: Final = 16 * 1024 * 1024
"""Size of the write-ahead file from which the keeper copies it into the database."""
_FAILED_SYNCS: Final = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)
_WHAT: Final = "the journal"
_log = logging.getLogger(__name__)

T = TypeVar("T")
Row = tuple[Any, ...]
Arguments = tuple[Any, ...] | Mapping[str, Any]
"""Values of a query, by place or by name."""


class Database:
    """An open journal database. Lives as long as the journal; unusable after a fork."""

    def __init__(self, directory: Path, *, durability: Durability, timeout_seconds: float = 30.0) -> None:
        """Open or create the database in `directory`.

        Raises:
            StateDamagedError: The file is not a journal, or cannot be read.
            StateTooNewError: A newer release wrote it.
            AccessDeniedError, DiskFullError: The directory cannot be written.
            LockTimeoutError: Somebody writes it all the time.
        """
        self._directory = directory
        self._wal = str(directory / PARTS[1])
        self._process = os.getpid()
        self._closed = False
        self._synchronous = "FULL" if durability == "commit" else "NORMAL"
        self._synchronous_now = ""
        self._sync_failed = False
        self._readers: list[sqlite3.Connection] = []
        self.opening = secrets.randbits(62)
        """Random number of this opening; tells own records from other processes'."""
        with TRANSLATED:
            self.gate = Gate(directory, timeout_seconds=timeout_seconds)
            try:
                self.position, self._writer, self._identities = self._open_writer()
            except BaseException:
                self.gate.close()
                raise

    @property
    def is_open(self) -> bool:
        """Whether this process may use it."""
        return not self._closed and os.getpid() == self._process

    @property
    def inode(self) -> int:
        """Which file the database is; a copy is another one."""
        return self._identities.inode

    def rows(self, query: str, arguments: Arguments = ()) -> list[Row]:
        """Return all rows of a query; each call sees the newest commit of any process."""
        with TRANSLATED:
            connection = self._take_reader()
            try:
                return connection.execute(query, arguments).fetchall()
            finally:
                self._give_back(connection)

    def row(self, query: str, arguments: Arguments = ()) -> Any:
        """Return the first row of a query, or None."""
        with TRANSLATED:
            connection = self._take_reader()
            try:
                return connection.execute(query, arguments).fetchone()
            finally:
                self._give_back(connection)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for reading in peculiar ways; give back no cursor that is still open."""
        with TRANSLATED:
            connection = self._take_reader()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def write(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        durable: bool = True,
        deadline: float | None = None,
        afterwards: Callable[[T], None] | None = None,
    ) -> T:
        """Run `work` in one write transaction and commit it; nothing is kept if it raises.

        Args:
            work: Gets the connection inside the transaction.
            durable: False leaves the commit unsynced, for marks that recovery can find again by itself.
            deadline: When to give up waiting for the gate; by default after the time of the opening.
            afterwards: Gets the result after the commit, still behind the gate.

        Raises:
            StateDamagedError: The database is no longer the file that was opened; nothing is acknowledged.
            LockTimeoutError: The gate was not free in time.
            DiskFullError, StorageFailedError: Nothing was recorded.
        """
        self._check_usable()
        with TRANSLATED:
            self.gate.enter(deadline)
            try:
                result = self._transact(work, durable=durable)
                if afterwards is not None:
                    afterwards(result)
                return result
            finally:
                self.gate.leave()

    def checkpoint(self, *, at_least_bytes: int = CHECKPOINT_BYTES) -> bool:
        """Copy the write-ahead file into the database if it has grown to `at_least_bytes`; False if it has not."""
        self._check_usable()
        if self._wal_bytes() < at_least_bytes:
            return False
        with TRANSLATED, self.gate:
            self._identities.check()
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return True

    def close(self) -> None:
        """Checkpoint and release every connection; may be called twice, and after a fork does nothing."""
        if not self.is_open:
            return
        self._closed = True
        try:
            with TRANSLATED, self.gate:
                self._identities.check()
                self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
                self._close_connections()
        except FileToolsError as exc:
            # Everything acknowledged is in the write-ahead file, which the next opening reads.
            _log.warning("the journal was closed without a checkpoint: %s", exc)
            self._close_connections()
        self.position.close()
        self.gate.close()

    def _transact(self, work: Callable[[sqlite3.Connection], T], *, durable: bool) -> T:
        self._identities.check()
        if self._sync_failed:
            self._write_anew()
        self._use_synchronous(self._synchronous if durable else "NORMAL")
        writer = self._writer
        writer.execute("BEGIN IMMEDIATE")
        try:
            result = work(writer)
            writer.execute("COMMIT")
        except BaseException as exc:
            with suppress(sqlite3.Error):
                writer.execute("ROLLBACK")
            if getattr(exc, "sqlite_errorcode", None) in _FAILED_SYNCS:
                self._sync_failed = True
                self._take_back()
            raise
        # Looked at again: a folder removed during the commit took the commit with it.
        self._identities.check()
        return result

    def _use_synchronous(self, wanted: str) -> None:
        if wanted != self._synchronous_now:
            self._writer.execute(f"PRAGMA synchronous = {wanted}")
            self._synchronous_now = wanted

    def _take_back(self) -> None:
        """Write over the frames of a commit whose sync failed: whole as they are, the next opening would take them."""
        with suppress(sqlite3.Error):
            self._use_synchronous("NORMAL")
            self._writer.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('sync_failed', ?)", (time.time(),))

    def _write_anew(self) -> None:
        """After a failed sync the kernel may have dropped what was written before, and says so only once.

        So the write-ahead file is never synced again as it is: all of it goes into the database, and it starts anew.
        """
        (busy, _, _) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StorageFailedError(_WHAT, "its last sync failed, and a reader keeps it from being written anew")
        self._sync_failed = False

    def _take_reader(self) -> sqlite3.Connection:
        self._check_usable()
        try:
            return self._readers.pop()
        except IndexError:
            self._identities.check()
            connection = connect(self._directory / PARTS[0])
        try:
            connection.execute("PRAGMA query_only = ON")
            self._identities.check()
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._readers.append(connection)

    def _close_connections(self) -> None:
        while self._readers:
            self._readers.pop().close()
        self._writer.close()

    def _open_writer(self) -> tuple[PositionNote, sqlite3.Connection, Identities]:
        with self.gate:
            make_sure_of_database(self._directory)
            position = PositionNote(self._directory)
            try:
                refuse_damage(self._directory, position.at_opening)
                writer = connect(self._directory / PARTS[0])
                try:
                    self._prepare(writer)
                    return position, writer, Identities(self._directory)
                except BaseException:
                    writer.close()
                    raise
            except BaseException:
                position.close()
                raise

    def _prepare(self, writer: sqlite3.Connection) -> None:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute(f"PRAGMA journal_size_limit = {4 * CHECKPOINT_BYTES}")
        if self._synchronous == "FULL":
            # Where a sync leaves data in the drive's own cache (macOS); does nothing elsewhere.
            writer.execute("PRAGMA fullfsync = ON")
            writer.execute("PRAGMA checkpoint_fullfsync = ON")
        writer.execute("BEGIN IMMEDIATE")
        migrate(writer)
        writer.execute("COMMIT")
        (page_bytes,) = writer.execute("PRAGMA page_size").fetchone()
        if page_bytes != PAGE_BYTES:
            raise StateDamagedError("the journal's database has another page size than every journal")

    def _wal_bytes(self) -> int:
        try:
            return os.stat(self._wal).st_size
        except FileNotFoundError:
            return 0

    def _check_usable(self) -> None:
        if os.getpid() != self._process:
            raise InternalError("This journal was opened before a fork; open the workspace again in the new process")
        if self._closed:
            raise InternalError("The journal is closed")
