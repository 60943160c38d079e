"""What one commit does inside a write transaction: compare every view with the heads, then record.

All comparisons come before the first statement that changes anything, so that several commits can share one
transaction and a refused one leaves no trace in it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass

from filetools.journal.changes import DIRECTORY_REMOVALS, Change, HeadMovedError, View
from filetools.journal.contents import keep, touch
from filetools.journal.rows import INSERT_RECORD, UPSERT_HEAD, record_of, record_row
from filetools.models import Actor, ChangeRecord, Operation, RecordState

_FOLDER_OPERATIONS = (*DIRECTORY_REMOVALS, Operation.CREATE_DIRECTORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Everything one caller wants recorded together."""

    changes: Sequence[Change]
    actor: Actor
    mirrors: Sequence[str]


def record(connection: sqlite3.Connection, draft: Draft, opening: int) -> tuple[ChangeRecord, ...]:
    """Compare and record one draft.

    Raises:
        HeadMovedError: A view does not hold any more; nothing was changed.
    """
    for change in draft.changes:
        _compare(connection, change)
    now = time.time()
    batch: int | None = None
    records = []
    for change in draft.changes:
        row = record_row(change, draft.actor, now=now, batch=batch, opening=opening)
        number = connection.execute(INSERT_RECORD, row).lastrowid
        assert number is not None
        if batch is None and len(draft.changes) > 1:
            batch = number
        _settle_contents(connection, change, number)
        _move_heads(connection, change, number)
        _owe(connection, change, number, draft.mirrors)
        records.append(record_of(change, draft.actor, now=now, batch=batch, number=number))
    return tuple(records)


def _compare(connection: sqlite3.Connection, change: Change) -> None:
    for key, view in ((change.key, change.view), (change.old_key, change.old_view)):
        if key is not None and view is not None:
            _compare_view(connection, change.path, key, view)
    if change.compensates is not None:
        return
    if change.operation in DIRECTORY_REMOVALS and _has_pending_below(connection, change.old_key or change.key):
        raise HeadMovedError(change.path)


def _compare_view(connection: sqlite3.Connection, path: str, key: str, view: View) -> None:
    row = connection.execute("SELECT number FROM heads WHERE key = ?", (key,)).fetchone()
    found = row[0] if row is not None else None
    expected = view.head.number if view.head is not None else None
    if found != expected or view.blocked:
        raise HeadMovedError(path)
    # A folder above that was moved or deleted since the look took the place of this path with it.
    removals = connection.execute(
        "SELECT coalesce(old_key, key), state FROM records WHERE number > ?"
        " AND operation IN ('delete_directory', 'move_directory')",
        (view.position,),
    )
    if any(key.startswith(f"{folder}/") and state != RecordState.ABORTED for folder, state in removals):
        raise HeadMovedError(path)


def _has_pending_below(connection: sqlite3.Connection, key: str) -> bool:
    pending = connection.execute("SELECT key, old_key FROM records WHERE state = 'pending'")
    prefix = f"{key}/"
    return any(found.startswith(prefix) or (old or "").startswith(prefix) for found, old in pending)


def _settle_contents(connection: sqlite3.Connection, change: Change, number: int) -> None:
    if change.after is None:
        return
    if change.content is not None:
        keep(connection, change.after, change.content, number)
    else:
        touch(connection, change.after, number)


def _move_heads(connection: sqlite3.Connection, change: Change, number: int) -> None:
    if change.compensates is not None:
        _abort(connection, change.compensates)
    if change.operation in DIRECTORY_REMOVALS:
        _move_heads_below(connection, change)
    if change.operation in _FOLDER_OPERATIONS or change.aside:
        return
    digest = None if change.after is None else bytes.fromhex(change.after[7:])
    applied = int(change.applied)
    connection.execute(UPSERT_HEAD, (change.key, change.path, digest, change.size, change.mode, number, applied))
    if change.old_key is not None and change.old_key != change.key:
        connection.execute(UPSERT_HEAD, (change.old_key, change.old_path, None, None, None, number, applied))


def _abort(connection: sqlite3.Connection, number: int) -> None:
    # Foreign changes and new parents that were recorded along with it have happened all the same.
    connection.execute(
        "UPDATE records SET state = 'aborted' WHERE number = ?1 OR (batch = (SELECT coalesce(batch, number) FROM records"
        " WHERE number = ?1) AND number >= ?1 - 1 AND actor_kind != 'external' AND operation != 'create_directory')",
        (number,),
    )


def _move_heads_below(connection: sqlite3.Connection, change: Change) -> None:
    source = change.old_key if change.operation is Operation.MOVE_DIRECTORY else change.key
    assert source is not None
    below = (f"{source}/", f"{source}0")  # "0" is the character after "/"
    if change.operation is Operation.MOVE_DIRECTORY:
        assert change.old_path is not None
        connection.execute(
            "UPDATE OR REPLACE heads SET key = ? || substr(key, ?), path = ? || substr(path, ?)"
            " WHERE key >= ? AND key < ?",
            (change.key, len(source) + 1, change.path, len(change.old_path) + 1, *below),
        )
    else:
        connection.execute("DELETE FROM heads WHERE key >= ? AND key < ?", below)


def _owe(connection: sqlite3.Connection, change: Change, number: int, mirrors: Sequence[str]) -> None:
    if change.operation is Operation.FOUND or change.aside:
        return
    for mirror in mirrors:
        for key, path in ((change.key, change.path), (change.old_key, change.old_path)):
            if key is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO debts (mirror, key, path, number) VALUES (?, ?, ?, ?)",
                    (mirror, key, path, number),
                )
