"""Rows of the tree: the entry at each path, as far as filetools knows.

`TreeTable` has them in a turn of the writer, which alone changes what is at a path; `TreeIndex` reads them at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from filetools.journal.storage.contents import digest_of
from filetools.journal.storage.database import Connection, TableAccess
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
_ROWS: Final = f"{_SELECT} WHERE kind <> 'absent'"
_IGNORE_FILES: Final = (
    f"SELECT 1 FROM records WHERE number > ? AND (path = '{IGNORE_FILE}' OR path LIKE '%/{IGNORE_FILE}'"
    f" OR old_path = '{IGNORE_FILE}' OR old_path LIKE '%/{IGNORE_FILE}') LIMIT 1"
)
_KNOWN: Final = "SELECT key, path, kind, device, inode, size, mtime, ctime FROM tree WHERE kind <> 'absent' AND"
# An update rewrites each index with a column that it names; the folder follows from the key.
_UPDATED: Final = ", ".join(f"{name} = excluded.{name}" for name in TREE_COLUMNS.split(", ")[2:])
PUT_ROW: Final = (
    f"INSERT INTO tree ({TREE_COLUMNS}) VALUES ({', '.join('?' * 14)}) ON CONFLICT (key) DO UPDATE SET {_UPDATED}"
)


_IS_IN_FOLDER: Final = "((key = ?1 AND kind = 'directory') OR (key >= ?2 AND key < ?3))"
PUT_HEAD: Final = (
    "INSERT INTO tree (key, folder, path, kind, file, version, size, mode, number, applied)"
    f" VALUES (?1, ?2, ?3, CASE WHEN ?4 IS NULL THEN 'absent' ELSE 'file' END, {NEW_FILE_ID}, ?4, ?5, ?6, ?7, ?8)"
    " ON CONFLICT (key) DO UPDATE SET path = excluded.path, kind = excluded.kind, version = excluded.version,"
    " size = excluded.size, mode = excluded.mode, number = excluded.number, applied = excluded.applied,"
    " inode = CASE WHEN version = excluded.version THEN inode END"
)
_LEAVE: Final = f"DELETE FROM tree WHERE {_IS_IN_FOLDER} RETURNING {TREE_COLUMNS}"
_NUMBER: Final = TREE_COLUMNS.split(", ").index("number") - 3
_PUT_MOVED: Final = (
    f"{PUT_ROW}, number = CASE excluded.kind WHEN 'directory' THEN tree.number ELSE excluded.number END,"
    " applied = CASE excluded.kind WHEN 'directory' THEN tree.applied ELSE excluded.applied END"
    # An absent row from the old folder does not overwrite an entry recorded in the new one before the move.
    " WHERE excluded.kind <> 'absent' OR tree.kind = 'absent'"
)
_PUT_FOLDER: Final = (
    "INSERT INTO tree (key, folder, path, kind, file, number, applied)"
    f" VALUES (?, ?, ?, 'directory', {NEW_FILE_ID}, 0, 1)"
    " ON CONFLICT (key) DO UPDATE SET path = excluded.path, kind = excluded.kind, version = NULL"
)
_SET_ASIDE: Final = (
    f"INSERT OR REPLACE INTO tree_aside SELECT ?4, * FROM tree WHERE {_IS_IN_FOLDER}"
    " AND (kind <> 'absent' OR number > 0)"
)
_USED: Final = (
    "UPDATE contents SET used = ?1 WHERE used BETWEEN 0 AND ?1 AND hash IN"
    " (SELECT version FROM heads WHERE key >= ?2 AND key < ?3 AND version IS NOT NULL)"
)
_TAKE_AWAY: Final = (
    "UPDATE tree SET kind = 'absent', version = NULL, mode = NULL, inode = NULL,"
    " number = CASE key WHEN ?1 THEN number ELSE 0 END, applied = CASE key WHEN ?1 THEN applied ELSE 1 END"
    f" WHERE {_IS_IN_FOLDER}"
)


def folder_of(key: str) -> str | None:
    """Return the key of the folder that holds a key; None for the root."""
    return key.rpartition("/")[0] if key else None


def bounds_below(key: str) -> tuple[str, str | bytes]:
    """Return the bounds of all keys below a folder, the second one exclusive; the empty key is the root."""
    # "0" is the character after "/"; SQLite orders bytes after every text.
    return (f"{key}/", f"{key}0") if key else ("", b"")


def take_away(connection: Connection, key: str, number: int) -> None:
    """Mark a folder and everything below it as removed by record `number`, and set the rows aside.

    Only the folder's removal is recorded, not that of its entries; their rows keep the ids of the files.
    """
    bounds = bounds_below(key)
    connection.execute(_SET_ASIDE, (key, *bounds, number))
    connection.execute(_USED, (number, *bounds))
    connection.execute(_TAKE_AWAY, (key, *bounds))


def put_folder(connection: Connection, key: str, path: str, *, is_new: bool) -> None:
    """Note that a folder is at a path; if it is new, forget the inode found there before."""
    connection.execute(f"{_PUT_FOLDER}, inode = NULL" if is_new else _PUT_FOLDER, (key, folder_of(key), path))


def move_folder(connection: Connection, old: tuple[str, str], new: tuple[str, str]) -> None:
    """Rename the rows of a moved folder and of everything below it.

    Args:
        connection: The writing connection.
        old: Key and path before.
        new: Key and path now.
    """
    moved = []
    for key, _, path, *facts in connection.execute(_LEAVE, (old[0], *bounds_below(old[0]))).fetchall():
        if new[0] != key == old[0] and facts[_NUMBER] > 0:
            # Keep the record that a file of this name is gone.
            put_gone(connection, key, old[1], facts[_NUMBER], facts[_NUMBER + 1])
            facts[_NUMBER : _NUMBER + 2] = 0, 1
        new_key, new_path = moved_name(old[0], new, key, path)
        moved.append((new_key, folder_of(new_key), new_path, *facts))
    connection.executemany(_PUT_MOVED, moved)
    put_folder(connection, *new, is_new=False)


def moved_name(old_key: str, new: tuple[str, str], key: str, path: str) -> tuple[str, str]:
    """Return the new key and path of an entry in or below a moved folder; the spellings of both may differ in length."""
    depth = old_key.count("/") + 1
    below, path_below = ("".join(f"/{part}" for part in name.split("/")[depth:]) for name in (key, path))
    return new[0] + below, new[1] + path_below


def put_gone(connection: Connection, key: str, path: str, number: int, applied: int) -> None:
    """Note that a file is gone as of record `number`."""
    connection.execute(PUT_HEAD, (key, folder_of(key), path, None, None, None, number, applied))


class TreeTable:
    """The rows, in one transaction of a turn. Only files have a `number`, that of their newest record."""

    def __init__(self, connection: Connection, key_of: Callable[[str], str]) -> None:
        """Use the rows of a database.

        Args:
            connection: The writing connection.
            key_of: Returns the key that all spellings of a path share.
        """
        self._connection = connection
        self.key_of: Final = key_of

    def note_whole_look(self, looked: Looked) -> None:
        """Store a finished look at the whole tree."""
        value = msgspec.json.encode(looked).decode()
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('looked_at', ?)", (value,))

    def get(self, key: str) -> TreeRow | None:
        """Return the row of a key."""
        return next(map(row_from, self._connection.execute(f"{_SELECT} WHERE key = ?", (key,))), None)

    def is_settled(self, row: TreeRow) -> bool:
        """True if a row is applied, and not to be restored after a power cut."""
        query = "SELECT 1 FROM unrestored WHERE number = ?"
        return row.applied and self._connection.execute(query, (row.number,)).fetchone() is None

    def at(self, path: str) -> TreeRow | None:
        """Return the row of a path, in any spelling."""
        return self.get(self.key_of(path))

    def put(self, rows: Iterable[TreeRow]) -> None:
        """Set rows."""
        for row in rows:
            self._connection.execute(PUT_ROW, _tree_values(_numbered(row, self.get(row.key))))

    def children(self, folder: str) -> list[TreeRow]:
        """Return the rows directly in the folder of a key, without absent ones."""
        return self._present("folder = ?", folder)

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
        return sorted(self._present("key > ? AND key < ?", *bounds_below(key)), key=lambda row: row.key.split("/"))

    def by_inode(self, device: int, inode: int) -> list[TreeRow]:
        """Return the rows with an inode, without absent ones."""
        return self._present("inode = ? AND device = ?", inode, device)

    def _present(self, condition: str, *values: str | bytes | int) -> list[TreeRow]:
        found = self._connection.execute(f"{_ROWS} AND {condition}", values)
        return [row_from(row) for row in found]

    def move_device(self, old: int, new: int) -> None:
        """Set a new device number in all rows of a device."""
        self._connection.execute("UPDATE tree SET device = ? WHERE device = ?", (new, old))

    def are_ignore_files_changed(self, position: int) -> bool:
        """True if an ignore file was created, changed, moved or removed after a record."""
        return self._connection.execute(_IGNORE_FILES, (position,)).fetchone() is not None


def _numbered(row: TreeRow, former: TreeRow | None) -> TreeRow:
    """Return a row to put: a file's with its own number, another with that of the file that was there before."""
    is_file = row.kind == "file" or (row.kind == "absent" and (former is None or former.kind in ("file", "absent")))
    if not is_file:
        row = structs.replace(row, number=former.number if former is not None and former.kind != "file" else 0)
    return row if row.is_there else structs.replace(row, version=None)


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
    tracked: frozenset[str] = frozenset()
    """Paths of the ignored files that git tracked."""


