"""Checkpoints: what stood in the whole tree at a moment, under a name. Retention keeps all that came after the oldest.

Snapshots share their rows: a row holds from its first snapshot to its last one, so that a checkpoint costs what has
changed since the one before. A row without an end is open: the newest snapshot has it, and so will the next if it still holds.

A snapshot is written a slice at a time, under a number that lets only its save change rows, until another save, or the removal
of a checkpoint, takes the next number; then it begins again. Nobody sees it before its checkpoint is there. What a save that
died has left is no different from what any save finds: open rows, some of which still hold, and rows that have ended.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from msgspec import Struct, structs

from filetools.errors import FileToolsError
from filetools.journal.contents import digest_of, version_from
from filetools.journal.database import Database
from filetools.journal.plain_rows import PlainRows, Values
from filetools.journal.tree_index import slices
from filetools.models.words import EntryType

MOST_AUTOMATIC: Final = 20
"""Automatic checkpoints that are kept; the next one takes the place of the oldest."""
_COLUMNS: Final = "name, number, time, snapshot, files, bytes, rows, automatic"
_RESERVED: Final = "SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'snapshot'"
_NEXT: Final = f"SELECT 1 + coalesce(({_RESERVED}), 0)"
_OPEN_ROWS: Final = "SELECT key, path, kind, size, mode, version FROM snapshot_rows WHERE last IS NULL"
_ADD_ROW: Final = "INSERT INTO snapshot_rows (key, path, kind, size, mode, version, first) VALUES (?,?,?,?,?,?,?)"
_END_ROW: Final = "UPDATE snapshot_rows SET last = ? WHERE key = ? AND last IS NULL"
_ROWS_OF: Final = (
    "SELECT key, path, kind, size, mode, version FROM snapshot_rows WHERE first <= ?1 AND (last IS NULL OR last >= ?1)"
)
_DOOMED_ROWS: Final = (
    # Of open rows, which are the most, one number says it.
    "SELECT key, first FROM snapshot_rows WHERE CASE WHEN last IS NULL"
    " THEN first > (SELECT coalesce(max(snapshot), 0) FROM checkpoints)"
    " ELSE NOT EXISTS (SELECT 1 FROM checkpoints WHERE snapshot BETWEEN first AND last) END"
)
_DROP_ROW: Final = "DELETE FROM snapshot_rows WHERE key = ? AND first = ?"
_SURPLUS: Final = (
    "DELETE FROM checkpoints WHERE name IN"
    f" (SELECT name FROM checkpoints WHERE automatic ORDER BY snapshot DESC LIMIT -1 OFFSET {MOST_AUTOMATIC})"
)
_EXPIRED: Final = (
    "SELECT name FROM checkpoints AS old WHERE automatic AND time < ?"
    " AND EXISTS (SELECT 1 FROM checkpoints AS newer WHERE newer.automatic AND newer.snapshot > old.snapshot)"
    " ORDER BY snapshot LIMIT 1"
)
_log = logging.getLogger(__name__)


class SnapshotRow(NamedTuple):
    """What stood at one path."""

    path: str
    kind: EntryType
    size: int | None
    """Bytes of a file."""
    mode: int | None
    """Permission bits."""
    version: str | None
    """Version of a file's bytes, or of a link's target; None of a folder."""


class Checkpoint(Struct, frozen=True, kw_only=True):
    """A moment with a name."""

    name: str
    number: int
    """Number of the newest record at that moment; 0 if there was none."""
    time: float
    """Seconds since the epoch."""
    snapshot: int
    """Number of its snapshot; 0 before it has one."""
    files: int
    bytes: int
    """Bytes of all its files."""
    rows: int
    """Files, folders and links in its snapshot."""
    automatic: bool = False
    """Whether nobody named it, so that it expires."""


Keep = Callable[[Mapping[str, SnapshotRow]], Set[str]]


class _Made(Struct, frozen=True):
    """A checkpoint, and how many others went for it."""

    checkpoint: Checkpoint
    displaced: int


class _Newest(Struct, frozen=True):
    """A snapshot whose rows are the open ones, until somebody takes the next number but one."""

    snapshot: int
    tree: PlainRows[SnapshotRow]
    lacking: Set[str]
    """Keys of the rows whose bytes are not kept, or may not be."""
    count: int = 0
    """How many rows all snapshots had then."""


class Checkpoints:
    """Checkpoints of an embedded journal; implements `Checkpoints`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._newest: _Newest | None = None
        self._counts: tuple[Mapping[str, SnapshotRow], int, int] | None = None

    def save(
        self,
        name: str,
        tree: Mapping[str, SnapshotRow],
        number: int,
        *,
        replace: bool = False,
        automatic: bool = False,
        keep: Keep = lambda _: frozenset(),
    ) -> Checkpoint | None:
        """Give a state of the tree a name, all at once; None if another has it already and must not be replaced.

        Args:
            name: Its name.
            tree: What stands in the tree, by key; not to be changed any more.
            number: Number of the newest record that the tree shows.
            replace: Whether a checkpoint of that name goes.
            automatic: Whether it expires, and takes the place of the oldest such one where there are too many.
            keep: Has the bytes kept of the rows of a tree that may lack them, and returns the keys of those that still do;
                called when the rows are written, from which on retention leaves them alone. Where it raises there is no
                checkpoint.
        """
        tree = PlainRows.of(SnapshotRow._make, tree)
        files, size = self._counted(tree)
        draft = Checkpoint(
            name=name, number=number, time=0.0, snapshot=0, files=files, bytes=size, rows=len(tree), automatic=automatic
        )
        while replace or self.get(name) is None:
            known = self._newest
            snapshot = self._database.write(_reserve, durable=False)
            if known is not None and (known.snapshot != snapshot - 1 or known.count != self._count()):
                known = None
            before = known or _Newest(snapshot - 1, self._open_rows(), tree.keys())
            added = _differing(tree, before.tree)
            lacking: Set[str] = frozenset()
            try:
                for statement, values in _changes(_differing(before.tree, tree), added, snapshot):
                    if not self._write(statement, values, snapshot):
                        break
                else:
                    lacking = keep({**added, **{key: tree[key] for key in before.lacking if key in tree}})
                made = self._database.write(partial(_publish, draft, snapshot, replace))
            except BaseException:
                self._drop_rows(snapshot)
                raise
            # Where only this process has written, a checkpoint that takes no other's place leaves no row to nobody.
            has_all = known is not None and made is not None and made.displaced == 0
            is_tidy = has_all or self._drop_rows(snapshot)
            if made is not None:
                count = known.count + len(added) if known is not None and has_all else self._count()
                self._newest = _Newest(snapshot, tree, lacking, count) if is_tidy else None
                return made.checkpoint
        return None

    def all(self) -> list[Checkpoint]:
        """Return all checkpoints, oldest first."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM checkpoints ORDER BY number, time, name")
        return [_checkpoint(row) for row in rows]

    def get(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of a name, or None."""
        row = self._database.row(f"SELECT {_COLUMNS} FROM checkpoints WHERE name = ?", (name,))
        return None if row is None else _checkpoint(row)

    def snapshot(self, name: str) -> tuple[Checkpoint, Mapping[str, SnapshotRow] | None] | None:
        """Return the checkpoint of a name and what stood in the tree, by key; no tree if not all of it is known.

        Both as of one moment: another process may put another checkpoint in its place at any time.
        """
        with self._database.reading() as connection:
            connection.execute("BEGIN")
            try:
                row = connection.execute(f"SELECT {_COLUMNS} FROM checkpoints WHERE name = ?", (name,)).fetchone()
                found = None if row is None else _checkpoint(row)
                rows = connection.execute(_ROWS_OF, (found and found.snapshot,)).fetchall()
            finally:
                connection.execute("ROLLBACK")
        if found is None:
            return None
        if len(rows) != found.rows:
            _log.warning("of the snapshot %r %d rows are there, not %d", name, len(rows), found.rows)
            return found, None
        return found, _snapshot(rows)

    def remove(self, name: str) -> bool:
        """Forget a checkpoint; False if there is none of that name."""

        def work(connection: sqlite3.Connection) -> int | None:
            is_there = connection.execute("DELETE FROM checkpoints WHERE name = ?", (name,)).rowcount > 0
            return _reserve(connection) if is_there else None

        snapshot = self._database.write(work, may_use_reserve=lambda: True)
        if snapshot is not None:
            self._drop_rows(snapshot)
        return snapshot is not None

    def expire(self, before: float = math.inf) -> bool:
        """Forget the oldest automatic checkpoint made before a time; False if there is none, or it is the newest one.

        Args:
            before: In seconds since the epoch.
        """
        row = self._database.row(_EXPIRED, (before,))
        return row is not None and self.remove(row[0])

    def _counted(self, tree: Mapping[str, SnapshotRow]) -> tuple[int, int]:
        """Return the number and the bytes of the files in a tree, which most often is the one counted last."""
        if self._counts is None or self._counts[0] is not tree:
            files = sum(row.kind == "file" for row in tree.values())
            self._counts = (tree, files, sum(row.size or 0 for row in tree.values()))
        return self._counts[1:]

    def _count(self) -> int:
        """Return how many rows there are, to see that none was lost to damage. To count open ones takes ten times as long."""
        return int(self._database.row("SELECT count(*) FROM snapshot_rows")[0])

    def _open_rows(self) -> PlainRows[SnapshotRow]:
        return _snapshot(self._database.rows(_OPEN_ROWS))

    def _write(
        self, statement: str, values: list[Values], snapshot: int, may_use_reserve: Callable[[], bool] = lambda: False
    ) -> bool:
        """Change a slice of the rows; False if they belong to another save, or removal, by now."""

        def work(connection: sqlite3.Connection) -> bool:
            if not _is_newest(connection, snapshot):
                return False
            connection.executemany(statement, values)
            return True

        return self._database.write(work, durable=False, may_use_reserve=may_use_reserve)

    def _drop_rows(self, snapshot: int) -> bool:
        """Remove the rows that no checkpoint has, as far as no other save or removal begins, which ends with that, too."""
        with suppress(FileToolsError):  # what has been asked for is done: what is left goes the next time
            return all(
                self._write(_DROP_ROW, several, snapshot, may_use_reserve=lambda: True)
                for several in slices(self._database.rows(_DOOMED_ROWS))
            )
        return False


