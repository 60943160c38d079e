"""The state database: one connection that writes, in turns, and one for each thread that reads."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

from filetools.errors import StateDamagedError, StateVersionError, StorageFailedError
from filetools.journal.schema import schema_of
from filetools.journal.translation import BUSY_SECONDS, NO_SHARED_MEMORY, TRANSLATED

STATE_DATABASE: Final = "state.db"
LARGEST_WAL_BYTES: Final = 16 * 1024 * 1024
"""Size from which the write-ahead log is copied into the database, on a disk with room enough."""
_SMALLEST_WAL_BYTES: Final = 256 * 1024
_SHARE_OF_FREE: Final = 16
"""The write-ahead log takes at most one part in so many of the free space."""
_PAGE_BYTES: Final = 4096
_FAILED_SYNCS: Final = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)
Synchronous = Literal["FULL", "NORMAL"]

APPLICATION_ID: Final = 0x66746C73
"""Marks a database as one of filetools; "ftls" in ASCII."""
CORE_SCHEMA: Final = 1
"""Number of this schema; a database with any other number is refused."""
_TABLES: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # `batch`: number of the first record of the same call. `undoes`: number of the record that this one takes back.
    """CREATE TABLE records (
        number INTEGER PRIMARY KEY,
        batch INTEGER NOT NULL,
        kind TEXT NOT NULL,
        path TEXT NOT NULL,
        key TEXT NOT NULL,
        old_path TEXT,
        old_key TEXT,
        file INTEGER NOT NULL,
        before BLOB,
        after BLOB,
        size INTEGER,
        mode INTEGER,
        actor_kind TEXT NOT NULL,
        actor_id TEXT NOT NULL,
        session TEXT,
        call TEXT,
        time REAL NOT NULL,
        undoes INTEGER,
        origin TEXT NOT NULL
    )""",
    "CREATE INDEX records_of_file ON records (file, number)",
    "CREATE INDEX records_of_call ON records (call, number) WHERE call IS NOT NULL",
    "CREATE INDEX records_that_undo ON records (undoes) WHERE undoes IS NOT NULL",
    # `folder`: key of the folder that holds the path. `version` NULL: not read yet. `applied` 0: committed, and perhaps not
    # on the disk. `synced` 0: a power cut may take it back. `temporary`: where what was there comes out, until it is applied.
    """CREATE TABLE tree (
        key TEXT PRIMARY KEY,
        folder TEXT,
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        file INTEGER NOT NULL,
        version BLOB,
        mode INTEGER,
        device INTEGER,
        inode INTEGER,
        size INTEGER,
        mtime INTEGER,
        ctime INTEGER,
        number INTEGER NOT NULL,
        applied INTEGER NOT NULL,
        synced INTEGER NOT NULL,
        temporary TEXT
    ) WITHOUT ROWID""",
    "CREATE INDEX tree_in_folder ON tree (folder)",
    "CREATE INDEX tree_by_inode ON tree (inode) WHERE inode IS NOT NULL",
    # Everything up to `applied` is on the disk, and up to `synced` it survives a power cut.
    "CREATE TABLE reached (id INTEGER PRIMARY KEY, applied INTEGER NOT NULL, synced INTEGER NOT NULL)",
    "INSERT INTO reached VALUES (1, 0, 0)",
    # `bytes` NULL: they lie in a file of their own.
    "CREATE TABLE contents (hash BLOB PRIMARY KEY, size INTEGER NOT NULL, bytes BLOB)",
    """CREATE TABLE snapshots (
        checkpoint TEXT NOT NULL,
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        version BLOB,
        mode INTEGER,
        PRIMARY KEY (checkpoint, key)
    ) WITHOUT ROWID""",
    # Everything up to `number` is in the mirror, but for what `behind` lists.
    "CREATE TABLE mirrors (name TEXT PRIMARY KEY, place TEXT NOT NULL, mark TEXT NOT NULL, number INTEGER) WITHOUT ROWID",
    """CREATE TABLE behind (
        mirror TEXT NOT NULL,
        key TEXT NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        reason TEXT NOT NULL,
        PRIMARY KEY (mirror, key)
    ) WITHOUT ROWID""",
    """CREATE TABLE rows (
        space TEXT NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        revision INTEGER NOT NULL,
        expires REAL,
        PRIMARY KEY (space, key)
    ) WITHOUT ROWID""",
    "CREATE INDEX rows_that_expire ON rows (expires) WHERE expires IS NOT NULL",
)


class StateDatabase:
    """An open state database. Lives as long as the workspace is open.

    `transaction` belongs to the writer's thread; whoever calls it holds the root's lock. `rows` may be called in any
    thread, and never waits for a transaction.

    Attributes:
        write: The writing connection, for statements inside a transaction.
        generation: Another number means that what was read in former transactions may not hold any more.
        has_log: Whether a write-ahead log is used; False where the file system has no shared memory.
    """

    def __init__(self, directory: Path) -> None:
        """Open or create the database in a directory. The caller holds the root's lock.

        Raises:
            StateDamagedError: The file is not a database of filetools, or cannot be read.
            StateVersionError: Another version of filetools made it.
            AccessDeniedError, DiskFullError, StorageFailedError: The directory cannot be written.
        """
        self._path = directory / STATE_DATABASE
        self._readers: dict[int, sqlite3.Connection] = {}
        self._readers_lock = threading.Lock()
        self._synchronous: Synchronous | None = None
        self._sync_failed = False
        self._data_version = -1
        self.generation = 0
        self._notes: set[str] = set()
        with TRANSLATED:
            self.write = self._connect()
            try:
                self.has_log = self._start_log()
                self._prepare()
            except BaseException:
                self.write.close()
                raise

    @contextmanager
    def transaction(self, synchronous: Synchronous) -> Iterator[sqlite3.Connection]:
        """Run the block in one transaction, which is rolled back if the block raises.

        Args:
            synchronous: "FULL" if the commit must survive a power cut, with all commits before it.

        Raises:
            DiskFullError: No space; nothing was changed, and the next transaction may work again.
            StorageFailedError: The disk failed. After a failed sync it is unknown whether the commit survives.
        """
        with TRANSLATED:
            if self._sync_failed:
                self._rewrite_log()
            if synchronous != self._synchronous:
                self.write.execute(f"PRAGMA synchronous = {synchronous}")
                self._synchronous = synchronous
            self.write.execute("BEGIN IMMEDIATE")
        try:
            with TRANSLATED:
                # Changes when another connection has committed.
                version = self.write.execute("PRAGMA data_version").fetchone()[0]
                if version != self._data_version:
                    self._data_version = version
                    self.generation += 1
                yield self.write
                self.write.execute("COMMIT")
        except BaseException as exc:
            with suppress(sqlite3.Error):
                self.write.execute("ROLLBACK")
            self.generation += 1
            self._note_failure(getattr(exc.__cause__ or exc, "sqlite_errorcode", None))
            raise

    def rows(self, query: str, arguments: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query, as of the newest commit."""
        with TRANSLATED:
            return self._reader().execute(query, arguments).fetchall()

    def has_note(self, name: str) -> bool:
        """Whether meta has a row of a name, inside a transaction. Such rows are never removed."""
        if name not in self._notes and self.write.execute("SELECT 1 FROM meta WHERE name = ?", (name,)).fetchone():
            self._notes.add(name)
        return name in self._notes

    def epoch(self) -> str:
        """Return what tells this database from one that was made anew or restored from a copy."""
        return str(self.rows("SELECT value FROM meta WHERE name = 'epoch'")[0][0])

    def close(self) -> None:
        """Close all connections; may be called twice. No other call may be under way."""
        with self._readers_lock:
            readers, self._readers = self._readers, {}
        for connection in (*readers.values(), self.write):
            with suppress(sqlite3.Error):
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        # Autocommit: transactions begin where this module says so.
        connection = sqlite3.connect(
            self._path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    def _reader(self) -> sqlite3.Connection:
        thread = threading.get_ident()  # a later thread may get the number, and the connection, of one that has ended
        connection = self._readers.get(thread)
        if connection is None:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            with self._readers_lock:
                self._readers[thread] = connection
        return connection

    def _start_log(self) -> bool:
        """Choose the journal mode of a fresh database; one that exists keeps its own, whoever opens it."""
        (mode,) = self.write.execute("PRAGMA journal_mode").fetchone()
        is_fresh = not self.write.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if is_fresh:
            try:
                (mode,) = self.write.execute("PRAGMA journal_mode = WAL").fetchone()
                self.write.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError as exc:
                if exc.sqlite_errorcode not in NO_SHARED_MEMORY:
                    raise
                # No shared memory (9p, virtiofs, some FUSE). The file says WAL by now, and cannot be read like that.
                self.write.close()
                for part in self._path.parent.glob(f"{STATE_DATABASE}*"):
                    part.unlink()
                self.write, mode = self._connect(), "delete"
        if mode == "wal":
            return True
        # Turns exclude each other, and readers wait a commit's time.
        self.write.execute("PRAGMA journal_mode = TRUNCATE")
        return False

    def _prepare(self) -> None:
        free = os.statvfs(self._path.parent) if hasattr(os, "statvfs") else None
        room = LARGEST_WAL_BYTES if free is None else free.f_bavail * free.f_frsize // _SHARE_OF_FREE
        limit = max(_SMALLEST_WAL_BYTES, min(LARGEST_WAL_BYTES, room))
        self.write.execute(f"PRAGMA wal_autocheckpoint = {limit // _PAGE_BYTES}")
        self.write.execute(f"PRAGMA journal_size_limit = {limit}")
        # Where a sync leaves data in the drive's own cache (macOS); does nothing elsewhere.
        self.write.execute("PRAGMA fullfsync = ON")
        self.write.execute("BEGIN IMMEDIATE")
        try:
            if not check_schema(self.write):
                make_tables(self.write)
            self.write.execute("COMMIT")
        except BaseException:
            self.write.execute("ROLLBACK")
            raise

    def _note_failure(self, code: int | None) -> None:
        if code in _FAILED_SYNCS:
            self._sync_failed = True
        elif code is not None and code & 0xFF == sqlite3.SQLITE_FULL:
            # The log may be what fills the disk: copied into the database, its space is free again.
            with suppress(sqlite3.Error):
                self.write.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _rewrite_log(self) -> None:
        """Start the log anew: after a failed sync the kernel may have dropped what was written before, and says so once."""
        (busy, _, _) = self.write.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StorageFailedError(
                "the journal", "its last sync failed, and a reader keeps the log from being rewritten"
            )
        self._sync_failed = False


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a fresh database with an epoch of its own, inside the caller's transaction."""
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('epoch', ?)", (secrets.token_hex(6),))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {CORE_SCHEMA}")


def check_schema(connection: sqlite3.Connection) -> bool:
    """Return whether the tables are there; False for an empty database.

    Raises:
        StateDamagedError: Another program made it.
        StateVersionError: Another version of filetools made it.
    """
    found = schema_of(connection)
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if found == 0 and application == 0 and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return False
    if application != APPLICATION_ID:
        raise StateDamagedError("its database is not one of filetools")
    if found != CORE_SCHEMA:
        raise StateVersionError(found, CORE_SCHEMA)
    return True
