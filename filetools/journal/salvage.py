"""Which rows of a damaged journal are there to be read, and which of them can be believed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from filetools.errors import StateDamagedError
from filetools.journal.carving import Pages, Value
from filetools.journal.changes import DIRECTORY_REMOVALS
from filetools.journal.rows import FIXED_COLUMNS, RECORD_COLUMNS, lenient_text, record_from

Row = tuple[Any, ...]
COLUMNS: Final = {
    "records": f"{RECORD_COLUMNS}, synced",
    "contents": "hash, size, used, bytes",
    "heads": "key, path, version, size, mode, number, applied",
    "debts": "mirror, key, path, number, tries",
    "quarantine": "number, found, reason, row",
}
"""What is taken over from each table; the rest, the epoch above all, begins anew."""
MOST_PROBES: Final = 1_000_000
HOPELESS_PROBES: Final = 10_000
"""Rows in a row that cannot be read, after which the rest of a table is given up."""
_NUMBERED: Final = ("records", "contents", "quarantine")
_KEYS: Final = {"heads": ("key",), "debts": ("mirror", "key")}
_RECORD_VALUES: Final = len(FIXED_COLUMNS.split(",")) + 4


class ReadableRows(Iterator[Row]):
    """The rows of a table that SQLite can read, those around damaged pages included; some may come twice."""

    def __init__(self, source: sqlite3.Connection, table: str) -> None:
        self.is_whole = True
        """Whether nothing was in the way; known at the end."""
        source.text_factory = lenient_text
        self._source = source
        self._table = table
        self._rows = self._by_number() if table in _NUMBERED else self._from_both_ends()

    def __next__(self) -> Row:
        return next(self._rows)

    def _from_both_ends(self) -> Iterator[Row]:
        for order in ("ASC", "DESC"):
            ordered = ", ".join(f"{column} {order}" for column in _KEYS[self._table])
            try:
                yield from self._source.execute(f"SELECT {COLUMNS[self._table]} FROM {self._table} ORDER BY {ordered}")
            except sqlite3.DatabaseError:
                self.is_whole = False
            else:
                return

    def _by_number(self) -> Iterator[Row]:
        """Read from both ends to the damage, then each number between on its own."""
        select = f"SELECT rowid, {COLUMNS[self._table]} FROM {self._table} NOT INDEXED"
        low, high = 0, None
        for order in ("ASC", "DESC"):
            try:
                for number, *row in self._source.execute(f"{select} ORDER BY rowid {order}"):
                    low, high = (number, high) if order == "ASC" else (low, number)
                    yield tuple(row)
            except sqlite3.DatabaseError:
                self.is_whole = False
            else:
                return
        failures = 0
        for number in range(low + 1, high if high is not None else low + MOST_PROBES):
            found = None
            with suppress(sqlite3.DatabaseError):
                found = self._source.execute(f"{select} WHERE rowid = ?", (number,)).fetchone()
            failures = 0 if found else failures + 1
            if found:
                yield tuple(found[1:])
            if failures > HOPELESS_PROBES:
                return


def is_intact(table: str, row: Row) -> bool:
    """Whether a row can be believed, as far as it can prove itself."""
    if table == "records":
        return _is_record(row[:-1])
    if table == "contents":
        return _is_content(row)
    return all(_is_text(value) for value in row if isinstance(value, str))


def carved_records(pages: Pages) -> Iterator[Row]:
    """Yield the records found in raw pages, as `COLUMNS` has them."""
    for number, (_, *fixed, checksum, state, synced) in pages.rows(_RECORD_VALUES):
        # A time without a fraction is stored as an integer.
        values = [
            float(value) if place == _TIME and isinstance(value, int) else value for place, value in enumerate(fixed)
        ]
        row = (number, state, checksum, *values)
        if _is_record(row):
            yield (*row, synced)


def carved_contents(pages: Pages) -> Iterator[tuple[Value, ...]]:
    """Yield the contents found in raw pages whose bytes have their hash; large ones prove themselves as files."""
    return (row for _, row in pages.rows(4) if _is_content(row) and row[3] is not None)


def heads_from_records(target: sqlite3.Connection) -> Iterator[Row]:
    """Yield the heads that the records of a journal lead to, for those that could not be read themselves."""
    removals = [
        (number, f"{key}/")
        for number, key in target.execute(
            "SELECT number, coalesce(old_key, key) FROM records WHERE operation IN (?, ?) AND state != 'aborted'",
            tuple(operation.value for operation in DIRECTORY_REMOVALS),
        ).fetchall()
    ]
    newest = (
        "SELECT key, path, after, size, mode, max(number), 1 FROM ("
        "SELECT key, path, after, size, mode, number FROM records WHERE {0}"
        " UNION ALL SELECT old_key, old_path, NULL, NULL, NULL, number FROM records WHERE {0} AND old_key IS NOT NULL"
        " AND old_key != key) GROUP BY key"
    ).format("operation NOT LIKE '%_directory' AND (state != 'aborted' OR synced < 2 AND actor_kind = 'system')")
    for row in target.execute(newest).fetchall():
        if not any(number > row[5] and row[0].startswith(prefix) for number, prefix in removals):
            yield row


_TIME: Final = [name.strip() for name in FIXED_COLUMNS.split(",")].index("time")


def _is_record(row: Row) -> bool:
    try:
        record_from(row)
    except (StateDamagedError, ValueError, TypeError, UnicodeError):
        return False
    return True


def _is_content(row: Row) -> bool:
    digest, size, used, content = row
    if not isinstance(digest, bytes) or len(digest) != 32 or not isinstance(size, int) or not isinstance(used, int):
        return False
    return content is None or (isinstance(content, bytes) and hashlib.sha256(content).digest() == digest)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
