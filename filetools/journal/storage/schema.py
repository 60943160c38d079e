"""Tables of the embedded journal, and the refusal of a journal that has others."""

from __future__ import annotations

import secrets
import sqlite3
from typing import Final

from filetools.errors import StateVersionError

SCHEMA_VERSION: Final = 44
"""Number of this schema; a state directory of any other is refused. To be raised with every change of a table."""
IS_PENDING: Final = "synced = 0 AND (state = 'pending') = 1"
IS_UNSYNCED: Final = "synced = 0 AND (state = 'pending') = 0"
REMOVES_FOLDER: Final = "operation IN ('delete_directory', 'move_directory')"
IS_MOVING: Final = f"state = 'pending' AND {REMOVES_FOLDER}"
"""Conditions on records, each worded like the index that answers it."""
NO_NUMBER: Final = 2**63 - 1
"""Greater than the number of any record."""
NEWEST: Final = "SELECT coalesce(max(number), 0) FROM records"
"""Number of the newest record, which is never removed."""
FIRST_PENDING: Final = (
    f"coalesce((SELECT min(number) FROM records INDEXED BY records_open WHERE {IS_PENDING}), {NO_NUMBER})"
)
"""Number of the first record that is not applied."""
_TREE_ROW: Final = """
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
        applied INTEGER NOT NULL"""
