"""How much a journal holds, without counting it: what was issued less what was removed, and a sum kept up to date."""

from __future__ import annotations

import sqlite3

_PUT = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"


def count_records(connection: sqlite3.Connection) -> int:
    """Return the number of records kept: numbers are issued without gaps, so only removals have to be counted."""
    (issued,) = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'records'"
    ).fetchone()
    return int(issued) - _value(connection, "removed")


def note_removed(connection: sqlite3.Connection, count: int) -> None:
    """Count records that were removed, inside the transaction that removes them."""
    connection.execute(_PUT, ("removed", str(_value(connection, "removed") + count)))


def sum_contents(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the bytes of all contents kept, and the last row that counts; reads only rows newer than the noted sum."""
    noted = _value(connection, "summed_to")
    newer = "SELECT coalesce(sum(size), 0), coalesce(max(rowid), ?1) FROM contents WHERE rowid > ?1"
    added, newest = connection.execute(newer, (noted,)).fetchone()
    return _value(connection, "content_bytes") + int(added), int(newest)


def note_contents(connection: sqlite3.Connection, total: int, newest: int) -> None:
    """Note a sum, inside a transaction; nobody may have removed contents since it was taken."""
    connection.executemany(_PUT, [("content_bytes", str(total)), ("summed_to", str(newest))])


def _value(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(row[0])
