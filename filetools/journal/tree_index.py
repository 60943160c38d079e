"""The tree index: what a look at the whole tree has met, and as of which state of each file its version is known.

The counterpart of git's index. Files that have a head need no row to be known; a row spares reading them again. Folders
have no heads: their rows say which ones everybody has been told of, and every commit keeps them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct

from filetools.journal.changes import Change, HeadFacts
from filetools.journal.contents import VERSION_TEXT, digest_of
from filetools.journal.database import Database
from filetools.journal.folders import bounds_below
from filetools.journal.plain_rows import PlainRows, Values
from filetools.models.records import Operation
from filetools.models.words import EntryType

Identity = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime, as `FileStat.identity`."""

T = TypeVar("T")

SLICE: Final = 2000
"""Rows written in one transaction, so that commits wait a few milliseconds at most."""
MOST_RECORDED: Final = 5000
"""Records up to which the heads that they have changed are read one by one."""
HEAD_FACTS: Final = f"SELECT key, path, {VERSION_TEXT}, mode, number FROM heads"
_ISSUED: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'records'"
_RECORDED_SINCE: Final = "SELECT operation, key, old_key FROM records WHERE number > ?"
_OF_FILES: Final = (Operation.FOUND, Operation.CREATE, Operation.MODIFY, Operation.DELETE, Operation.MOVE)
_COLUMNS: Final = "path, kind, device, inode, size, mtime, ctime, mode, version"
_READ: Final = f"path, kind, device, inode, size, mtime, ctime, mode, {VERSION_TEXT} FROM tree_index"
_UPSERT: Final = f"INSERT OR REPLACE INTO tree_index (key, {_COLUMNS}, gone) VALUES (?,?,?,?,?,?,?,?,?,?,NULL)"
_ADD_FOLDER: Final = (
    "INSERT INTO tree_index (key, path, kind) VALUES (?, ?, 'directory')"
    " ON CONFLICT (key) DO UPDATE SET path = excluded.path, kind = 'directory', version = NULL, gone = NULL"
)
_MAKE_FOLDER: Final = f"{_ADD_FOLDER}, device = NULL"
"""Of one that stood there before, the facts are those of another folder."""
_ADD_HEAD: Final = (
    # A file that was found has a head of number 0, until something happens to it: nothing is recorded of it.
    "INSERT OR IGNORE INTO heads (key, path, version, size, mode, number, applied) SELECT ?1, ?2, ?3, ?4, ?5, 0, 1"
    " WHERE NOT EXISTS (SELECT 1 FROM records WHERE key = ?1 AND number > ?6)"
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
_RENAME: Final = "UPDATE OR REPLACE tree_index SET key = ?, path = ? WHERE key = ?"


class IndexRow(NamedTuple):
    """One file, folder or link, as a look has met it."""

    path: str
    kind: EntryType
    identity: Identity | None
    """State in which it was met, without times where it was so young that the next look must read it again; None of a
    folder that no look has met yet."""
    mode: int | None
    """Permission bits; None of a folder that no look has met yet."""
    version: str | None
    """Version of a file's bytes, or of a link's target; None of a folder, and of what could not be read."""


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

    def heads_since(self, position: int) -> dict[str, HeadFacts | None] | None:
        """Return the heads of the paths recorded since a position, by key, None where there is none any more.

        None if that is not all that has changed: there are records of folders, or retention has removed some, or there
        are so many that all heads are read sooner.
        """
        (issued,) = self._database.row(_ISSUED)
        if issued - position > MOST_RECORDED:
            return None
        rows = self._database.rows(_RECORDED_SINCE, (position,))
        is_all = len(rows) >= issued - position  # numbers are issued without gaps
        if not is_all or any(operation not in _OF_FILES for operation, *_ in rows):
            return None
        keys = {key for _, *both in rows for key in both if key is not None}
        found = {key: self._database.row(f"{HEAD_FACTS} WHERE key = ?", (key,)) for key in keys}
        return {key: None if row is None else HeadFacts(*row[1:]) for key, row in found.items()}

    def rows(self) -> PlainRows[IndexRow]:
        """Return all rows by key."""
        found = self._database.rows(f"SELECT key, {_READ} WHERE gone IS NULL")
        return PlainRows(IndexRow._make, {key: _plain(*values) for key, *values in found})

    def get(self, key: str) -> IndexRow | None:
        """Return the row of a key, or None; of files with a head, the head says more."""
        row = self._database.row(f"SELECT {_READ} WHERE key = ? AND gone IS NULL", (key,))
        return None if row is None else IndexRow._make(_plain(*row))

    def save(self, met: Mapping[str, IndexRow], gone: Iterable[str], position: int) -> bool:
        """Write what a look has met, and drop the keys of what it has missed.

        Args:
            met: Rows of what stands there.
            gone: Keys of what does not.
            position: Number of the newest record before the look.

        Returns:
            False if a folder has been moved or deleted since, or is being so, with the rows below it; then the rest was
            not done.
        """
        added = ((_UPSERT, [_values(key, row) for key, row in several]) for several in slices(met.items()))
        dropped = (("DELETE FROM tree_index WHERE key = ?", several) for several in slices((key,) for key in gone))
        return all(self._write(statement, values, position) for statement, values in chain(added, dropped))

    def found(self, met: Mapping[str, IndexRow], position: int, *, by_look: bool = True) -> bool:
        """Give files that nobody has recorded their first heads, at the version in which they were met.

        Args:
            met: Rows of files, with their versions.
            position: Number of the newest record before they were met.
            by_look: Whether a look at the tree has met them, and knows of it.

        Returns:
            False if a folder has been moved or deleted since, or is being so: paths may be others; then nothing was done.
        """
        for several in slices(met.items()):
            values = [
                (key, row.path, digest_of(row.version), row.identity[2] if row.identity else None, row.mode, position)
                for key, row in several
                if row.version is not None
            ]
            if not self._write(_ADD_HEAD, values, position):
                return False
            self._writes -= not by_look and bool(values)
        return True

    def _write(self, statement: str, values: list[tuple[Any, ...]], position: int) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if connection.execute(_REMOVED_SINCE, (position,)).fetchone() is not None:
                return False
            connection.executemany(statement, values)
            connection.execute(_COUNT_WRITE)
            return True

        is_done = not values or self._database.write(work, durable=False)
        self._writes += bool(values) and is_done
        return is_done

    def complete(self, looked: Looked) -> None:
        """Note that the whole tree was looked at: what has neither a head nor a row is not there."""
        query = "INSERT OR REPLACE INTO meta VALUES ('looked', ?)"

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(query, (" ".join(map(str, (looked.position, looked.time, looked.scope, looked.began))),))
            connection.execute("DELETE FROM tree_index WHERE gone <= ?", (looked.position,))

        self._database.write(work, durable=False)


def follow_folders(connection: sqlite3.Connection, change: Change, number: int) -> None:
    """Keep the rows of folders, inside the commit of a change."""
    if change.operation is Operation.CREATE_DIRECTORY:
        if change.compensates is not None:
            # As after a deletion that failed: what was in it is there again.
            connection.execute("UPDATE tree_index SET gone = NULL WHERE gone = ?", (change.compensates,))
        connection.execute(_MAKE_FOLDER if change.compensates is None else _ADD_FOLDER, (change.key, change.path))
    elif change.operation is Operation.DELETE_DIRECTORY:
        gone = "UPDATE tree_index SET gone = ? WHERE gone IS NULL AND (key = ? OR key >= ? AND key < ?)"
        connection.execute(gone, (number, change.key, *bounds_below(change.key)))
    elif change.operation is Operation.MOVE_DIRECTORY:
        _move(connection, change)


def _move(connection: sqlite3.Connection, change: Change) -> None:
    assert change.old_key is not None
    assert change.old_path is not None
    query = "SELECT key, path FROM tree_index WHERE gone IS NULL AND (key = ? OR key >= ? AND key < ?)"
    depth = change.old_key.count("/") + 1
    renamed = []
    for key, path in connection.execute(query, (change.old_key, *bounds_below(change.old_key))).fetchall():
        key_below, path_below = ("/".join(["", *name.split("/")[depth:]]) for name in (key, path))
        renamed.append((change.key + key_below, change.path + path_below, key))
    connection.executemany(_RENAME, renamed)
    connection.execute(_ADD_FOLDER, (change.key, change.path))


def _plain(path: str, kind: str, device: int | None, *values: Any) -> Values:
    *others, mode, version = values
    return (path, kind, None if device is None else (device, *others), mode, version)


def _values(key: str, row: IndexRow) -> tuple[Any, ...]:
    identity = row.identity or (None,) * 5
    version = None if row.version is None else digest_of(row.version)
    return (key, row.path, row.kind, *identity, row.mode, version)


def slices(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield rows in as many as one transaction writes."""
    left = iter(rows)
    while several := list(islice(left, SLICE)):
        yield several
