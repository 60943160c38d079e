"""Tables of the state database."""

from __future__ import annotations

import secrets
import sqlite3
from typing import Final

from filetools.errors import StateDamagedError, StateVersionError
from filetools.journal.schema import schema_of

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
