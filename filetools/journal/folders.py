"""Folders in the table of heads: what lies below one, and what becomes of it when the folder goes."""

from __future__ import annotations

import sqlite3
from typing import Final

from filetools.journal.changes import Change

_COLUMNS: Final = "key, path, version, size, mode, number, applied"
_MOVE: Final = (
    "UPDATE OR REPLACE heads SET key = ? || substr(key, ?), path = ? || substr(path, ?) WHERE key >= ? AND key < ?"
)

_FORGET_GONE: Final = (
    "DELETE FROM heads WHERE key >= ? AND key < ? AND version IS NULL AND EXISTS"
    " (SELECT 1 FROM heads AS other WHERE other.key = ? || substr(heads.key, ?) AND other.version IS NOT NULL)"
)


def bounds_below(key: str) -> tuple[str, str]:
    """Return the bounds, the second one outside, of all keys below a folder; the empty key is the root."""
    return (f"{key}/", f"{key}0") if key else ("", "\U0010ffff")  # "0" is the character after "/"


def forget_heads_below(connection: sqlite3.Connection, key: str, number: int) -> None:
    """Set the heads below a folder aside that the record `number` deletes; their contents count as used by it."""
    connection.execute(
        f"INSERT OR REPLACE INTO heads_aside (deletion, {_COLUMNS}) SELECT ?, {_COLUMNS} FROM heads WHERE key >= ? AND key < ?",
        (number, *bounds_below(key)),
    )
    connection.execute(
        "UPDATE contents SET used = ?1 WHERE used BETWEEN 0 AND ?1 AND hash IN"
        " (SELECT version FROM heads WHERE key >= ?2 AND key < ?3 AND version IS NOT NULL)",
        (number, *bounds_below(key)),
    )
    connection.execute("DELETE FROM heads WHERE key >= ? AND key < ?", bounds_below(key))


def drop_heads_aside(connection: sqlite3.Connection) -> None:
    """Forget the heads set aside by deletions that are done."""
    connection.execute(
        "DELETE FROM heads_aside WHERE deletion < coalesce("
        "(SELECT min(number) FROM records INDEXED BY records_pending WHERE state = 'pending'), 9223372036854775807)"
    )


def return_heads(connection: sqlite3.Connection, number: int) -> None:
    """Have the heads again that the record `number`, which is set back, had set aside."""
    connection.execute(
        f"INSERT OR IGNORE INTO heads ({_COLUMNS}) SELECT {_COLUMNS} FROM heads_aside WHERE deletion = ?", (number,)
    )


def move_heads_below(connection: sqlite3.Connection, change: Change) -> None:
    """Give the heads below a moved folder their new names."""
    assert change.old_key is not None
    assert change.old_path is not None
    bounds = bounds_below(change.old_key)
    # What is gone from the old folder is no news of what was told, before the move, to stand in the new one.
    connection.execute(_FORGET_GONE, (*bounds, change.key, len(change.old_key) + 1))
    if _is_spelled_alike(connection, change.old_path, bounds):
        lengths = (len(change.old_key) + 1, len(change.old_path) + 1)
        connection.execute(_MOVE, (change.key, lengths[0], change.path, lengths[1], *bounds))
        return
    depth = change.old_key.count("/") + 1
    for key, path in connection.execute("SELECT key, path FROM heads WHERE key >= ? AND key < ?", bounds).fetchall():
        below = [name.split("/", depth)[depth] for name in (key, path)]
        connection.execute(
            "UPDATE OR REPLACE heads SET key = ?, path = ? WHERE key = ?",
            (f"{change.key}/{below[0]}", f"{change.path}/{below[1]}", key),
        )


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
    depth = change.old_key.count("/") + 1
    rows = connection.execute(
        "SELECT id, key, path FROM documents WHERE key >= ? AND key < ?", bounds_below(change.old_key)
    ).fetchall()
    for document_id, key, path in rows:
        below = [name.split("/", depth)[depth] for name in (key, path)]
        connection.execute(
            "UPDATE OR IGNORE documents SET key = ?, path = ? WHERE id = ?",
            (f"{change.key}/{below[0]}", f"{change.path}/{below[1]}", document_id),
        )


def _is_spelled_alike(connection: sqlite3.Connection, folder: str, bounds: tuple[str, str]) -> bool:
    """Whether all paths below begin with the folder as it is spelled now; where case does not count, some may not."""
    prefix = f"{folder}/"
    row = connection.execute(
        "SELECT 1 FROM heads WHERE key >= ? AND key < ? AND substr(path, 1, ?) != ? LIMIT 1",
        (*bounds, len(prefix), prefix),
    ).fetchone()
    return row is None
