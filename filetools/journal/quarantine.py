"""Records that cannot be trusted: left out of every answer, reported once, and taken out of the others' way."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Sequence
from typing import Final

from filetools.errors import StateDamagedError
from filetools.journal.database import Database
from filetools.journal.readers import Arguments, Row
from filetools.journal.retention import note_removed
from filetools.journal.rows import SELECT_RECORD, lenient_text, record_from
from filetools.models.records import ChangeRecord

_NOT_UTF8: Final = "Could not decode to UTF-8"
_log = logging.getLogger(__name__)


class RecordReader:
    """Reads records past damaged ones. One a journal; any thread may call."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._found: dict[int, str] = {}
        self._isolated: set[int] = set()

    def records(self, query: str, arguments: Arguments = ()) -> list[ChangeRecord]:
        """Return the records of a query for `RECORD_COLUMNS`, without those that are damaged."""
        return self.page(query, arguments)[0]

    def page(self, query: str, arguments: Arguments) -> tuple[list[ChangeRecord], int, int]:
        """Return the same with how many rows there were, damaged ones included, and the number of the last row."""
        rows = self._rows(query, arguments)
        records = [record for record in map(self._record, rows) if record is not None]
        return records, len(rows), rows[-1][0] if rows else 0

    def isolate(self) -> int:
        """Move the damaged records found so far into quarantine, where they hold nobody up; returns how many."""
        with self._lock:
            found, self._found = self._found, {}
            self._isolated.update(found)
        if not found:
            return 0
        return self._database.write(lambda connection: _isolate(connection, found), durable=False)

    def _rows(self, query: str, arguments: Arguments) -> Sequence[Row]:
        try:
            return self._database.rows(query, arguments)
        except StateDamagedError as exc:
            if _NOT_UTF8 not in exc.message:
                raise
        # One row's text is damaged, and SQLite then gives none of the rows. Its checksum will not match.
        with self._database.reading() as connection:
            try:
                connection.text_factory = lenient_text
                return connection.execute(query, arguments).fetchall()
            finally:
                connection.text_factory = str

    def _record(self, row: Row) -> ChangeRecord | None:
        try:
            return record_from(row)
        except StateDamagedError as exc:
            self._note(row[0], exc.message)
            return None

    def _note(self, number: int, reason: str) -> None:
        with self._lock:
            is_known = number in self._found or number in self._isolated
            if number not in self._isolated:
                self._found[number] = reason
        if not is_known:
            _log.error("a record of the journal is damaged and left out: %s", reason)


def quarantined(connection: sqlite3.Connection) -> int:
    """Return how many records a journal has in quarantine."""
    (count,) = connection.execute("SELECT count(*) FROM quarantine").fetchone()
    return int(count)


def _isolate(connection: sqlite3.Connection, found: dict[int, str]) -> int:
    moved = 0
    connection.text_factory = lenient_text
    try:
        for number, reason in found.items():
            row = connection.execute(f"{SELECT_RECORD} WHERE number = ?", (number,)).fetchone()
            if row is not None:
                values = (number, time.time(), reason, repr(row))
                connection.execute(
                    "INSERT OR REPLACE INTO quarantine (number, found, reason, row) VALUES (?,?,?,?)", values
                )
                connection.execute("DELETE FROM records WHERE number = ?", (number,))
                moved += 1
    finally:
        connection.text_factory = str
    note_removed(connection, moved)
    return moved