def oldest_kept(connection: sqlite3.Connection) -> int | None:
    """Return the number after which nothing may be removed, or None if there is no checkpoint."""
    (number,) = connection.execute("SELECT min(number) FROM checkpoints").fetchone()
    return None if number is None else int(number)


def _reserve(connection: sqlite3.Connection) -> int:
    """Take the next number of a snapshot; from now on nobody with an earlier one may change the rows."""
    (snapshot,) = connection.execute(_NEXT).fetchone()
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('snapshot', ?)", (str(snapshot),))
    return int(snapshot)


def _is_newest(connection: sqlite3.Connection, snapshot: int) -> bool:
    return bool(connection.execute(_RESERVED).fetchone() == (snapshot,))


def _differing(tree: PlainRows[SnapshotRow], other: PlainRows[SnapshotRow]) -> dict[str, SnapshotRow]:
    """Return the rows of a tree that another does not have."""
    if tree is other:
        return {}
    known = other.plain
    # Most rows are the same object, which is seen sooner than that they are equal.
    keys = [key for key, row in tree.plain.items() if (found := known.get(key)) is not row and found != row]
    return {key: tree[key] for key in keys}


def _changes(
    ended: Mapping[str, SnapshotRow], added: Mapping[str, SnapshotRow], snapshot: int
) -> Iterator[tuple[str, list[Values]]]:
    """Yield what makes the open rows those of a snapshot, in slices.

    Rows end before others are added, so that wherever it is broken off no key has two open rows.
    """
    for several in slices((snapshot - 1, key) for key in ended):
        yield _END_ROW, several
    for more in slices((key, *_values(row), snapshot) for key, row in added.items()):
        yield _ADD_ROW, more


