"""Small JSON rows by key, with compare-and-swap; a row may keep bytes.

Each system has its own space. Retention removes bytes that only rows keep before any others, least recently used first;
their rows remain for a while without them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from filetools.journal.storage.contents import IS_FREE, UNSYNCED, digest_of, version_from
from filetools.journal.storage.database import Connection, Database, T

_FREE: Final = f"UPDATE contents SET used = {UNSYNCED} WHERE hash = ? AND used = 0 AND {IS_FREE}"
_COLUMNS: Final = "key, value, version, size, used, revision"
_SELECT: Final = f"SELECT {_COLUMNS} FROM rows WHERE space = ?"
_PUT: Final = f"INSERT OR REPLACE INTO rows (space, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_HELD: Final = (
    "SELECT coalesce(sum(size), 0) FROM"
    " (SELECT DISTINCT version, size FROM rows WHERE space = ? AND version IS NOT NULL)"
)


class TableRow(Struct, frozen=True, kw_only=True):
    """One row."""

    key: str
    value: Mapping[str, Any]
    """JSON."""
    version: str | None = None
    """Version of the bytes that it keeps in the journal's contents; None if it keeps none, or they were released."""
    size: int = 0
    """Number of bytes that it keeps, or kept before they were released."""
    used: float
    """Time of its last use, in seconds since the epoch."""
    revision: int = 0
    """How often it was put; 0 for a row that does not exist yet. Starts at 0 again after a removal."""
    is_gone: bool = False
    """True if `put` removes it; never set in a stored row."""


class Table:
    """The rows of a space in an embedded journal.

    Args:
        database: The database.
        space: Name of the system that owns the rows.
        on_put: Called in the calling thread after rows were put as news.
    """

    def __init__(self, database: Database, space: str, on_put: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._space = space
        self._on_put = on_put

    def get(self, key: str) -> TableRow | None:
        """Return a row, or None."""
        return next(map(_row, self._database.rows(f"{_SELECT} AND key = ?", (self._space, key))), None)

    def put(self, rows: Sequence[TableRow], *, durable: bool = True, is_news: bool = True) -> bool:
        """Put or remove all these rows if each still has the revision that it names; otherwise none of them.

        Args:
            rows: Each key once.
            durable: False if it need not survive a power cut.
            is_news: True to wake waiting processes.

        Returns:
            True if it was done.
        """
        is_done = self._database.write(partial(self._put, rows), durable=durable)
        if is_done and is_news:
            self._on_put()
        return is_done

    def change(
        self, work: Callable[[], tuple[T, Sequence[TableRow]]], *, durable: bool = True, is_news: bool = True
    ) -> T:
        """Put the rows that `work` returns after its result; it runs again if others have put one of them since it read it."""
        while True:
            result, rows = work()
            if not rows or self.put(rows, durable=durable, is_news=is_news):
                return result

    def scan(self, prefix: str = "") -> list[TableRow]:
        """Return the rows whose keys begin with a prefix, in the order of their keys."""
        query = f"{_SELECT} AND key >= ? AND key < ? ORDER BY key"
        # The greatest character.
        return [_row(row) for row in self._database.rows(query, (self._space, prefix, f"{prefix}\U0010ffff"))]

    def release(self, keep_bytes: int, *, unused_since: float) -> None:
        """Release bytes of rows until all keep at most so many, and remove old rows that have lost theirs.

        Args:
            keep_bytes: Maximum bytes of all rows together; bytes that several rows keep count once.
            unused_since: Rows without their bytes are removed if unused since then, in seconds since the epoch.
        """
        surplus = self._database.row(_HELD, (self._space,))[0] - keep_bytes
        if surplus > 0:
            self._database.write(lambda connection: release_bytes(connection, self._space, surplus), durable=False)
        self._database.change(
            "DELETE FROM rows WHERE space = ? AND version IS NULL AND size > 0 AND used < ?",
            [(self._space, unused_since)],
        )

    def _put(self, rows: Sequence[TableRow], connection: Connection) -> bool:
        query = "SELECT key, revision FROM rows WHERE space = ? AND key IN (SELECT value FROM json_each(?))"
        keys = json.dumps([row.key for row in rows])
        known = dict(connection.execute(query, (self._space, keys)).fetchall())
        if any(row.revision != known.get(row.key, 0) for row in rows):
            return False
        gone = [(self._space, row.key) for row in rows if row.is_gone]
        connection.executemany("DELETE FROM rows WHERE space = ? AND key = ?", gone)
        for row in rows:
            if not row.is_gone:
                version = None if row.version is None else digest_of(row.version)
                values = (json.dumps(row.value), version, row.size, row.used, row.revision + 1)
                connection.execute(_PUT, (self._space, row.key, *values))
        return True


def release_bytes(connection: Connection, space: str, surplus: int, *, is_freed: bool = False) -> None:
    """Release at least `surplus` bytes of the rows of a space, least recently used first, in the caller's transaction.

    Retention then removes the bytes first. With `is_freed`, bytes that something else also needs do not count: releasing
    the copy of an unchanged file frees no space.
    """
    query = (
        "SELECT version, max(size) FROM rows WHERE space = ? AND version IS NOT NULL"
        " GROUP BY version ORDER BY max(used), version"
    )
    for version, size in connection.execute(query, (space,)).fetchall():
        if surplus <= 0:
            break
        connection.execute(
            "UPDATE rows SET version = NULL, revision = revision + 1 WHERE version = ? AND space = ?", (version, space)
        )
        freed = connection.execute(_FREE, (version, 0.0)).rowcount
        surplus -= size if freed or not is_freed else 0


def _row(row: tuple[Any, ...]) -> TableRow:
    key, value, version, size, used, revision = row
    return TableRow(
        key=key, value=json.loads(value), version=version_from(version), size=size, used=used, revision=revision
    )
