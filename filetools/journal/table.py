"""Small tables of the journal: rows of JSON by key, put only if nobody else has; a row may keep bytes.

Each system has one of its own in the journal's database, made by a migration. Bytes that only rows keep
are the first that retention takes, those used least recently before the others; their rows stay for a while without them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from msgspec import Struct

from filetools.journal.contents import IS_FREE, UNSYNCED, digest_of, version_from
from filetools.journal.database import Database
from filetools.journal.database import Row as SqlRow

LARGEST_KEY: Final = "\U0010ffff"
_FREE: Final = f"UPDATE contents SET used = {UNSYNCED} WHERE hash = ? AND used = 0 AND {IS_FREE}"
_COLUMNS: Final = "key, value, version, size, used, revision"


class TableRow(Struct, frozen=True, kw_only=True):
    """One row."""

    key: str
    value: Mapping[str, Any]
    """JSON."""
    version: str | None = None
    """Version of the bytes that it keeps, which are among the journal's contents; None for none, or none any more."""
    size: int = 0
    """Bytes that it keeps, or kept."""
    used: float
    """When it was used last, in seconds since the epoch."""
    revision: int = 0
    """How often it was put; 0 is a row that is not there yet. A key that was removed begins anew."""
    is_gone: bool = False
    """Whether `put` removes it; no row that is there."""


class Table(Protocol):
    """Rows of one system."""

    def get(self, key: str) -> TableRow | None:
        """Return a row, or None."""

    def put(self, rows: Sequence[TableRow], *, durable: bool = True) -> bool:
        """Put or remove all these rows, if each is still of the revision that it names; else none of them.

        Args:
            rows: Each key once.
            durable: Whether it survives a power cut, where the journal does; what is found out again need not.

        Returns:
            Whether it was done.
        """

    def scan(self, prefix: str = "") -> list[TableRow]:
        """Return the rows whose keys begin with a prefix, in the order of their keys."""

    def release(self, keep_bytes: int, *, unused_since: float) -> None:
        """Let rows go of their bytes until all keep at most so many, and forget old rows that have lost theirs.

        Args:
            keep_bytes: Most bytes of all rows together; bytes that several rows keep count once.
            unused_since: Rows without their bytes that nobody used since, in seconds since the epoch, go.
        """


class SqliteTable:
    """A table in an embedded journal; implements `Table`."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name

    def get(self, key: str) -> TableRow | None:
        """Return a row, or None."""
        row = self._database.row(f"SELECT {_COLUMNS} FROM {self._name} WHERE key = ?", (key,))
        return None if row is None else _row(row)

    def put(self, rows: Sequence[TableRow], *, durable: bool = True) -> bool:
        """Put or remove all these rows, if each is still of the revision that it names; else none of them."""
        try:
            self._database.write(partial(self._put, rows), durable=durable)
        except _MovedOnError:
            return False
        return True

    def scan(self, prefix: str = "") -> list[TableRow]:
        """Return the rows whose keys begin with a prefix, in the order of their keys."""
        query = f"SELECT {_COLUMNS} FROM {self._name} WHERE key >= ? AND key < ? ORDER BY key"
        return [_row(row) for row in self._database.rows(query, (prefix, prefix + LARGEST_KEY))]

    def release(self, keep_bytes: int, *, unused_since: float) -> None:
        """Let rows go of their bytes until all keep at most so many, and forget old rows that have lost theirs."""
        with self._database.reading() as connection:
            surplus = held_bytes(connection, self._name) - keep_bytes
        if surplus > 0:
            self._database.write(lambda connection: release_bytes(connection, self._name, surplus), durable=False)
        gone = f"DELETE FROM {self._name} WHERE version IS NULL AND size > 0 AND used < ?"
        old = f"SELECT 1 FROM {self._name} WHERE version IS NULL AND size > 0 AND used < ? LIMIT 1"
        if self._database.row(old, (unused_since,)) is not None:
            self._database.write(lambda connection: connection.execute(gone, (unused_since,)), durable=False)

    def _put(self, rows: Sequence[TableRow], connection: sqlite3.Connection) -> None:
        found = f"SELECT revision FROM {self._name} WHERE key = ?"
        put = f"INSERT OR REPLACE INTO {self._name} ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
        for row in rows:
            (revision,) = connection.execute(found, (row.key,)).fetchone() or (0,)
            if revision != row.revision:
                raise _MovedOnError
            if row.is_gone:
                connection.execute(f"DELETE FROM {self._name} WHERE key = ?", (row.key,))
                continue
            version = None if row.version is None else digest_of(row.version)
            connection.execute(put, (row.key, json.dumps(row.value), version, row.size, row.used, revision + 1))


class _MovedOnError(Exception):
    """Takes the transaction back."""


def held_bytes(connection: sqlite3.Connection, name: str) -> int:
    """Return how many bytes the rows of a table keep."""
    query = f"SELECT coalesce(sum(size), 0) FROM (SELECT DISTINCT version, size FROM {name} WHERE version IS NOT NULL)"
    (held,) = connection.execute(query).fetchone()
    return int(held)


def release_bytes(connection: sqlite3.Connection, name: str, surplus: int, *, is_freed: bool = False) -> None:
    """Let rows of a table go of so many bytes, those used least recently first, inside the caller's transaction.

    The bytes stay for retention to remove, as the first of all. With `is_freed`, those that something else
    needs, too, do not count: the copy of a file that still is as it was read makes no room.
    """
    query = (
        f"SELECT version, max(size) FROM {name} WHERE version IS NOT NULL GROUP BY version ORDER BY max(used), version"
    )
    for version, size in connection.execute(query).fetchall():
        if surplus <= 0:
            break
        connection.execute(f"UPDATE {name} SET version = NULL, revision = revision + 1 WHERE version = ?", (version,))
        freed = connection.execute(_FREE, (version, 0.0)).rowcount
        surplus -= size if freed or not is_freed else 0


def _row(row: SqlRow) -> TableRow:
    key, value, version, size, used, revision = row
    return TableRow(
        key=key, value=json.loads(value), version=version_from(version), size=size, used=used, revision=revision
    )
