"""Checkpoints: named states of the whole tree. Retention keeps everything after the oldest.

Snapshots share their rows: a row is valid from its first snapshot to its last one, so that a checkpoint stores only what
changed since the one before. A row without an end is open: the newest snapshot has it, and the next one if it is unchanged.

A save writes its rows under a checkpoint without a name, which protects them and their bytes from retention, and names it once
the bytes are kept. Another save removes a checkpoint without a name; then the first one begins again. Retention removes what a
failed save has left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import Any, Final

from msgspec import Struct, structs

from filetools.journal.storage.contents import VERSION_TEXT, digest_of
from filetools.journal.storage.database import Connection, TableAccess
from filetools.journal.storage.schema import NEWEST
from filetools.models.words import EntryType

MOST_AUTOMATIC: Final = 20
"""Automatic checkpoints kept; the next one replaces the oldest."""
_COLUMNS: Final = "name, number, time, snapshot, files, bytes, rows, automatic"
_SELECT: Final = f"SELECT {_COLUMNS} FROM checkpoints WHERE name IS NOT NULL"
_NUMBER: Final = "SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'snapshot'), 0)"
_IN_SNAPSHOT: Final = "first <= ?1 AND (last IS NULL OR last >= ?1)"
_TREE: Final = f"SELECT key, path, kind, size, mode, {VERSION_TEXT} FROM snapshot_rows WHERE {_IN_SNAPSHOT}"
_SCOPE: Final = f"SELECT {VERSION_TEXT} FROM snapshot_rows WHERE key = '' AND {_IN_SNAPSHOT}"
_FACTS: Final = "({0}.path, {0}.kind, {0}.size, {0}.mode, {0}.version)"
_DIFFERING: Final = (
    f"WITH before AS (SELECT key, path, kind, size, mode, version, 0 AS number FROM snapshot_rows WHERE {_IN_SNAPSHOT}),"
    " now AS (SELECT key, path, kind, CASE kind WHEN 'file' THEN size END AS size, mode, version, number FROM tree"
    " WHERE kind <> 'absent' AND key <> '')"
    f" SELECT key, number, path, kind, size, mode, {VERSION_TEXT} FROM {{here}} AS here WHERE ?2 OR NOT EXISTS"
    f" (SELECT 1 FROM {{there}} AS there WHERE there.key = here.key AND {_FACTS.format('there')} IS {_FACTS.format('here')})"
)
_BEFORE: Final = _DIFFERING.format(here="before", there="now")
_NOW: Final = _DIFFERING.format(here="now", there="before")
_TOTALS: Final = (
    "SELECT count(*) FILTER (WHERE kind = 'file'), coalesce(sum(size), 0), count(*) FROM snapshot_rows"
    " WHERE last IS NULL"
)
_ADD_ROW: Final = "INSERT INTO snapshot_rows (key, path, kind, size, mode, version, first) VALUES (?,?,?,?,?,?,?)"
_DROP_NEEDLESS: Final = (
    # For open rows, which are the most, one number decides.
    "DELETE FROM snapshot_rows WHERE CASE WHEN last IS NULL"
    " THEN first > (SELECT coalesce(max(snapshot), 0) FROM checkpoints)"
    " ELSE NOT EXISTS (SELECT 1 FROM checkpoints WHERE snapshot BETWEEN first AND last) END"
)
_SURPLUS: Final = (
    "DELETE FROM checkpoints WHERE name IN"
    f" (SELECT name FROM checkpoints WHERE automatic ORDER BY snapshot DESC LIMIT -1 OFFSET {MOST_AUTOMATIC})"
)
_EXPIRED: Final = (
    "SELECT name FROM checkpoints AS old WHERE automatic"
    " AND EXISTS (SELECT 1 FROM checkpoints AS newer WHERE newer.automatic AND newer.snapshot > old.snapshot)"
    " ORDER BY snapshot LIMIT 1"
)


class SnapshotRow(Struct, frozen=True, gc=False):
    """The entry at one path."""

    path: str
    kind: EntryType
    size: int | None
    """Bytes of a file."""
    mode: int | None
    """Permission bits."""
    version: str | None
    """Version of a file's bytes, or of a link's target; None for a folder."""


Tree = Mapping[str, SnapshotRow]
Keep = Callable[[Tree], Set[str]]


class Checkpoint(Struct, frozen=True):
    """A named state of the tree."""

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
    """True if it was made automatically and expires."""


class Comparison(Struct, frozen=True, kw_only=True):
    """The rows in which the tree differs from a snapshot, by key, both as of one moment."""

    position: int
    """Number of the newest record that the tree shows."""
    snapshot: int
    """Number of the snapshot."""
    is_whole: bool
    """True if both sides have all rows, because other rules left paths out of the snapshot, or it is gone."""
    before: Tree
    """Rows of the snapshot."""
    now: Tree
    """Rows of the tree; a file or link without a version was never read."""
    unrecorded: Set[str]
    """Keys of the rows of the tree that no record names."""
    lacking: Tree
    """Rows of the snapshot whose bytes may not be kept."""


class Checkpoints(TableAccess):
    """Checkpoints of an embedded journal."""

    def compare(self, scope: str, snapshot: int | None = None) -> Comparison:
        """Compare the tree with a snapshot.

        Args:
            scope: Version of the rules that leave paths out of the tree.
            snapshot: Number of the snapshot; by default the newest one.
        """
        with self._database.reading() as connection:
            (position,) = connection.execute(NEWEST).fetchone()
            (newest,) = connection.execute(_NUMBER).fetchone()
            number = newest if snapshot is None else snapshot
            is_kept = connection.execute(f"{_SELECT} AND snapshot = ?", (number,)).fetchone() is not None
            is_whole = not is_kept or connection.execute(_SCOPE, (number,)).fetchone() != (scope,)
            before = {key: SnapshotRow(*row) for key, _, *row in connection.execute(_BEFORE, (number, is_whole))}
            rows = connection.execute(_NOW, (number, is_whole)).fetchall()
            lacking = {key: SnapshotRow(*row) for key, *row in connection.execute(f"{_TREE} AND lacks", (number,))}
        return Comparison(
            position=position, snapshot=number, is_whole=is_whole, before=before,
            now={key: SnapshotRow(*row) for key, _, *row in rows},
            unrecorded={key for key, recorded, *_ in rows if not recorded},
            lacking=lacking if is_kept else before,
        )  # fmt: skip

    def save(
        self,
        name: str,
        compare: Callable[[], Comparison],
        *,
        replace: bool = False,
        automatic: bool = False,
        keep: Keep = lambda _: frozenset(),
    ) -> Checkpoint | None:
        """Save the state of the tree under a name, all at once; None if the name is taken and must not be replaced.

        Args:
            name: Its name.
            compare: Returns the tree beside the newest snapshot; called again if another snapshot is made meanwhile.
            replace: True to replace a checkpoint of that name.
            automatic: True if it expires, and replaces the oldest automatic one if there are too many.
            keep: Stores the bytes of rows that may lack them, and returns the keys of those that still do. Called once the
                rows are written, from which on retention leaves them alone. If it raises, there is no checkpoint.
        """
        while replace or self.get(name) is None:
            found = compare()
            tree = readable(found.now)
            added, ended = _differing(tree, found.before), _differing(found.before, tree)
            snapshot = self._database.write(partial(_begin, found, ended, added), durable=False)
            if snapshot is None:
                continue
            doubtful = {key: row for key, row in found.lacking.items() if key not in ended} | added
            lacking = keep(doubtful)
            made = self._database.write(partial(_name, name, snapshot, replace, automatic, lacking))
            if made is not None:
                return made
        return None

    def all(self) -> list[Checkpoint]:
        """Return all checkpoints, oldest first."""
        return [_checkpoint(row) for row in self._database.rows(f"{_SELECT} ORDER BY number, time, name")]

    def get(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of a name, or None."""
        return next((one for one in self.all() if one.name == name), None)

    def snapshot(self, name: str) -> tuple[Checkpoint, Tree | None] | None:
        """Return the checkpoint of a name and its entries, by key; None for the entries if not all of them are known.

        Both are of one moment: another process may replace the checkpoint at any time.
        """
        with self._database.reading() as connection:
            row = connection.execute(f"{_SELECT} AND name = ?", (name,)).fetchone()
            if row is None:
                return None
            found = _checkpoint(row)
            tree = {key: SnapshotRow(*row) for key, *row in connection.execute(_TREE, (found.snapshot,))}
        return found, tree if len(tree) == found.rows else None

    def remove(self, name: str) -> bool:
        """Forget a checkpoint; False if there is none of that name."""
        return self._database.write(partial(forget_checkpoints, "name = ?", name), may_use_reserve=True)

    def expire(self) -> bool:
        """Forget the oldest automatic checkpoint; False if there is none, or it is the newest one."""
        row = self._database.row(_EXPIRED)
        return row is not None and self.remove(row[0])


