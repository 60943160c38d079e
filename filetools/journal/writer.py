"""The one connection that writes: transactions, syncs and what follows when a sync fails. Used behind the gate only."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from filetools.errors import StorageFailedError
from filetools.journal.birth import DATABASE_NAME, connect
from filetools.journal.schema import require_own_schema
from filetools.journal.translation import BUSY_SECONDS
from filetools.models.words import Durability

CHECKPOINT_BYTES: Final = 16 * 1024 * 1024
"""Size of the write-ahead file from which the keeper copies it into the database."""
_FAILED_SYNCS: Final = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)

T = TypeVar("T")


class JournalWriter:
    """The writing connection of one database. Lives as long as the database is open."""

    def __init__(self, directory: Path, durability: Durability) -> None:
        """Connect.

        Args:
            directory: Where the database is.
            durability: Whether commits are synced.
        """
        self._synchronous = "FULL" if durability == "commit" else "NORMAL"
        self._synchronous_now = ""
        self._sync_failed = False
        self._connection = connect(directory / DATABASE_NAME)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def transact(self, work: Callable[[sqlite3.Connection], T], *, durable: bool) -> T:
        """Run `work` in a transaction and commit it; nothing is kept if it raises."""
        if self._sync_failed:
            self._write_anew()
        self._use(self._synchronous if durable else "NORMAL")
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another version may have changed the schema since this process opened the database.
            require_own_schema(connection)
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException as exc:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            if getattr(exc, "sqlite_errorcode", None) in _FAILED_SYNCS:
                self._sync_failed = True
                self._take_back()
            raise
        return result

    def distrust(self) -> None:
        """Have the write-ahead file written anew before the next transaction: a sync of it failed."""
        self._sync_failed = True

    def checkpoint(self) -> None:
        """Copy the write-ahead file into the database, as far as no reader stands in the way."""
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def restart_wal(self) -> None:
        """Copy the write-ahead file into the database and cut both off, unless a reader stands in the way now."""
        connection = self._connection
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        finally:
            connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _prepare(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # What goes on being written is not cut off each time: extending the file takes longer than writing over it.
        connection.execute(f"PRAGMA journal_size_limit = {4 * CHECKPOINT_BYTES}")
        if self._synchronous == "FULL":
            # Where a sync leaves data in the drive's own cache (macOS); does nothing elsewhere.
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA checkpoint_fullfsync = ON")
        connection.execute("BEGIN IMMEDIATE")
        require_own_schema(connection)
        connection.execute("COMMIT")

    def _use(self, synchronous: str) -> None:
        if synchronous != self._synchronous_now:
            self._connection.execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous_now = synchronous

    def _take_back(self) -> None:
        """Write over the frames of a commit whose sync failed: whole as they are, the next opening would take them."""
        with suppress(sqlite3.Error):
            self._use("NORMAL")
            note = "INSERT OR REPLACE INTO meta (name, value) VALUES ('sync_failed', ?)"
            self._connection.execute(note, (time.time(),))

    def _write_anew(self) -> None:
        """After a failed sync the kernel may have dropped what was written before, and says so only once.

        So the write-ahead file is never synced again as it is: all of it goes into the database, and it starts anew.
        """
        (busy, _, _) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StorageFailedError(
                "the journal", "its last sync failed, and a reader keeps it from being written anew"
            )
        self._sync_failed = False
