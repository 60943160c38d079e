"""Rows of the tree: the entry at each path, as far as filetools knows.

`TreeTable` has them in a turn of the writer, which alone changes what is at a path; `TreeIndex` reads them at any time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from filetools.journal.storage.contents import Contents, digest_of, version_from
from filetools.journal.storage.database import Database, slices
from filetools.paths.ignore import IGNORE_FILE

RowKind = Literal["file", "directory", "symlink", "other", "absent"]
Identity = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, mtime and ctime in nanoseconds: equal identities mean equal bytes."""


class TreeRow(Struct, frozen=True, kw_only=True):
    """The entry at a path."""

    key: str
    """Equal for all spellings that the file system treats as one name."""
    path: str
    """As it was spelled when it was made or found."""
    kind: RowKind
    """"absent": it was removed; the row keeps the file's id and the number of its last record."""
    file: int
    """Id that the file keeps over moves, deletion and undo."""
    version: bytes | None = None
    """Hash of a file's bytes or a link's target; None for a folder, and if not read yet."""
    mode: int | None = None
    identity: Identity | None = None
    """None if unknown; an absent entry keeps its last one until the removal is applied."""
    number: int = 0
    """Number of the newest record of this path; 0 if it was found and has not changed since."""
    applied: bool = True
    """False from the commit until it is applied to the disk."""

    @property
    def is_there(self) -> bool:
        """True unless it is absent."""
        return self.kind != "absent"


NEW_FILE_ID: Final = "random() & 0xFFFFFFFFFFFFFF"
TREE_COLUMNS: Final = "key, folder, path, kind, file, version, mode, device, inode, size, mtime, ctime, number, applied"
_SELECT: Final = f"SELECT {TREE_COLUMNS} FROM tree"
_IGNORE_FILES: Final = (
    f"SELECT 1 FROM records WHERE number > ? AND (path = '{IGNORE_FILE}' OR path LIKE '%/{IGNORE_FILE}'"
    f" OR old_path = '{IGNORE_FILE}' OR old_path LIKE '%/{IGNORE_FILE}') LIMIT 1"
)
_KNOWN: Final = "SELECT key, path, kind, device, inode, size, mtime, ctime FROM tree WHERE kind <> 'absent' AND"
_BY_KEY: Final = f"{_SELECT} WHERE key = ?"
_INSERT: Final = f"INSERT INTO tree ({TREE_COLUMNS}) VALUES ({', '.join('?' * 14)}) ON CONFLICT (key) DO UPDATE SET "
# An update rewrites each index with a column that it names: the folder follows from the key, the inode is often the same.
_NAMES: Final = [name.strip() for name in TREE_COLUMNS.split(",")][2:]
PUT_ROW: Final = _INSERT + ", ".join(f"{name} = excluded.{name}" for name in _NAMES)
_PUT_SAME: Final = _INSERT + ", ".join(f"{name} = excluded.{name}" for name in _NAMES if name != "inode")


def folder_of(key: str) -> str | None:
    """Return the key of the folder that holds a key; None for the root."""
    return key.rpartition("/")[0] if key else None


def bounds_below(key: str) -> tuple[str, str]:
    """Return the bounds of all keys below a folder, the second one exclusive; the empty key is the root."""
    return (f"{key}/", f"{key}0") if key else ("", "\U0010ffff")  # "0" is the character after "/"