def forget_checkpoints(condition: str, value: str | float, connection: Connection) -> bool:
    """Forget the checkpoints that meet a condition on one value, and the rows that only they needed; False if none does."""
    is_there = connection.execute(f"DELETE FROM checkpoints WHERE {condition}", (value,)).rowcount > 0
    if is_there:
        next_number(connection)
        connection.execute(_DROP_NEEDLESS)
    return is_there


def next_number(connection: Connection) -> int:
    """Take the next snapshot number; a save that has compared the tree with an earlier one begins again.

    Without a checkpoint of that number, the next save looks for the bytes of all rows.
    """
    (number,) = connection.execute(_NUMBER).fetchone()
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('snapshot', ?)", (str(number + 1),))
    return int(number) + 1


def _begin(found: Comparison, ended: Tree, added: Tree, connection: Connection) -> int | None:
    """Write the rows of an unnamed checkpoint; None if the snapshot that was compared is no longer the newest."""
    snapshot = next_number(connection)
    if snapshot != found.snapshot + 1:
        return None
    connection.execute("DELETE FROM checkpoints WHERE name IS NULL")
    connection.executemany(
        "UPDATE snapshot_rows SET last = ? WHERE key = ? AND last IS NULL", [(snapshot - 1, key) for key in ended]
    )
    connection.executemany(
        _ADD_ROW,
        (
            (key, row.path, row.kind, row.size, row.mode, row.version and digest_of(row.version), snapshot)
            for key, row in added.items()
        ),
    )
    totals = connection.execute(_TOTALS).fetchone()
    connection.execute(
        f"INSERT INTO checkpoints ({_COLUMNS}) VALUES (NULL,?,?,?,?,?,?,0)",
        (found.position, time.time(), snapshot, *totals),
    )
    return snapshot


