"""Reading the embedded journal: the view of a path, the feed, the heads."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

from filetools.journal.changes import Head, View
from filetools.journal.contents import version_from
from filetools.journal.database import Database
from filetools.journal.document_rows import DOCUMENT_COLUMNS, document_from
from filetools.journal.rows import RECORD_COLUMNS, records_from
from filetools.journal.schema import IS_PENDING
from filetools.models.records import ChangeRecord

_VIEW_COLUMNS: Final = (
    "EXISTS (SELECT 1 FROM records INDEXED BY records_moving"
    " WHERE state = 'pending' AND operation IN ('delete_directory', 'move_directory')),"
    " heads.path, heads.version, heads.size, heads.mode, heads.number, heads.applied,"
    f" {DOCUMENT_COLUMNS}"
)
_VIEW: Final = (
    f"SELECT {_VIEW_COLUMNS}"
    " FROM (SELECT 1) LEFT JOIN heads ON heads.key = ?1 LEFT JOIN documents ON documents.key = ?1"
)
_MOVING: Final = (
    "SELECT key, old_key FROM records INDEXED BY records_moving"
    " WHERE state = 'pending' AND operation IN ('delete_directory', 'move_directory')"
)
_NO_NUMBER: Final = 2**63 - 1
_FIRST_PENDING: Final = (
    f"coalesce((SELECT min(number) FROM records INDEXED BY records_open WHERE {IS_PENDING}), {_NO_NUMBER})"
)


class SqliteReading:
    """The reading half of an embedded journal. Lives as long as the journal; any thread may call."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def view(self, key: str) -> View:
        """Return what is known of a path now."""
        return self._view_from(key, self._database.row(_VIEW, (key,)))

    def _view_from(self, key: str, row: Sequence[Any]) -> View:
        is_moving, path, version, size, mode, number, applied, *opened = row
        blocked = bool(is_moving) and self._is_below_moving(key)
        document = None if opened[0] is None else document_from(opened)
        if number is None:
            return View(head=None, blocked=blocked, document=document)
        head = Head(
            key=key,
            path=path,
            version=version_from(version),
            size=size,
            mode=mode,
            number=number,
            applied=bool(applied),
        )
        return View(head=head, blocked=blocked, document=document)

    def records(
        self,
        since: int = 0,
        *,
        limit: int = 1000,
        key: str | None = None,
        newest_first: bool = False,
        foreign_only: bool = False,
    ) -> list[ChangeRecord]:
        """Return records after `since` up to the first that is not applied; aborted ones included, their state says so.

        Args:
            since: Number of the last record already seen.
            limit: Most records returned; fewer are always the last.
            key: Only changes of this path, its moves away and onto it included.
            newest_first: Order by falling number; then pending records are included.
            foreign_only: Leave out records committed through this instance.
        """
        query = _records_query(of_one=key is not None, newest_first=newest_first, foreign_only=foreign_only)
        values = {
            "since": since, "key": key, "opening": self._database.opening, "limit": limit
        }  # fmt: skip
        return records_from(self._database, query, values)

    def position(self) -> int:
        """Number of the newest record; 0 if there is none."""
        (number,) = self._database.row("SELECT coalesce(max(number), 0) FROM records")
        return int(number)

    def visible_position(self) -> int:
        """Number of the newest record that the feed may deliver; 0 if there is none."""
        (number,) = self._database.row(f"SELECT coalesce(max(number), 0) FROM records WHERE number < {_FIRST_PENDING}")
        return int(number)

    def forgotten(self) -> int:
        """Number up to which records may have been removed by retention; 0 if none was."""
        row = self._database.row("SELECT value FROM meta WHERE name = 'forgotten'")
        return 0 if row is None else int(row[0])

    def _is_below_moving(self, key: str) -> bool:
        ends = (end for row in self._database.rows(_MOVING) for end in row)
        return any(end is not None and key.startswith(f"{end}/") for end in ends)


@functools.cache
def _records_query(*, of_one: bool, newest_first: bool, foreign_only: bool) -> str:
    conditions = ["number > :since"]
    if not newest_first:
        conditions.append(f"number < {_FIRST_PENDING}")
    if foreign_only:
        conditions.append("opening != :opening")
    order = f"ORDER BY number {'DESC' if newest_first else 'ASC'} LIMIT :limit"
    select = f"SELECT {RECORD_COLUMNS} FROM records WHERE {' AND '.join(conditions)}"
    if not of_one:
        return f"{select} {order}"
    # Two ordered walks along one index each, not one condition with OR: that would read all versions of the path.
    here, moved_away = f"{select} AND key = :key {order}", f"{select} AND old_key = :key AND key != :key {order}"
    return f"SELECT * FROM ({here}) UNION ALL SELECT * FROM ({moved_away}) {order}"