class TreeTable:
    """The rows, in one transaction of a turn. Only files have a `number`, that of their newest record."""

    def __init__(self, connection: sqlite3.Connection, key_of: Callable[[str], str], contents: Contents) -> None:
        """Use the rows of a database.

        Args:
            connection: The writing connection.
            key_of: Returns the key that all spellings of a path share.
            contents: Notes contents that are no longer in any file.
        """
        self._connection = connection
        self._contents = contents
        self._known: dict[str, TreeRow | None] = {}
        self.key_of: Final = key_of
        self.unseen: set[int] = set()
        """Numbers of records that removed folders with files never read."""

    def note_whole_look(self, looked: Looked) -> None:
        """Store a finished look at the whole tree."""
        value = msgspec.json.encode(looked).decode()
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('looked_at', ?)", (value,))

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
        self._write(_numbered(row, self.get(row.key)) for row in rows)

    def _write(self, rows: Iterable[TreeRow]) -> None:
        for row in rows:
            former = self._known.get(row.key)
            is_same = former is not None and _inode_of(former) == _inode_of(row)
            self._connection.execute(_PUT_SAME if is_same else PUT_ROW, _tree_values(row))
            self._known[row.key] = row

    def children(self, folder: str) -> list[TreeRow]:
        """Return the rows directly in the folder of a key, without absent ones."""
        found = self._connection.execute(f"{_SELECT} WHERE folder = ? AND kind <> 'absent'", (folder,))
        return [row_from(row) for row in found]

    def known_in(self, folder: str, keys: Iterable[str] | None) -> list[tuple[Any, ...]]:
        """Return key, path, kind and the five parts of the identity of each entry directly in the folder of a key.

        Faster than whole rows: most entries of a tree are unchanged.

        Args:
            folder: Key of the folder.
            keys: Only these; None for all.
        """
        if keys is None:
            return self._connection.execute(f"{_KNOWN} folder = ?", (folder,)).fetchall()
        return [row for key in keys for row in self._connection.execute(f"{_KNOWN} key = ?", (key,))]

    def below(self, key: str) -> list[TreeRow]:
        """Return the rows of everything below the folder of a key, folders before what is in them, without absent ones."""
        query = f"{_SELECT} WHERE key > ? AND key < ? AND kind <> 'absent' ORDER BY key"
        found = self._connection.execute(query, bounds_below(key))
        return sorted((row_from(row) for row in found), key=lambda row: row.key.split("/"))

    def by_inode(self, device: int, inode: int) -> list[TreeRow]:
        """Return the rows with an inode, without absent ones."""
        query = f"{_SELECT} WHERE inode = ? AND device = ? AND kind <> 'absent'"
        found = self._connection.execute(query, (inode, device))
        return [row_from(row) for row in found]

    def take_away(self, below: Iterable[TreeRow], number: int) -> None:
        """Mark rows as removed with the folder above them; only the folder's removal is recorded."""
        rows = list(below)
        self._contents.replaced(
            self._connection, [(version_from(row.version) or "", number) for row in rows if row.version is not None]
        )
        if any(row.kind == "file" and row.version is None for row in rows):
            self.unseen.add(number)
        self._connection.executemany(
            "INSERT OR REPLACE INTO tree_aside SELECT ?, * FROM tree WHERE key = ? AND kind <> 'absent'",
            [(number, row.key) for row in rows],
        )
        self._write(
            structs.replace(row, kind="absent", version=None, mode=None, identity=None, number=0, applied=True)
            for row in rows
        )

    def move_below(self, old: TreeRow, path: str) -> list[TreeRow]:
        """Move everything below a moved folder to its new path, and return the new rows; the old ones are removed."""
        moved = []
        for row in self.below(old.key):
            new = path + row.path[len(old.path) :]
            moved.append(structs.replace(row, path=new, key=self.key_of(new)))
            self._connection.execute("DELETE FROM tree WHERE key = ?", (row.key,))
            self._known.pop(row.key, None)
        self.put(moved)
        return moved

    def move_device(self, old: int, new: int) -> None:
        """Set a new device number in all rows of a device."""
        self._connection.execute("UPDATE tree SET device = ? WHERE device = ?", (new, old))
        self._known.clear()

    def are_ignore_files_changed(self, position: int) -> bool:
        """True if an ignore file was created, changed, moved or removed after a record."""
        return self._connection.execute(_IGNORE_FILES, (position,)).fetchone() is not None


def _numbered(row: TreeRow, former: TreeRow | None) -> TreeRow:
    """Return a row to put: a file's with its own number, another with that of the file that was there before."""
    is_file = row.kind == "file" or (row.kind == "absent" and (former is None or former.kind in ("file", "absent")))
    if not is_file:
        row = structs.replace(row, number=former.number if former is not None and former.kind != "file" else 0)
    return row if row.is_there else structs.replace(row, version=None)


def _inode_of(row: TreeRow) -> int | None:
    return None if row.identity is None else row.identity[1]


def _tree_values(row: TreeRow) -> tuple[Any, ...]:
    identity = row.identity or (None, None, None, None, None)
    return (
        row.key, folder_of(row.key), row.path, row.kind, row.file, row.version, row.mode, *identity, row.number,
        int(row.applied),
    )  # fmt: skip


