"""Debts of the embedded journal: which paths each mirror does not hold durably yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from filetools.journal.changes import Debt
from filetools.journal.database import Database

_SELECT: Final = "SELECT mirror, key, path, number, tries FROM debts"


class SqliteDebts:
    """Debts of an embedded journal; implements `Debts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, mirror: str, limit: int = 1000, max_tries: int = 5) -> list[Debt]:
        """Return the oldest debts of a mirror that failed fewer than `max_tries` times."""
        rows = self._database.rows(
            f"{_SELECT} WHERE mirror = ? AND tries < ? ORDER BY number LIMIT ?", (mirror, max_tries, limit)
        )
        return [_debt(row) for row in rows]

    def get(self, mirror: str, key: str) -> Debt | None:
        """Return the debt of one path, or None."""
        row = self._database.row(f"{_SELECT} WHERE mirror = ? AND key = ?", (mirror, key))
        return None if row is None else _debt(row)

    def count(self, mirror: str) -> int:
        """Number of paths that a mirror lacks."""
        (count,) = self._database.row("SELECT count(*) FROM debts WHERE mirror = ?", (mirror,))
        return int(count)

    def pay(self, paid: Iterable[Debt]) -> None:
        """Remove debts, except those that newer changes have raised meanwhile."""
        rows = [(debt.mirror, debt.key, debt.number) for debt in paid]
        self._change("DELETE FROM debts WHERE mirror = ? AND key = ? AND number = ?", rows)

    def fail(self, debt: Debt) -> None:
        """Count one more failed try of a debt."""
        self._change(
            "UPDATE debts SET tries = tries + 1 WHERE mirror = ? AND key = ? AND number = ?",
            [(debt.mirror, debt.key, debt.number)],
        )

    def reset(self, mirror: str) -> None:
        """Forget the failed tries of a mirror."""
        self._change("UPDATE debts SET tries = 0 WHERE mirror = ? AND tries > 0", [(mirror,)])

    def owe(self, mirror: str, paths: Iterable[tuple[str, str]]) -> None:
        """Record that a mirror lacks these (key, path) pairs; debts that exist stay as they are."""
        self._change(
            "INSERT OR IGNORE INTO debts (mirror, key, path, number) VALUES (?, ?, ?, 0)",
            [(mirror, key, path) for key, path in paths],
        )

    def _change(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        # Unsynced: a debt that comes back after a power cut is paid twice, which does no harm.
        if rows:
            self._database.write(lambda connection: _run(connection, statement, rows), durable=False)


def _run(connection: sqlite3.Connection, statement: str, rows: list[tuple[Any, ...]]) -> None:
    connection.executemany(statement, rows)


def _debt(row: tuple[Any, ...]) -> Debt:
    return Debt(mirror=row[0], key=row[1], path=row[2], number=row[3], tries=row[4])
