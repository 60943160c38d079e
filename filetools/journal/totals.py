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


def sum_contents(connection: sqlite3.Connection) -> int:
    """Return the bytes of all contents kept; reads only what was added since they were last noted."""
    newer = "SELECT coalesce(sum(size), 0) FROM contents WHERE rowid > ?"
    (added,) = connection.execute(newer, (_value(connection, "summed_to"),)).fetchone()
    return _value(connection, "content_bytes") + int(added)


def note_contents(connection: sqlite3.Connection, total: int) -> None:
    """Note the sum of all contents that there are now, inside a transaction."""
    (newest,) = connection.execute("SELECT coalesce(max(rowid), 0) FROM contents").fetchone()
    connection.executemany(_PUT, [("content_bytes", str(total)), ("summed_to", str(newest))])


def _value(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(row[0])