class TreeIndex(TableAccess):
    """The tree table of an embedded journal, outside of turns."""

    def looked(self) -> Looked | None:
        """Return the newest look at the whole tree; None if there was none, so that rows may be missing."""
        row = self._database.row("SELECT value FROM meta WHERE name = 'looked_at'")
        return None if row is None else msgspec.json.decode(row[0], type=Looked)

    def to_look_at(self) -> dict[str, TreeRow]:
        """Return the rows of files and links that were never read, and of ignore files, by key."""
        return {row[0]: row_from(row) for row in self._database.rows(_TO_LOOK_AT)}

    def paths(self, kind: RowKind) -> dict[str, str]:
        """Return the paths of all entries of a kind, by key."""
        return dict(self._database.rows("SELECT key, path FROM tree WHERE kind = ?", (kind,)))

    def get(self, key: str) -> TreeRow | None:
        """Return the row of a key; None if no entry is known there."""
        return next(map(row_from, self._database.rows(f"{_ROWS} AND key = ?", (key,))), None)

    def note_read(self, read: Iterable[ReadVersion]) -> None:
        """Store the versions that were read in rows that have none, if the entry is unchanged."""
        values = [(one.version, one.ctime, one.key, one.kind, *one.identity[1:]) for one in read]
        self._database.change(_NOTE_READ, values)

    def note_opened(self, key: str, path: str, version: str) -> None:
        """Remember the version of a file without records, so that a later change is detected."""
        self._database.change(_NOTE_OPENED, [(key, folder_of(key), path, digest_of(version))])
