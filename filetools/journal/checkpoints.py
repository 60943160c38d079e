"""Named checkpoints: what stood in the whole tree at a moment. Retention keeps all that came after the oldest.

Snapshots share their rows: a row holds from its first snapshot to its last one, so that a checkpoint costs what has
changed since the one before.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from filetools.journal.contents import digest_of, version_from
from filetools.journal.database import Database
from filetools.models import EntryType

_COLUMNS: Final = "name, number, time, snapshot, files, bytes"
_NEXT: Final = (
    "SELECT 1 + max(coalesce((SELECT max(snapshot) FROM checkpoints), 0),"
    " coalesce((SELECT max(max(first, coalesce(last, 0))) FROM snapshot_rows), 0))"
)
_OPEN_ROWS: Final = "SELECT key, path, kind, size, mode, version FROM snapshot_rows WHERE last IS NULL"
_ADD_ROW: Final = "INSERT INTO snapshot_rows (key, path, kind, size, mode, version, first) VALUES (?,?,?,?,?,?,?)"
_END_ROW: Final = "UPDATE snapshot_rows SET last = ? WHERE key = ? AND last IS NULL"
_ROWS_OF: Final = (
    "SELECT key, path, kind, size, mode, version FROM snapshot_rows WHERE first <= ?1 AND (last IS NULL OR last >= ?1)"
)
_DROP_ROWS: Final = (
    "DELETE FROM snapshot_rows WHERE last IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE snapshot BETWEEN first AND last)"
)


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """What stood at one path."""

    path: str
    kind: EntryType
    size: int | None
    """Bytes of a file."""
    mode: int | None
    """Permission bits."""
    version: str | None
    """Version of a file's bytes, or of a link's target; None of a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A moment with a name."""

    name: str
    number: int
    """Number of the newest record at that moment; 0 if there was none."""
    time: float
    """Seconds since the epoch."""
    snapshot: int | None = None
    """Number of its snapshot; None of a checkpoint that an earlier release has made, which is a number alone."""
    files: int | None = None
    bytes: int | None = None
    """Bytes of all its files."""


class Checkpoints(Protocol):
    """States of the whole tree with a name; retention keeps all that came after the oldest."""

    def save(
        self, name: str, tree: Mapping[str, SnapshotRow], number: int, *, replace: bool = False
    ) -> Checkpoint | None:
        """Give a state of the tree a name, all at once; None if another has it already and must not be replaced."""

    def all(self) -> list[Checkpoint]:
        """Return all checkpoints, oldest first."""

    def get(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of a name, or None."""

    def tree(self, snapshot: int) -> dict[str, SnapshotRow]:
        """Return what stood in the tree at a snapshot, by key."""

    def remove(self, name: str) -> bool:
        """Forget a checkpoint; False if there is none of that name."""


class SqliteCheckpoints:
    """Checkpoints of an embedded journal; implements `Checkpoints`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(
        self, name: str, tree: Mapping[str, SnapshotRow], number: int, *, replace: bool = False
    ) -> Checkpoint | None:
        """Give a state of the tree a name, all at once; None if another has it already and must not be replaced.

        Args:
            name: Its name.
            tree: What stands in the tree, by key.
            number: Number of the newest record that the tree shows.
            replace: Whether a checkpoint of that name goes.
        """

        def work(connection: sqlite3.Connection) -> Checkpoint | None:
            if not replace and connection.execute("SELECT 1 FROM checkpoints WHERE name = ?", (name,)).fetchone():
                return None
            (snapshot,) = connection.execute(_NEXT).fetchone()
            _write_tree(connection, tree, snapshot)
            made = Checkpoint(
                name=name, number=number, time=time.time(), snapshot=snapshot,
                files=sum(row.kind == "file" for row in tree.values()),
                bytes=sum(row.size or 0 for row in tree.values()),
            )  # fmt: skip
            values = (name, number, made.time, snapshot, made.files, made.bytes)
            connection.execute(f"INSERT OR REPLACE INTO checkpoints ({_COLUMNS}) VALUES (?,?,?,?,?,?)", values)
            connection.execute(_DROP_ROWS)
            return made

        return self._database.write(work)

    def all(self) -> list[Checkpoint]:
        """Return all checkpoints, oldest first."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM checkpoints ORDER BY number, time, name")
        return [_checkpoint(row) for row in rows]

    def get(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of a name, or None."""
        row = self._database.row(f"SELECT {_COLUMNS} FROM checkpoints WHERE name = ?", (name,))
        return None if row is None else _checkpoint(row)

    def tree(self, snapshot: int) -> dict[str, SnapshotRow]:
        """Return what stood in the tree at a snapshot, by key."""
        rows = self._database.rows(_ROWS_OF, (snapshot,))
        return {
            key: SnapshotRow(path, kind, size, mode, version_from(version))
            for key, path, kind, size, mode, version in rows
        }

    def remove(self, name: str) -> bool:
        """Forget a checkpoint; False if there is none of that name."""

        def work(connection: sqlite3.Connection) -> bool:
            is_there = connection.execute("DELETE FROM checkpoints WHERE name = ?", (name,)).rowcount > 0
            connection.execute(_DROP_ROWS)
            return is_there

        return self._database.write(work)


def oldest_kept(connection: sqlite3.Connection) -> int | None:
    """Return the number after which nothing may be removed, or None if there is no checkpoint."""
    (number,) = connection.execute("SELECT min(number) FROM checkpoints").fetchone()
    return None if number is None else int(number)


def _write_tree(connection: sqlite3.Connection, tree: Mapping[str, SnapshotRow], snapshot: int) -> None:
    """Have the open rows be a tree from a snapshot on; what has not changed costs nothing."""
    left = {key: _values(row) for key, row in tree.items()}
    ended = []
    for key, *values in connection.execute(_OPEN_ROWS):
        if left.get(key) == tuple(values):
            del left[key]
        else:
            ended.append((snapshot - 1, key))
    connection.executemany(_END_ROW, ended)
    connection.executemany(_ADD_ROW, [(key, *values, snapshot) for key, values in left.items()])


def _values(row: SnapshotRow) -> tuple[Any, ...]:
    return (row.path, row.kind, row.size, row.mode, None if row.version is None else digest_of(row.version))


def _checkpoint(row: tuple[Any, ...]) -> Checkpoint:
    name, number, moment, snapshot, files, size = row
    return Checkpoint(name=name, number=number, time=moment, snapshot=snapshot, files=files, bytes=size)
