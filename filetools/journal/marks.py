"""Marks of the embedded journal: which records are applied to the files, and which are synced there.

Marks are never synced on their own, because recovery can determine a lost one again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from filetools.journal.rows import RECORD_COLUMNS, SELECT_RECORD, records_from
from filetools.journal.storage.database import Database
from filetools.journal.storage.schema import IS_PENDING, IS_UNSYNCED
from filetools.journal.tree_rows import Identity
from filetools.models.records import ChangeRecord

_PENDING: Final = f"{SELECT_RECORD} INDEXED BY records_open WHERE {IS_PENDING} ORDER BY number LIMIT ?"
_UNSYNCED: Final = (
    f"{SELECT_RECORD} INDEXED BY records_open WHERE {IS_UNSYNCED}"
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
_BEFORE_TURN: Final = (
    f"SELECT coalesce(max(number), 0), EXISTS (SELECT 1 FROM records INDEXED BY records_open WHERE {IS_PENDING})"
    " FROM records"
)
_APPLY: Final = (
    # The steps that make links and change modes sync what they do.
    "UPDATE records SET state = 'applied', synced = max(synced, operation IN ('link', 'modify_directory'))"
    " WHERE number = ? AND state = 'pending' RETURNING key, old_key"
)
_IDENTIFY: Final = (
    "UPDATE tree SET device = ?, inode = ?, size = ?, mtime = ?, ctime = ?"
    " WHERE key = ? AND kind = 'file' AND applied = 1"
)
_APPLY_HEAD: Final = "UPDATE tree SET applied = 1 WHERE key = ? AND number = ?"


class Marks:
    """Marks of an embedded journal."""

    def __init__(self, database: Database, on_visible: Callable[[], None]) -> None:
        self._database = database
        self._on_visible = on_visible

    def applied(self, numbers: Iterable[int], identities: Mapping[str, Identity] = MappingProxyType({})) -> None:
        """Mark records as applied, except those that are already marked.

        Args:
            numbers: Numbers of the records.
            identities: Identities of their files on disk, by key.
        """
        several = [(number,) for number in numbers]

        def work(connection: sqlite3.Connection) -> None:
            for number in several:
                for keys in connection.execute(_APPLY, number).fetchall():
                    connection.executemany(_APPLY_HEAD, [(key, *number) for key in keys if key is not None])
            connection.executemany(_IDENTIFY, [(*identity, key) for key, identity in identities.items()])

        if several:
            self._database.write(work, durable=False, may_use_reserve=lambda: True)
            self._on_visible()

    def synced(self, numbers: Iterable[int]) -> None:
        """Note that the files and folders of these records are synced."""
        rows = [(number,) for number in numbers]
        if rows:
            update = "UPDATE records SET synced = 1 WHERE number = ? AND synced = 0"
            self._database.write(
                lambda connection: connection.executemany(update, rows), durable=False, may_use_reserve=lambda: True
            )

    def is_pending(self, number: int) -> bool:
        """True if a record is committed but not applied."""
        row = self._database.row("SELECT state FROM records WHERE number = ?", (number,))
        return row is not None and row[0] == "pending"

    def before_turn(self) -> tuple[int, bool]:
        """Return the number of the newest record, and whether any is committed but not applied."""
        number, is_pending = self._database.row(_BEFORE_TURN)
        return int(number), bool(is_pending)

    def pending(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are committed but not applied, oldest first."""
        return records_from(self._database, _PENDING, (limit,))

    def unsynced(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are applied but not synced, oldest first, except those that must be restored first."""
        return records_from(self._database, _UNSYNCED, (limit,))

    def unrestored(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that a power cut may have undone in the files, oldest first."""
        return records_from(self._database, _UNRESTORED, (limit,))

    def restored(self, number: int, keys: Iterable[str]) -> None:
        """Note that a record is restored, and that the files of these keys have their heads again."""
        heads = [(key,) for key in keys]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM unrestored WHERE number = ?", (number,))
            connection.executemany(_CARRY_HEAD, heads)

        self._database.write(work, durable=False)

    def unsettled(self, key: str) -> list[ChangeRecord]:
        """Return the records of one path from its last synced one on, newest first; at most 1000."""
        return records_from(self._database, _UNSETTLED, (key,))
