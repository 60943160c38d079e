"""Named checkpoints: numbers of the journal with a name. Retention keeps all that came after the oldest."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from filetools.journal.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A moment with a name."""

    name: str
    number: int
    """Number of the newest record at that moment; 0 if there was none."""
    time: float
    """Seconds since the epoch."""


class SqliteCheckpoints:
    """Checkpoints of an embedded journal; implements `Checkpoints`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, name: str, *, replace: bool = False) -> Checkpoint | None:
        """Give the present moment a name; None if another has it already and must not be replaced."""

        def work(connection: sqlite3.Connection) -> Checkpoint | None:
            # In the transaction, so that no record slips in between its number and its name.
            (number,) = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
            made = Checkpoint(name=name, number=number, time=time.time())
            verb = "INSERT OR REPLACE" if replace else "INSERT OR IGNORE"
            query = f"{verb} INTO checkpoints (name, number, time) VALUES (?, ?, ?)"
            return made if connection.execute(query, (name, number, made.time)).rowcount else None

        return self._database.write(work)

    def all(self) -> list[Checkpoint]:
        """Return all checkpoints, oldest first."""
        rows = self._database.rows("SELECT name, number, time FROM checkpoints ORDER BY number, time, name")
        return [Checkpoint(name=name, number=number, time=moment) for name, number, moment in rows]

    def get(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of a name, or None."""
        row = self._database.row("SELECT number, time FROM checkpoints WHERE name = ?", (name,))
        return None if row is None else Checkpoint(name=name, number=row[0], time=row[1])

    def remove(self, name: str) -> bool:
        """Forget a checkpoint; False if there is none of that name."""
        query = "DELETE FROM checkpoints WHERE name = ?"
        return self._database.write(lambda connection: connection.execute(query, (name,)).rowcount) > 0


def oldest_kept(connection: sqlite3.Connection) -> int | None:
    """Return the number after which nothing may be removed, or None if there is no checkpoint."""
    (number,) = connection.execute("SELECT min(number) FROM checkpoints").fetchone()
    return None if number is None else int(number)
