"""What looks at the whole tree know of it: rows of the tree for all paths at once, and as of which state each was met.

The counterpart of git's index. A row whose identity is that of the file spares reading it again. Rows of folders say which
ones everybody has been told of, and every commit keeps them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, Literal, NamedTuple, TypeVar

from msgspec import Struct

from filetools.journal.contents import VERSION_TEXT, digest_of
from filetools.journal.core.tree_rows import Identity, folder_of
from filetools.journal.database import Database
from filetools.journal.folders import NEW_FILE_ID
from filetools.journal.plain_rows import PlainRows, Values
from filetools.models.records import Operation
from filetools.models.words import EntryType

T = TypeVar("T")

SLICE: Final = 2000
"""Rows written in one transaction, so that commits wait a few milliseconds at most."""
MOST_RECORDED: Final = 5000
"""Records up to which the rows that they have changed are read one by one."""
_ISSUED: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'records'"
_RECORDED_SINCE: Final = "SELECT operation, key, old_key FROM records WHERE number > ?"
_OF_FILES: Final = (Operation.FOUND, Operation.CREATE, Operation.MODIFY, Operation.DELETE, Operation.MOVE)
_ROWS: Final = (
    f"SELECT key, path, kind, inode, device, size, mtime, ctime, mode, {VERSION_TEXT}, number FROM tree"
    " WHERE (kind <> 'absent' OR number > 0)"
)
_SAVE: Final = (
    "INSERT INTO tree (key, folder, path, kind, file, version, mode, device, inode, size, mtime, ctime, number, applied,"
    f" synced) SELECT ?1, ?2, ?3, ?4, {NEW_FILE_ID}, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, 1, 1"
    " WHERE NOT EXISTS (SELECT 1 FROM records WHERE key = ?1 AND number > ?12)"
    " ON CONFLICT (key) DO UPDATE SET path = excluded.path, kind = excluded.kind, version = excluded.version,"
    " mode = excluded.mode, device = excluded.device, inode = excluded.inode, size = excluded.size, mtime = excluded.mtime,"
    # As `IndexRow.may_become`.
    " ctime = excluded.ctime WHERE CASE WHEN kind IN ('absent', 'directory') AND number > 0 THEN excluded.kind = 'directory'"
    " WHEN kind = 'file' AND version IS NOT NULL THEN"
    " excluded.kind = kind AND excluded.version = version AND excluded.mode IS coalesce(mode, excluded.mode) ELSE 1 END"
)
_DROP: Final = (
    "UPDATE tree SET kind = 'absent', version = NULL, mode = NULL, inode = NULL"
    " WHERE key = ? AND (kind <> 'file' OR version IS NULL)"
)
_REMOVED_SINCE: Final = (
    "SELECT 1 FROM records INDEXED BY records_of_folders WHERE number > ? AND state != 'aborted'"
    " AND operation IN ('delete_directory', 'move_directory')"
    # Recorded before, and only now being done: what was looked at may have stood there until then.
    " UNION ALL SELECT 1 FROM records INDEXED BY records_pending WHERE state = 'pending'"
    " AND operation IN ('delete_directory', 'move_directory')"
)
_COUNT_WRITE: Final = (
    "INSERT INTO meta VALUES ('index_writes', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1"
)


class IndexRow(NamedTuple):
    """What is at one path, as filetools knows or a look has met it."""

    path: str
    kind: EntryType | Literal["absent"]
    """"absent": a file was there, and its end is recorded."""
    identity: Identity | None
    """State in which it was met, without times where it was so young that the next look must read it again; None of what no
    look has met yet."""
    mode: int | None
    """Permission bits; None of a folder that no look has met yet."""
    version: str | None
    """Version of a file's bytes, or of a link's target; None of a folder, and of what could not be read."""
    number: int = 0
    """Of the newest record of a file there; 0 if there is none."""

    @property
    def is_known_file(self) -> bool:
        """Whether it is a file of which everybody knows, or was told, that it has this version."""
        return self.kind == "file" and self.version is not None

    @property
    def is_gone_file(self) -> bool:
        """Whether a file was there, and its end is recorded; a folder may have its name now."""
        return self.kind in ("absent", "directory") and self.number > 0

    def may_become(self, met: IndexRow) -> bool:
        """Whether what was met there can be noted; else it is news, to be recorded first."""
        if self.is_known_file:
            return met.kind == "file" and met.version == self.version and self.mode in (None, met.mode)
        return not self.is_gone_file or met.kind == "directory"


class Looked(Struct, frozen=True):
    """The newest complete look."""

    position: int
    """Number of the newest record before it."""
    time: float
    """When it ended, in seconds since the epoch."""
    scope: str = ""
    """Version of what was left out: the rules, the ignore files, and what could not be read."""
    began: float = 0.0
    """When the newest look began that could read everything, in seconds since the epoch; 0 if none could. What is recorded
    at its end is known to have been so at that time."""


class TreeIndex:
    """The tree index of an embedded journal; implements `TreeIndex`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writes = 0

    def looked(self) -> Looked | None:
        """Return when the whole tree was looked at last; None if it never was, so that what is missing here is unknown."""
        row = self._database.row("SELECT value FROM meta WHERE name = 'looked'")
        if row is None:
            return None
        position, moment, scope, *began = row[0].split(" ")
        return Looked(int(position), float(moment), scope, *map(float, began))

    def writes_by_others(self) -> int:
        """Return how often others than this opening have written what looks have met; another number: read it again.

        What commits do to the rows of folders does not count.
        """
        row = self._database.row("SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'index_writes'")
        return (0 if row is None else int(row[0])) - self._writes

    def rows_since(self, position: int) -> dict[str, IndexRow | None] | None:
        """Return the rows of the paths recorded since a position, by key, None where there is none any more.

        None if that is not all that has changed: there are records of folders, or retention has removed some, or there
        are so many that all rows are read sooner.
        """
        (issued,) = self._database.row(_ISSUED)
        if issued - position > MOST_RECORDED:
            return None
        rows = self._database.rows(_RECORDED_SINCE, (position,))
        is_all = len(rows) >= issued - position  # numbers are issued without gaps
        if not is_all or any(operation not in _OF_FILES for operation, *_ in rows):
            return None
        return {key: self.get(key) for _, *both in rows for key in both if key is not None}

    def rows(self) -> PlainRows[IndexRow]:
        """Return all rows by key."""
        return PlainRows(IndexRow._make, {key: _plain(*values) for key, *values in self._database.rows(_ROWS)})

    def get(self, key: str) -> IndexRow | None:
        """Return the row of a key, or None."""
        row = self._database.row(f"{_ROWS} AND key = ?", (key,))
        return None if row is None else IndexRow._make(_plain(*row[1:]))

    def save(self, met: Mapping[str, IndexRow], gone: Iterable[str], position: int, *, by_look: bool = True) -> bool:
        """Write what a look has met, and that what it has missed is absent.

        Files that nobody has recorded get their first heads, at the version in which they were met.

        Args:
            met: Rows of what stands there.
            gone: Keys of what does not; known files stay.
            position: Number of the newest record before the look.
            by_look: Whether a look at the tree has met them, and knows of it.

        Returns:
            False if a folder has been moved or deleted since, or is being so: paths may be others; then the rest was not done.
        """
        added = ((_SAVE, [(*_values(key, row), position) for key, row in several]) for several in slices(met.items()))
        dropped = ((_DROP, several) for several in slices((key,) for key in gone))
        return all(self._write(*work, position, by_look=by_look) for work in chain(added, dropped))

    def _write(self, statement: str, values: list[tuple[Any, ...]], position: int, *, by_look: bool) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if connection.execute(_REMOVED_SINCE, (position,)).fetchone() is not None:
                return False
            connection.executemany(statement, values)
            connection.execute(_COUNT_WRITE)
            return True

        is_done = self._database.write(work, durable=False)
        self._writes += is_done and by_look
        return is_done

    def complete(self, looked: Looked) -> None:
        """Note that the whole tree was looked at: what has no row is not there."""
        values = (looked.position, looked.time, looked.scope, looked.began)
        query = "INSERT OR REPLACE INTO meta VALUES ('looked', ?)"
        self._database.write(lambda connection: connection.execute(query, (" ".join(map(str, values)),)), durable=False)


def _plain(path: str, kind: str, inode: int | None, device: int, *values: Any) -> Values:
    *others, mode, version, number = values
    return (path, kind, None if inode is None else (device, inode, *others), mode, version, number)


def _values(key: str, row: IndexRow) -> tuple[Any, ...]:
    identity = row.identity or (None,) * 5
    version = None if row.version is None else digest_of(row.version)
    return (key, folder_of(key), row.path, row.kind, version, row.mode, *identity)


def slices(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield rows in as many as one transaction writes."""
    left = iter(rows)
    while several := list(islice(left, SLICE)):
        yield several
