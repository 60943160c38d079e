"""Marks of the embedded journal: which records the files carry, and which are durable by themselves.

Marks are noted in memory and written with the next commit, or by `flush` when none comes: they cost no sync of their
own, because recovery finds out again what a lost mark had said.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable

from filetools.journal.database import Database
from filetools.journal.rows import SELECT_RECORD, record_from
from filetools.models import ChangeRecord


class SqliteMarks:
    """Marks of an embedded journal; implements `Marks`."""

    def __init__(self, database: Database, on_visible: Callable[[], None]) -> None:
        self._database = database
        self._on_visible = on_visible
        self._lock = threading.Lock()
        self._noted: set[int] = set()
        self._writing: set[int] = set()

    def applied(self, numbers: Iterable[int]) -> None:
        """Note that files carry these records."""
        with self._lock:
            self._noted.update(numbers)

    def is_noted(self, number: int) -> bool:
        """Whether a record is applied as far as this process knows, its mark perhaps not written yet."""
        with self._lock:
            return number in self._noted or number in self._writing

    def flush(self) -> bool:
        """Write the notes now; False if there were none."""
        with self._lock:
            if not self._noted:
                return False
        self._database.write(self.write_noted, durable=False)
        self.written()
        return True

    def write_noted(self, connection: sqlite3.Connection) -> None:
        """Write the notes inside somebody's transaction; `written` must follow its commit."""
        with self._lock:
            self._writing |= self._noted
            self._noted = set()
            numbers = [(number,) for number in self._writing]
        connection.executemany("UPDATE records SET state = 'applied' WHERE number = ? AND state = 'pending'", numbers)
        connection.executemany(
            "UPDATE heads SET applied = 1 WHERE number = ?1 AND key IN"
            " (SELECT key FROM records WHERE number = ?1 UNION ALL SELECT old_key FROM records WHERE number = ?1)",
            numbers,
        )

    def written(self) -> None:
        """Forget the notes that a committed transaction has written, and say that the feed has grown."""
        with self._lock:
            had_some = bool(self._writing)
            self._writing = set()
        if had_some:
            self._on_visible()

    def synced(self, numbers: Iterable[int]) -> None:
        """Note that files and folders of these records are durable themselves."""
        rows = [(number,) for number in numbers]
        if rows:
            self._database.write(
                lambda connection: connection.executemany("UPDATE records SET synced = 1 WHERE number = ?", rows),
                durable=False,
            )

    def is_pending(self, number: int) -> bool:
        """Whether a record is committed but not applied, as far as this process knows."""
        if self.is_noted(number):
            return False
        with self._database.reading() as connection:
            row = connection.execute("SELECT state FROM records WHERE number = ?", (number,)).fetchone()
        return row is not None and row[0] == "pending"

    def pending(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are committed but not applied, oldest first."""
        return self._select("state = 'pending'", limit)

    def unsynced(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are applied but not synced, oldest first."""
        return self._select("synced = 0 AND state != 'pending'", limit)

    def unsettled(self, key: str) -> list[ChangeRecord]:
        """Return the records of one path from its last synced one on, newest first."""
        return self._select(
            "(key = ?1 OR old_key = ?1) AND number >= coalesce("
            "(SELECT max(number) FROM records WHERE key = ?1 AND synced = 1 AND state != 'pending'), 0)",
            1000,
            key,
            order="DESC",
        )

    def _select(self, condition: str, limit: int, *values: str, order: str = "ASC") -> list[ChangeRecord]:
        query = f"{SELECT_RECORD} WHERE {condition} ORDER BY number {order} LIMIT {limit}"
        with self._database.reading() as connection:
            rows = connection.execute(query, values).fetchall()
        return [record_from(row) for row in rows]
