"""Which records count as taken back: kept up to date by every commit, so that asking is one look.

A record is taken back as long as one of the records that take it back is not taken back itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

TAKES_BACK: Final = "kind IN ('undoes', 'redoes')"

_IS_TAKEN_BACK: Final = (
    f"SELECT EXISTS (SELECT 1 FROM relations WHERE target = ? AND {TAKES_BACK}"
    " AND EXISTS (SELECT 1 FROM records WHERE records.number = relations.number AND state != 'aborted')"
    " AND NOT EXISTS (SELECT 1 FROM undone WHERE undone.number = relations.number))"
)
_TARGETS: Final = f"SELECT target FROM relations WHERE number = ? AND {TAKES_BACK}"
_DROP_UNDONE: Final = "DELETE FROM undone WHERE number = ?"


def refresh_undone(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Note of records whether they are taken back now, and of what they take back in turn."""
    waiting = set(numbers)
    while waiting:
        changed = [number for number in waiting if _refresh(connection, number)]
        waiting = {target for number in changed for (target,) in connection.execute(_TARGETS, (number,))}


def discount(connection: sqlite3.Connection, first: int, last: int) -> None:
    """Have the folders that a failed undo made on its way count for nothing: they stay, and are no undo, nor redoable."""
    left = "number BETWEEN ? AND ? AND operation = 'create_directory' AND state != 'aborted'"
    related = f"EXISTS (SELECT 1 FROM relations WHERE relations.number = records.number AND {TAKES_BACK})"
    query = f"INSERT OR IGNORE INTO undone (number) SELECT number FROM records WHERE {left} AND {related}"
    connection.execute(query, (first, last))


def targets_between(connection: sqlite3.Connection, first: int, last: int) -> set[int]:
    """Return what the records of one commit take back."""
    query = f"SELECT target FROM relations WHERE number BETWEEN ? AND ? AND {TAKES_BACK}"
    return {target for (target,) in connection.execute(query, (first, last))}


def _refresh(connection: sqlite3.Connection, number: int) -> bool:
    """Note of one record whether it is taken back; True if that is new."""
    (is_undone,) = connection.execute(_IS_TAKEN_BACK, (number,)).fetchone()
    note = "INSERT OR IGNORE INTO undone (number) VALUES (?)" if is_undone else _DROP_UNDONE
    return connection.execute(note, (number,)).rowcount > 0