def row_from(row: Sequence[Any]) -> TreeRow:
    """Return the row of a query for all columns."""
    key, _folder, path, kind, file, version, mode, *identity, number, applied = row
    return TreeRow(
        key=key, path=path, kind=kind, file=file, version=version, mode=mode,
        identity=None if identity[1] is None else (identity[0], identity[1], identity[2], identity[3], identity[4]),
        number=number, applied=bool(applied),
    )  # fmt: skip


# -- outside of turns


_ROWS: Final = f"SELECT {TREE_COLUMNS} FROM tree WHERE kind <> 'absent'"
_TO_LOOK_AT: Final = (
    f"{_ROWS} AND ((version IS NULL AND kind IN ('file', 'symlink'))"
    f" OR path = '{IGNORE_FILE}' OR path LIKE '%/{IGNORE_FILE}')"
)
_NOTE_READ: Final = (
    "UPDATE tree SET version = ?1, ctime = ?2 WHERE key = ?3 AND (version IS NULL OR version = ?1) AND kind = ?4"
    " AND inode = ?5 AND size = ?6 AND mtime = ?7 AND ctime IN (?8, -1)"
)
_NOTE_OPENED: Final = (
    "INSERT INTO tree (key, folder, path, kind, file, version, number, applied)"
    f" VALUES (?, ?, ?, 'file', {NEW_FILE_ID}, ?, 0, 1) ON CONFLICT (key) DO UPDATE SET version = excluded.version,"
    " ctime = -1"  # it is unknown which state of the file was read
    " WHERE kind = 'file' AND version IS NULL"
)


class ReadVersion(NamedTuple):
    """A version that was read at a path."""

    key: str
    kind: RowKind
    version: bytes
    """Hash of the bytes."""
    identity: Identity
    ctime: int
    """ctime of the identity, or -1 if the file was too young to be identified by it."""


class Looked(Struct, frozen=True):
    """The newest complete look at the tree."""

    position: int
    """Number of the newest record before it."""
    time: float
    """When it began, in seconds since the epoch."""
    rules: str = ""
    """Version of its exclusion rules."""


class TreeIndex:
    """The tree table of an embedded journal, outside of turns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def looked(self) -> Looked | None:
        """Return the newest look at the whole tree; None if there was none, so that rows may be missing."""
        row = self._database.row("SELECT value FROM meta WHERE name = 'looked_at'")
        return None if row is None else msgspec.json.decode(row[0], type=Looked)

    def tracked(self) -> set[str]:
        """Return the paths that `note_tracked` stored last."""
        row = self._database.row("SELECT value FROM meta WHERE name = 'tracked'")
        return set() if row is None else set(json.loads(row[0]))

    def note_tracked(self, paths: Iterable[str]) -> None:
        """Store the paths of ignored files that git tracks."""
        value = json.dumps(sorted(paths))
        self._database.change("INSERT OR REPLACE INTO meta VALUES ('tracked', ?)", [(value,)])

    def to_look_at(self) -> dict[str, TreeRow]:
        """Return the rows of files and links that were never read, and of ignore files, by key."""
        return {row[0]: row_from(row) for row in self._database.rows(_TO_LOOK_AT)}

    def paths(self, kind: RowKind) -> dict[str, str]:
        """Return the paths of all entries of a kind, by key."""
        return dict(self._database.rows("SELECT key, path FROM tree WHERE kind = ?", (kind,)))

    def get(self, key: str) -> TreeRow | None:
        """Return the row of a key; None if no entry is known there."""
        row = self._database.row(f"{_ROWS} AND key = ?", (key,))
        return None if row is None else row_from(row)

    def note_read(self, read: Iterable[ReadVersion]) -> None:
        """Store the versions that were read in rows that have none, if the entry is unchanged."""
        values = [(one.version, one.ctime, one.key, one.kind, *one.identity[1:]) for one in read]
        for several in slices(values):
            self._database.change(_NOTE_READ, several)

    def note_opened(self, key: str, path: str, version: str) -> None:
        """Remember the version of a file without records, so that a later change is detected."""
        self._database.change(_NOTE_OPENED, [(key, folder_of(key), path, digest_of(version))])
