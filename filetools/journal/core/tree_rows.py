"""Rows of the tree: what is at each path, as far as filetools knows. Only a turn of the writer changes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, structs

from filetools.models.records import Operation

RowKind = Literal["file", "directory", "symlink", "other", "absent"]
Identity = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, mtime and ctime in nanoseconds: equal identities mean equal bytes."""


class TreeRow(Struct, frozen=True, kw_only=True):
    """What is at a path."""

    key: str
    """Equal for all spellings that the file system takes for one name."""
    path: str
    """As it was spelled when it was made or found."""
    kind: RowKind
    """"absent": it was here and is gone; the row keeps the file's id and the number of its last record."""
    file: int
    """Id that the file keeps over moves, deletion and undo."""
    version: bytes | None = None
    """Hash of the bytes, of a link of its target; None if nobody read it yet, and for a folder."""
    mode: int | None = None
    identity: Identity | None = None
    """None if unknown; of an absent one what it had, until the removal is applied."""
    number: int = 0
    """Of the newest record of this path; 0 if it was found, and never changed since."""
    applied: bool = True
    """False from the commit until the disk carries it."""
    synced: bool = True
    """False until it survives a power cut."""

    temporary: str | None = None
    """Store-relative name under which what was at the path came out last."""

    @property
    def is_there(self) -> bool:
        """Whether something is at the path."""
        return self.kind != "absent"


TREE_COLUMNS: Final = (
    "key, folder, path, kind, file, version, mode, device, inode, size, mtime, ctime, number, applied, synced,"
    " temporary"
)
_SELECT: Final = f"SELECT {TREE_COLUMNS} FROM tree"
MOST_REMEMBERED: Final = 10_000
"""Rows that are kept in memory from one turn to the next."""
_BY_KEY: Final = f"{_SELECT} WHERE key = ?"
_INSERT: Final = f"INSERT INTO tree ({TREE_COLUMNS}) VALUES ({', '.join('?' * 16)}) ON CONFLICT (key) DO UPDATE SET "
# An update writes each index of which it names a column: the folder follows from the key, and the inode is often the same.
_NAMES: Final = [name.strip() for name in TREE_COLUMNS.split(",")][2:]
PUT_ROW: Final = _INSERT + ", ".join(f"{name} = excluded.{name}" for name in _NAMES)
_PUT_SAME: Final = _INSERT + ", ".join(f"{name} = excluded.{name}" for name in _NAMES if name != "inode")


def folder_of(key: str) -> str | None:
    """Return the key of the folder that holds a key; None for the root."""
    return key.rpartition("/")[0] if key else None


def bounds_below(key: str) -> tuple[str, str]:
    """Return the bounds, the second one outside, of all keys below a folder; the empty key is the root."""
    return (f"{key}/", f"{key}0") if key else ("", "\U0010ffff")  # "0" is the character after "/"


