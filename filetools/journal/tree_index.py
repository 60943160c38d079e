"""Reads rows of the tree outside turns: of one path, or all at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct

from filetools.journal.storage.contents import digest_of
from filetools.journal.storage.database import Database
from filetools.journal.tree_rows import NEW_FILE_ID, TREE_COLUMNS, Identity, RowKind, TreeRow, folder_of, row_from
from filetools.paths.ignore import IGNORE_FILE

T = TypeVar("T")

SLICE: Final = 2000
"""Rows written in one transaction, so that commits wait a few milliseconds at most."""
_ROWS: Final = f"SELECT {TREE_COLUMNS} FROM tree WHERE kind <> 'absent'"
_TO_LOOK_AT: Final = (
    f"{_ROWS} AND ((version IS NULL AND kind IN ('file', 'symlink'))"
    f" OR path = '{IGNORE_FILE}' OR path LIKE '%/{IGNORE_FILE}')"
)
_LOOKED: Final = "SELECT value FROM meta WHERE name = 'looked_at'"
_FOLDER_OF_INODE: Final = "SELECT path FROM tree WHERE inode = ? AND device = ? AND kind = 'directory'"
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

    def text(self) -> str:
        """Return it as text for the database."""
        return f"{self.position} {self.time} {self.rules}"


class TreeIndex:
    """The tree table of an embedded journal, outside of turns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def looked(self) -> Looked | None:
        """Return the newest look at the whole tree; None if there was none, so that rows may be missing."""
        row = self._database.row(_LOOKED)
        if row is None:
            return None
        position, moment, rules = row[0].split(" ")
        return Looked(int(position), float(moment), rules)

    def rows(self) -> dict[str, TreeRow]:
        """Return the rows of all entries in the tree, by key."""
        return {row[0]: row_from(row) for row in self._database.rows(_ROWS)}

    def to_look_at(self) -> dict[str, TreeRow]:
        """Return the rows of files and links that were never read, and of ignore files, by key."""
        return {row[0]: row_from(row) for row in self._database.rows(_TO_LOOK_AT)}

    def folders(self) -> list[str]:
        """Return the paths of all folders."""
        return [path for (path,) in self._database.rows("SELECT path FROM tree WHERE kind = 'directory'")]

    def get(self, key: str) -> TreeRow | None:
        """Return the row of a key; None if no entry is known there."""
        row = self._database.row(f"{_ROWS} AND key = ?", (key,))
        return None if row is None else row_from(row)

    def folder_of_inode(self, device: int, inode: int) -> str | None:
        """Return the path of the folder known to have an inode."""
        row = self._database.row(_FOLDER_OF_INODE, (inode, device))
        return None if row is None else str(row[0])

    def note_read(self, read: Iterable[ReadVersion]) -> None:
        """Store the versions that were read in rows that have none, if the entry is unchanged."""
        values = [(one.version, one.ctime, one.key, one.kind, *one.identity[1:]) for one in read]
        for several in slices(values):
            self._write(_NOTE_READ, several)

    def note_opened(self, key: str, path: str, version: str) -> None:
        """Remember the version of a file without records, so that a later change is detected."""
        self._write(_NOTE_OPENED, [(key, folder_of(key), path, digest_of(version))])

    def _write(self, statement: str, values: list[tuple[Any, ...]]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(statement, values)

        self._database.write(work, durable=False)


def slices(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield rows in slices of one transaction each."""
    left = iter(rows)
    while several := list(islice(left, SLICE)):
        yield several