def _publish(draft: Checkpoint, snapshot: int, replace_other: bool, connection: sqlite3.Connection) -> _Made | None:
    """Have a checkpoint be there; None if its rows belong to another save by now, or its name to another checkpoint."""
    if not _is_newest(connection, snapshot):
        return None
    if not replace_other and connection.execute("SELECT 1 FROM checkpoints WHERE name = ?", (draft.name,)).fetchone():
        return None
    made = structs.replace(draft, snapshot=snapshot, time=time.time())
    displaced = connection.execute("DELETE FROM checkpoints WHERE name = ?", (draft.name,)).rowcount
    connection.execute(f"INSERT INTO checkpoints ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?)", structs.astuple(made))
    if made.automatic:
        displaced += connection.execute(_SURPLUS).rowcount
    return _Made(made, displaced)


def _snapshot(rows: Iterable[Values]) -> PlainRows[SnapshotRow]:
    found = {key: (path, kind, size, mode, version_from(digest)) for key, path, kind, size, mode, digest in rows}
    return PlainRows(SnapshotRow._make, found)


def _values(row: SnapshotRow) -> Values:
    return (row.path, row.kind, row.size, row.mode, None if row.version is None else digest_of(row.version))


def _checkpoint(row: Values) -> Checkpoint:
    name, number, moment, snapshot, files, size, rows, automatic = row
    return Checkpoint(
        name=name, number=number, time=moment, snapshot=snapshot, files=files, bytes=size, rows=rows,
        automatic=bool(automatic),
    )  # fmt: skip