_TABLES: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE records (
        number INTEGER PRIMARY KEY,
        operation TEXT NOT NULL,
        path TEXT NOT NULL,
        key TEXT NOT NULL,
        old_path TEXT,
        old_key TEXT,
        before BLOB,
        before_unknown INTEGER NOT NULL,
        after BLOB,
        size INTEGER,
        mode INTEGER,
        actor_kind TEXT NOT NULL,
        actor_id TEXT NOT NULL,
        session TEXT,
        call TEXT,
        time REAL NOT NULL,
        batch INTEGER,
        opening INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        state TEXT NOT NULL,
        synced INTEGER NOT NULL DEFAULT 0,
        undone INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX records_of_key ON records (key, number)",
    "CREATE INDEX records_of_old_key ON records (old_key, number) WHERE old_key IS NOT NULL",
    "CREATE INDEX records_of_call ON records (call, number) WHERE call IS NOT NULL",
    # A record that is pending is not synced either.
    "CREATE INDEX records_open ON records (state = 'pending', number) WHERE synced = 0",
    f"CREATE INDEX records_of_folders ON records (number) WHERE {REMOVES_FOLDER}",
    f"CREATE INDEX records_moving ON records (number) WHERE {IS_MOVING}",
    """CREATE TABLE relations (
        number INTEGER NOT NULL,
        kind TEXT NOT NULL,
        target INTEGER NOT NULL,
        PRIMARY KEY (number, kind, target)
    ) WITHOUT ROWID""",
    "CREATE INDEX relations_of_target ON relations (target, kind)",
    "CREATE TRIGGER records_removed AFTER DELETE ON records BEGIN DELETE FROM relations WHERE number = old.number;"
    " INSERT INTO meta VALUES ('forgotten', old.number) ON CONFLICT (name)"
    " DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER)); END",
    # Records that a power cut may have undone in the files: no list, which a full disk would lack the room for.
    f"""CREATE VIEW unrestored AS SELECT number FROM records INDEXED BY records_open WHERE {IS_UNSYNCED}
        AND number <= (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'power_cut')
        AND number NOT IN (SELECT number FROM restored)""",
    "CREATE TABLE restored (number INTEGER PRIMARY KEY)",
    # The entry at each path, now or before. `folder`: key of its folder. `version` NULL: not read yet. `inode` NULL: not
    # looked at since. `number`: of the newest record of a file of this name, also where a folder is now; 0 if there is none.
    # `applied` 0: committed, and perhaps not on the disk.
    f"CREATE TABLE tree (key TEXT PRIMARY KEY,{_TREE_ROW}) WITHOUT ROWID",
    "CREATE INDEX tree_in_folder ON tree (folder)",
    "CREATE INDEX tree_by_inode ON tree (inode) WHERE inode IS NOT NULL",
    "CREATE INDEX tree_of_version ON tree (version) WHERE version IS NOT NULL",
    # The newest version of each file that is known, or that it is gone.
    """CREATE VIEW heads AS SELECT key, path, version, CASE kind WHEN 'file' THEN size END AS size,
        CASE kind WHEN 'file' THEN mode END AS mode, number, applied FROM tree
        WHERE (kind = 'file' AND version IS NOT NULL) OR (kind IN ('absent', 'directory') AND number > 0)""",
    # Rows of deleted folders and of what was below them: all of them while the deletion may be set back, then those with a
    # version while its record is kept.
    f"""CREATE TABLE tree_aside (deletion INTEGER NOT NULL, key TEXT NOT NULL,{_TREE_ROW},
        PRIMARY KEY (deletion, key)) WITHOUT ROWID""",
    # `bytes` is NULL where they are in a file of their own.
    """CREATE TABLE contents (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        size INTEGER NOT NULL,
        used INTEGER NOT NULL,
        bytes BLOB
    )""",
    "CREATE INDEX contents_by_use ON contents (used, id, size)",
    # Paths that a mirror refused, or that differ in it: `number` 0. Names need not be UTF-8.
    """CREATE TABLE behind (
        mirror TEXT NOT NULL,
        key BLOB NOT NULL,
        path BLOB NOT NULL,
        number INTEGER NOT NULL,
        below INTEGER NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        PRIMARY KEY (mirror, key)
    ) WITHOUT ROWID""",
    # `position`: every record up to it is durably in the mirror, except its backlog. `root`: where the root was
    # when the mirror was added; NULL if only callers named it. It need not be UTF-8.
    """CREATE TABLE mirrors (
        place TEXT PRIMARY KEY,
        identity TEXT NOT NULL,
        position INTEGER NOT NULL DEFAULT 0,
        is_filled INTEGER NOT NULL DEFAULT 0,
        root BLOB
    ) WITHOUT ROWID""",
    """CREATE TABLE seen_versions (
        owner TEXT NOT NULL,
        key TEXT NOT NULL,
        version BLOB NOT NULL,
        base BLOB NOT NULL,
        whole INTEGER NOT NULL,
        time REAL NOT NULL,
        encoding TEXT,
        PRIMARY KEY (owner, key, version)
    ) WITHOUT ROWID""",
    "CREATE INDEX seen_versions_of_base ON seen_versions (base)",
    # `name` is NULL until all of its bytes are kept.
    """CREATE TABLE checkpoints (
        snapshot INTEGER PRIMARY KEY,
        name TEXT UNIQUE,
        number INTEGER NOT NULL,
        time REAL NOT NULL,
        files INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        rows INTEGER NOT NULL,
        automatic INTEGER NOT NULL
    )""",
    # Entries of the tree at each snapshot: a row is valid from snapshot `first` to `last`, or to the newest one. `lacks` 1: its
    # bytes could not be kept.
    """CREATE TABLE snapshot_rows (
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        size INTEGER,
        mode INTEGER,
        version BLOB,
        first INTEGER NOT NULL,
        last INTEGER,
        lacks INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (key, first)
    ) WITHOUT ROWID""",
    "CREATE INDEX snapshot_rows_lacking ON snapshot_rows (key) WHERE lacks",
    "CREATE INDEX snapshot_rows_of_version ON snapshot_rows (version) WHERE version IS NOT NULL",
    """CREATE TABLE documents (
        id TEXT PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        path TEXT NOT NULL,
        base BLOB,
        encoding TEXT NOT NULL,
        bom BLOB NOT NULL,
        version INTEGER NOT NULL,
        dirty INTEGER NOT NULL,
        parents TEXT NOT NULL,
        text BLOB NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE document_edits (
        id TEXT NOT NULL,
        version INTEGER NOT NULL,
        step TEXT NOT NULL,
        change_id TEXT,
        PRIMARY KEY (id, version)
    ) WITHOUT ROWID""",
    "CREATE INDEX document_edits_of_name ON document_edits (id, change_id) WHERE change_id IS NOT NULL",
    """CREATE TABLE document_handles (
        handle TEXT PRIMARY KEY,
        id TEXT NOT NULL,
        actor_kind TEXT NOT NULL,
        actor_id TEXT NOT NULL,
        session TEXT,
        leased_until REAL NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX document_handles_of ON document_handles (id)",
    # Documents that were opened, changed, moved or closed last, so that a reader need not read all of them.
    "CREATE TABLE document_changes (number INTEGER PRIMARY KEY, id TEXT NOT NULL)",
    *(
        f"CREATE TRIGGER documents_{event.lower()} AFTER {event} ON documents"
        f" BEGIN INSERT INTO document_changes (id) VALUES ({row}.id); END"
        for event, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old"))
    ),
    "CREATE TRIGGER documents_closed AFTER DELETE ON documents BEGIN DELETE FROM document_edits WHERE id = old.id;"
    " DELETE FROM document_handles WHERE id = old.id; END",
    "CREATE TRIGGER document_changes_kept AFTER INSERT ON document_changes WHEN new.number % 128 = 0"
    " BEGIN DELETE FROM document_changes WHERE number <= new.number - 1024; END",
    # Small rows of JSON, those of each system in a space of its own.
    """CREATE TABLE rows (
        space TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        version BLOB,
        size INTEGER NOT NULL,
        used REAL NOT NULL,
        revision INTEGER NOT NULL,
        PRIMARY KEY (space, key)
    ) WITHOUT ROWID""",
    "CREATE INDEX rows_of_version ON rows (version, space, size) WHERE version IS NOT NULL",
    "CREATE INDEX rows_without ON rows (space, used) WHERE version IS NULL AND size > 0",
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a fresh database with an epoch of its own, inside the caller's transaction."""
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('epoch', ?)", (secrets.token_hex(6),))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def require_own_schema(connection: sqlite3.Connection) -> None:
    """Refuse a database of another schema, inside the caller's transaction.

    Raises:
        StateVersionError: Another version of filetools wrote it.
    """
    found = schema_of(connection)
    if found != SCHEMA_VERSION:
        raise StateVersionError(found, SCHEMA_VERSION)


def schema_of(connection: sqlite3.Connection) -> int:
    """Return the schema number of a database; 0 if it is fresh."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