class TreeTable:
    """The rows, over the writer's connection. Used inside turns only."""

    def __init__(self, connection: sqlite3.Connection, key_of: Callable[[str], str]) -> None:
        """Use the rows of a database.

        Args:
            connection: The writer's.
            key_of: Gives the text that all spellings of a path share.
        """
        self._connection = connection
        self._known: dict[str, TreeRow | None] = {}
        self._knows_all = False
        self._generation = -1
        self.key_of: Final = key_of

    def begin(self, generation: int) -> None:
        """Begin a transaction of a database that has this generation: what was read in another one is forgotten."""
        if generation != self._generation or len(self._known) > MOST_REMEMBERED:
            self._generation = generation
            self._known.clear()
            self._knows_all = False

    def knows_all(self) -> bool:
        """Whether the whole tree was looked at since the database was made."""
        query = "SELECT 1 FROM meta WHERE name = 'looked_at'"
        self._knows_all = self._knows_all or self._connection.execute(query).fetchone() is not None
        return self._knows_all

    def note_whole_look(self, about: str = "") -> None:
        """Remember that the whole tree was looked at, and something about that look."""
        if about or not self.knows_all():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('looked_at', ?)", (about,))

    def get(self, key: str) -> TreeRow | None:
        """Return the row of a key."""
        try:
            return self._known[key]
        except KeyError:
            found = self._known[key] = self._read(key)
            return found

    def _read(self, key: str) -> TreeRow | None:
        row = self._connection.execute(_BY_KEY, (key,)).fetchone()
        return None if row is None else row_from(row)

    def at(self, path: str) -> TreeRow | None:
        """Return the row of a path, in any spelling."""
        return self.get(self.key_of(path))

    def put(self, rows: Iterable[TreeRow]) -> None:
        """Set rows."""
        for row in rows:
            former = self._known.get(row.key)
            is_same = former is not None and _inode_of(former) == _inode_of(row)
            self._connection.execute(_PUT_SAME if is_same else PUT_ROW, _tree_values(row))
            self._known[row.key] = row

    def children(self, folder: str) -> dict[str, TreeRow]:
        """Return the rows directly in the folder of a key, by key, without absent ones."""
        found = self._connection.execute(f"{_SELECT} WHERE folder = ? AND kind <> 'absent'", (folder,))
        return {row[0]: row_from(row) for row in found}

    def below(self, key: str) -> list[TreeRow]:
        """Return the rows of everything below the folder of a key, folders before what is in them, without absent ones."""
        query = f"{_SELECT} WHERE key > ? AND key < ? AND kind <> 'absent' ORDER BY key"
        found = self._connection.execute(query, bounds_below(key))
        return sorted((row_from(row) for row in found), key=lambda row: row.key.split("/"))

    def by_inode(self, device: int, inode: int) -> list[TreeRow]:
        """Return the rows of whatever has an inode."""
        query = f"{_SELECT} WHERE inode = ? AND device = ? AND kind <> 'absent'"
        found = self._connection.execute(query, (inode, device))
        return [row_from(row) for row in found]

    def with_temporary(self, temporary: str) -> TreeRow | None:
        """Return the row of the path from which a temporary file came out."""
        row = self._connection.execute(f"{_SELECT} WHERE temporary = ?", (temporary,)).fetchone()
        return None if row is None else row_from(row)

    def unapplied(self) -> list[TreeRow]:
        """Return what was committed and is perhaps not on the disk, oldest first."""
        return [row for row in self._changed_since("applied") if not row.applied]

    def unsynced(self) -> list[TreeRow]:
        """Return what a power cut may take back, oldest first."""
        return [row for row in self._changed_since("synced") if not row.synced]

    def _changed_since(self, reached: Literal["applied", "synced"]) -> list[TreeRow]:
        records = self._connection.execute(
            f"SELECT key, old_key, kind FROM log WHERE number > (SELECT {reached} FROM reached)"
        ).fetchall()
        keys = {key for *pair, _ in records for key in pair if key is not None}
        # What changed before its folder moved has another key now.
        keys |= {row.key for key, _, kind in records if kind == Operation.MOVE_DIRECTORY for row in self.below(key)}
        rows = [row for key in keys if (row := self._read(key))]
        return sorted(rows, key=lambda row: (row.number, row.key))

    def note_applied(self, number: int) -> None:
        """Note that all records up to a number are on the disk."""
        self._connection.execute("UPDATE reached SET applied = ? WHERE applied < ?", (number, number))

    def take_away(self, below: Iterable[TreeRow], number: int) -> None:
        """Note that rows went with the folder above them, as a record says."""
        self.put(structs.replace(row, kind="absent", identity=None, number=number) for row in below)

    def move_below(self, old: TreeRow, path: str) -> list[TreeRow]:
        """Give everything below a folder that moves its new paths, and return the new rows; the old ones are gone."""
        moved = []
        for row in self.below(old.key):
            new = path + row.path[len(old.path) :]
            moved.append(structs.replace(row, path=new, key=self.key_of(new)))
            self._connection.execute("DELETE FROM tree WHERE key = ?", (row.key,))
            self._known.pop(row.key, None)
        self.put(moved)
        return moved

    def move_device(self, old: int, new: int) -> None:
        """Give all rows of a device its new number."""
        self._connection.execute("UPDATE tree SET device = ? WHERE device = ?", (new, old))
        self._known.clear()

    def synced_up_to(self) -> int:
        """Return the number up to which all changes survive a power cut."""
        return int(self._connection.execute("SELECT synced FROM reached").fetchone()[0])

    def mark_synced(self, synced: Sequence[tuple[str, int]], up_to: int = 0) -> None:
        """Mark rows as safe from a power cut, each as (key, number); one that has changed since stays unmarked.

        Args:
            synced: The rows.
            up_to: Number up to which all records are safe. The rows alone do not tell: one that has changed since is not,
                and what it said before may come back as well.
        """
        self._connection.executemany("UPDATE tree SET synced = 1 WHERE key = ? AND number = ? AND applied = 1", synced)
        self._known.clear()
        self._connection.execute("UPDATE reached SET synced = ? WHERE synced < ?", (up_to, up_to))


def _inode_of(row: TreeRow) -> int | None:
    return None if row.identity is None else row.identity[1]


def _tree_values(row: TreeRow) -> tuple[Any, ...]:
    identity = row.identity or (None, None, None, None, None)
    return (
        row.key, folder_of(row.key), row.path, row.kind, row.file, row.version, row.mode, *identity, row.number,
        int(row.applied), int(row.synced), row.temporary,
    )  # fmt: skip


def row_from(row: Sequence[Any]) -> TreeRow:
    """Return the row of a query for all columns."""
    key, _folder, path, kind, file, version, mode, *identity, number, applied, synced, temporary = row
    return TreeRow(
        key=key, path=path, kind=kind, file=file, version=version, mode=mode,
        identity=None if identity[1] is None else (identity[0], identity[1], identity[2], identity[3], identity[4]),
        number=number, applied=bool(applied), synced=bool(synced), temporary=temporary,
    )  # fmt: skip
