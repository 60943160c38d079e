"""Small rows of other parts: a value under a space and a key, with a revision and a time after which it is gone."""

from __future__ import annotations

from msgspec import Struct

from filetools.journal.core.database import StateDatabase


class StoredRow(Struct, frozen=True, kw_only=True):
    """One value."""

    key: str
    value: bytes
    revision: int
    """Counts up with every change; what `put` compares."""
    expires: float | None
    """Seconds since the epoch; None if it stays until it is removed."""


class RowSpaces:
    """Rows by space and key. `put`, `remove` and `expire` are called inside a transaction of the writer."""

    def __init__(self, database: StateDatabase) -> None:
        self._database = database

    def get(self, space: str, key: str) -> StoredRow | None:
        """Return the committed row of a key."""
        query = "SELECT key, value, revision, expires FROM rows WHERE space = ? AND key = ?"
        found = self._database.rows(query, (space, key))
        return _row(found[0]) if found else None

    def scan(self, space: str, start: str = "", limit: int = 1000) -> list[StoredRow]:
        """Return committed rows in the order of their keys, those after `start`, at most `limit`."""
        query = "SELECT key, value, revision, expires FROM rows WHERE space = ? AND key > ? ORDER BY key LIMIT ?"
        return [_row(row) for row in self._database.rows(query, (space, start, limit))]

    def put(self, space: str, key: str, value: bytes, *, revision: int, expires: float | None = None) -> bool:
        """Set a row if its revision is still the one given; 0 stands for a row that does not exist.

        Returns:
            False if somebody has changed it; nothing was set then.
        """
        connection = self._database.write
        if revision == 0:
            made = connection.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?, 1, ?)", (space, key, value, expires))
            return made.rowcount == 1
        changed = connection.execute(
            "UPDATE rows SET value = ?, expires = ?, revision = revision + 1 WHERE space = ? AND key = ? AND revision = ?",
            (value, expires, space, key, revision),
        )
        return changed.rowcount == 1

    def remove(self, space: str, key: str) -> None:
        """Remove a row, if it is there."""
        self._database.write.execute("DELETE FROM rows WHERE space = ? AND key = ?", (space, key))

    def expire(self, now: float) -> int:
        """Remove the rows whose time is over; returns how many."""
        return self._database.write.execute("DELETE FROM rows WHERE expires <= ?", (now,)).rowcount


def _row(row: tuple[str, bytes, int, float | None]) -> StoredRow:
    key, value, revision, expires = row
    return StoredRow(key=key, value=value, revision=revision, expires=expires)
