"""Rows of the tree as commits change them: of one file, and of a folder with all that is below it."""

from __future__ import annotations

import sqlite3
from typing import Final

from filetools.journal.changes import Change
from filetools.journal.schema import IS_PENDING
from filetools.journal.tree_rows import PUT_ROW, TREE_COLUMNS, bounds_below, folder_of

NEW_FILE_ID: Final = "random() & 0xFFFFFFFFFFFFFF"
PUT_HEAD: Final = (
    "INSERT INTO tree (key, folder, path, kind, file, version, size, mode, number, applied)"
    f" VALUES (?1, ?2, ?3, CASE WHEN ?4 IS NULL THEN 'absent' ELSE 'file' END, {NEW_FILE_ID}, ?4, ?5, ?6, ?7, ?8)"
    " ON CONFLICT (key) DO UPDATE SET path = excluded.path, kind = excluded.kind, version = excluded.version,"
    " size = excluded.size, mode = excluded.mode, number = excluded.number, applied = excluded.applied,"
    " inode = CASE WHEN version = excluded.version THEN inode END"
)
_RENAME: Final = "UPDATE OR REPLACE tree SET key = ?, folder = ?, path = ? WHERE key = ?"
_IS_IN_FOLDER: Final = "((key = ?1 AND kind = 'directory') OR (key >= ?2 AND key < ?3))"
_LEAVE: Final = f"DELETE FROM tree WHERE {_IS_IN_FOLDER} RETURNING {TREE_COLUMNS}"
_NUMBER: Final = TREE_COLUMNS.split(", ").index("number") - 3
_PUT_MOVED: Final = (
    f"{PUT_ROW}, number = CASE excluded.kind WHEN 'directory' THEN tree.number ELSE excluded.number END,"
    " applied = CASE excluded.kind WHEN 'directory' THEN tree.applied ELSE excluded.applied END"
    # What is gone from the old folder says nothing of what was told, before the move, to be in the new one.
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
    # Of what was in the folder its deletion is all that is recorded; the rows keep the ids of the files.
    "UPDATE tree SET kind = 'absent', version = NULL, mode = NULL, inode = NULL,"
    " number = CASE key WHEN ?1 THEN number ELSE 0 END, applied = CASE key WHEN ?1 THEN applied ELSE 1 END"
    f" WHERE {_IS_IN_FOLDER}"
)
_FREE: Final = (
    "DELETE FROM tree WHERE kind = 'absent' AND key IN (SELECT key FROM tree_aside WHERE deletion = ?1) AND number IN"
    " (0, (SELECT number FROM tree_aside AS former WHERE deletion = ?1 AND former.key = tree.key))"
)
_DROP_ASIDE: Final = (
    "DELETE FROM tree_aside WHERE deletion < coalesce((SELECT min(number) FROM records INDEXED BY records_of_folders"
    " WHERE operation IN ('delete_directory', 'move_directory')), 9223372036854775807)"
    " OR (version IS NULL AND kind <> 'directory' AND deletion < coalesce("
    f"(SELECT min(number) FROM records INDEXED BY records_open WHERE {IS_PENDING}), 9223372036854775807))"
)
_RETURN: Final = f"INSERT OR IGNORE INTO tree SELECT {TREE_COLUMNS} FROM tree_aside WHERE deletion = ?"


def take_away_folder(connection: sqlite3.Connection, key: str, number: int) -> None:
    """Set the rows of a folder aside that the record `number` deletes; contents below it count as used by it."""
    bounds = bounds_below(key)
    connection.execute(_SET_ASIDE, (key, *bounds, number))
    connection.execute(_USED, (number, *bounds))
    connection.execute(_TAKE_AWAY, (key, *bounds))


def drop_rows_aside(connection: sqlite3.Connection) -> None:
    """Forget the rows set aside by deletions that are forgotten and, of those that are done, what nobody has read."""
    connection.execute(_DROP_ASIDE)


def return_folder(connection: sqlite3.Connection, number: int) -> None:
    """Have the rows again that the record `number`, which is set back, had set aside."""
    connection.execute(_FREE, (number,))
    connection.execute(_RETURN, (number,))


def put_folder(connection: sqlite3.Connection, key: str, path: str, *, is_new: bool) -> None:
    """Note that a folder is at a path; what a look has met of another one there is forgotten if it is new."""
    connection.execute(f"{_PUT_FOLDER}, inode = NULL" if is_new else _PUT_FOLDER, (key, folder_of(key), path))


def move_folder(connection: sqlite3.Connection, change: Change) -> None:
    """Give the rows of a moved folder, and of all below it, their new names."""
    assert change.old_key is not None
    assert change.old_path is not None
    moved = []
    for key, _, path, *facts in connection.execute(_LEAVE, (change.old_key, *bounds_below(change.old_key))).fetchall():
        if change.key != key == change.old_key and facts[_NUMBER] > 0:
            # That a file of this name is gone stays so.
            put_gone(connection, key, change.old_path, facts[_NUMBER], facts[_NUMBER + 1])
            facts[_NUMBER : _NUMBER + 2] = 0, 1
        new_key, new_path = _moved(change, key, path)
        moved.append((new_key, folder_of(new_key), new_path, *facts))
    connection.executemany(_PUT_MOVED, moved)
    put_folder(connection, change.key, change.path, is_new=False)


def put_gone(connection: sqlite3.Connection, key: str, path: str, number: int, applied: int) -> None:
    """Note that a file is gone, as a record says."""
    connection.execute(PUT_HEAD, (key, folder_of(key), path, None, None, None, number, applied))


def move_file(connection: sqlite3.Connection, old_key: str | None, key: str, path: str) -> None:
    """Give the row of a file that moves its new name, in the place of what was there."""
    connection.execute(_RENAME, (key, folder_of(key), path, old_key))


def move_document(connection: sqlite3.Connection, change: Change) -> None:
    """Have the open document of a moved file follow it, unless another one is open where it goes."""
    connection.execute(
        "UPDATE OR IGNORE documents SET key = ?, path = ? WHERE key = ?", (change.key, change.path, change.old_key)
    )


def return_document(connection: sqlite3.Connection, change: Change) -> None:
    """Have the open document come back that a move has taken along."""
    connection.execute(
        "UPDATE OR IGNORE documents SET key = ?, path = ? WHERE id = ?", (change.key, change.path, change.returning)
    )


def move_documents_below(connection: sqlite3.Connection, change: Change) -> None:
    """Have the open documents below a moved folder follow it."""
    assert change.old_key is not None
    rows = connection.execute(
        "SELECT id, key, path FROM documents WHERE key >= ? AND key < ?", bounds_below(change.old_key)
    ).fetchall()
    values = [(*_moved(change, key, path), document_id) for document_id, key, path in rows]
    connection.executemany("UPDATE OR IGNORE documents SET key = ?, path = ? WHERE id = ?", values)


def _moved(change: Change, key: str, path: str) -> tuple[str, str]:
    """Return what becomes of a key and a path, in or below a folder that moves, of which the spellings may differ in length."""
    assert change.old_key is not None
    depth = change.old_key.count("/") + 1
    below, path_below = ("".join(f"/{part}" for part in name.split("/")[depth:]) for name in (key, path))
    return change.key + below, change.path + path_below