def _name(
    name: str, snapshot: int, replace: bool, automatic: bool, lacking: Set[str], connection: Connection
) -> Checkpoint | None:
    """Name a checkpoint; None if another save has removed it, or another checkpoint has the name."""
    is_there = connection.execute(
        "UPDATE checkpoints SET time = ?, automatic = ? WHERE snapshot = ? AND name IS NULL",
        (time.time(), automatic, snapshot),
    ).rowcount
    if is_there and replace:
        connection.execute("DELETE FROM checkpoints WHERE name = ?", (name,))
    update = "UPDATE OR IGNORE checkpoints SET name = ? WHERE snapshot = ? AND name IS NULL"
    if not connection.execute(update, (name, snapshot)).rowcount:
        return None
    connection.execute("UPDATE snapshot_rows SET lacks = 0 WHERE lacks AND last IS NULL")
    connection.executemany(
        "UPDATE snapshot_rows SET lacks = 1 WHERE key = ? AND last IS NULL", ((key,) for key in lacking)
    )
    if automatic:
        connection.execute(_SURPLUS)
    connection.execute(_DROP_NEEDLESS)
    return _checkpoint(connection.execute(f"{_SELECT} AND name = ?", (name,)).fetchone())


def readable(rows: Tree) -> Tree:
    """Return the rows that a snapshot has: those of folders, and of files and links that were read."""
    return {key: row for key, row in rows.items() if row.kind == "directory" or row.version is not None}


def _differing(rows: Tree, others: Tree) -> dict[str, SnapshotRow]:
    """Return the rows that others do not have as they are."""
    return {key: row for key, row in rows.items() if others.get(key) != row}


def _checkpoint(row: tuple[Any, ...]) -> Checkpoint:
    return structs.replace(Checkpoint(*row), automatic=bool(row[-1]))
