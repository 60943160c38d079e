"""Marks of the embedded journal: which records the files carry, and which are durable by themselves.

Marks are noted in memory and written with the next commit, or by `flush` when none comes: they cost no sync of their
own, because recovery finds out again what a lost mark had said.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Set
from typing import Final

from filetools.journal.database import Database
from filetools.journal.rows import RECORD_COLUMNS, SELECT_RECORD, records_from
from filetools.models.records import ChangeRecord

_PENDING: Final = f"{SELECT_RECORD} INDEXED BY records_pending WHERE state = 'pending' ORDER BY number LIMIT ?"
_UNSYNCED: Final = (
    f"{SELECT_RECORD} INDEXED BY records_unsynced WHERE synced = 0 AND state != 'pending'"
    " AND number NOT IN (SELECT number FROM unrestored) ORDER BY number LIMIT ?"
)
_UNRESTORED: Final = f"{SELECT_RECORD} WHERE number IN (SELECT number FROM unrestored) ORDER BY number LIMIT ?"
_CARRY_HEAD: Final = (
    "UPDATE tree SET applied = 1 WHERE key = ? AND NOT EXISTS"
    " (SELECT 1 FROM records WHERE records.number = tree.number AND state = 'pending')"
)
_LAST_SYNCED: Final = (
    "SELECT number FROM records WHERE key = ?1 AND synced = 1 AND state != 'pending' ORDER BY number DESC LIMIT 1"
)
_UNSETTLED: Final = (
    f"SELECT {RECORD_COLUMNS} FROM records WHERE key = ?1 AND number >= coalesce(({_LAST_SYNCED}), 0)"
    f" UNION ALL SELECT {RECORD_COLUMNS} FROM records"
    f" WHERE old_key = ?1 AND key != ?1 AND number >= coalesce(({_LAST_SYNCED}), 0)"
    " ORDER BY number DESC LIMIT 1000"
)
_KEPT: Final = "SELECT number FROM records WHERE number = ?"
_APPLY: Final = "UPDATE records SET state = 'applied' WHERE number = ? AND state = 'pending' RETURNING key, old_key"
_APPLY_HEAD: Final = "UPDATE tree SET applied = 1 WHERE key = ? AND number = ?"
_log = logging.getLogger(__name__)


class Notes:
    """Numbers of applied records, kept until a transaction has written them. One a journal; any thread may call."""

    def __init__(self, on_visible: Callable[[], None]) -> None:
        self._on_visible = on_visible
        self._lock = threading.Lock()
        self._numbers: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def add(self, numbers: Iterable[int]) -> None:
        """Note that files carry these records."""
        with self._lock:
            self._numbers.update(numbers)

    def write(self, connection: sqlite3.Connection) -> Set[int]:
        """Write the notes inside somebody's transaction; after its commit give what is returned to `forget`."""
        with self._lock:
            numbers = frozenset(self._numbers)
        for number in numbers:
            for keys in connection.execute(_APPLY, (number,)).fetchall():
                for key in filter(None, keys):
                    connection.execute(_APPLY_HEAD, (key, number))
        return numbers

    def forget(self, numbers: Set[int], *, has_grown: bool = False) -> None:
        """Forget notes that a committed transaction has written, and say so if the feed has grown by them or else."""
        if numbers:
            with self._lock:
                self._numbers -= numbers
        if not numbers and not has_grown:
            return
        try:
            self._on_visible()
        except Exception:  # noqa: BLE001  # see below
            # Somebody else's code, and what it is told is recorded already: no commit may seem to fail for it.
            _log.exception("a listener of the journal failed")


class Marks:
    """Marks of an embedded journal; implements `Marks`."""

    def __init__(self, database: Database, notes: Notes) -> None:
        self._database = database
        self._notes = notes

    def applied(self, numbers: Iterable[int]) -> None:
        """Note that files carry these records; written with the next commit or `flush`, whichever is first."""
        self._notes.add(numbers)

    def flush(self) -> bool:
        """Write the notes now; False if there were none."""
        if not self._notes:
            return False
        # Behind the gate what another thread is committing right now has either been written or failed.
        self._notes.forget(self._database.write(self._notes.write, durable=False, may_use_reserve=lambda: True))
        return True

    def synced(self, numbers: Iterable[int]) -> None:
        """Note that files and folders of these records are durable themselves."""
        rows = [(number,) for number in numbers]
        if rows:
            update = "UPDATE records SET synced = 1 WHERE number = ? AND synced = 0"
            self._database.write(
                lambda connection: connection.executemany(update, rows), durable=False, may_use_reserve=lambda: True
            )

    def is_pending(self, number: int) -> bool:
        """Whether a record is committed but not applied, as far as this process knows."""
        if number in self._notes:
            return False
        row = self._database.row("SELECT state FROM records WHERE number = ?", (number,))
        return row is not None and row[0] == "pending"

    def pending(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are committed but not applied, oldest first."""
        return records_from(self._database, _PENDING, (limit,))

    def unsynced(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are applied but not synced, oldest first; those that must be restored first left out."""
        return records_from(self._database, _UNSYNCED, (limit,))

    def unrestored(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that a power cut may have undone in the files, oldest first."""
        return records_from(self._database, _UNRESTORED, (limit,))

    def restored(self, number: int, keys: Iterable[str]) -> None:
        """Note that the files of these keys carry their heads again, and with them this record."""
        heads = [(key,) for key in keys]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM unrestored WHERE number = ?", (number,))
            connection.executemany(_CARRY_HEAD, heads)

        self._database.write(work, durable=False)

    def unsettled(self, key: str) -> list[ChangeRecord]:
        """Return the records of one path from its last synced one on, newest first; at most 1000."""
        return records_from(self._database, _UNSETTLED, (key,))

    def kept(self, numbers: Iterable[int]) -> set[int]:
        """Return those of these records that retention has not removed; what hangs on the others may go too."""
        found = (self._database.row(_KEPT, (number,)) for number in numbers)
        return {row[0] for row in found if row is not None}
