"""What one commit does inside a write transaction: compare every view with the heads, then record.

All comparisons come before the first statement that changes anything, so that several commits can share one
transaction and a refused one leaves no trace in it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from filetools.journal.changes import DIRECTORY_REMOVALS, Change, HeadMovedError, View
from filetools.journal.contents import SqliteContents, digest_of
from filetools.journal.document_rows import apply_to_document, is_at
from filetools.journal.folders import (
    forget_heads_below,
    is_at_work_below,
    move_document,
    move_documents_below,
    move_heads_below,
    return_document,
)
from filetools.journal.rows import INSERT_RECORD, UPSERT_HEAD, record_of, record_row
from filetools.models import Actor, ChangeRecord, Operation

_HEADLESS: Final = (*DIRECTORY_REMOVALS, Operation.CREATE_DIRECTORY)
_COMPARE: Final = (
    "SELECT (SELECT number FROM heads WHERE key = ?1), (SELECT max(number) FROM records INDEXED BY records_of_folders"
    " WHERE operation IN ('delete_directory', 'move_directory')), documents.id, documents.version"
    " FROM (SELECT 1) LEFT JOIN documents ON documents.key = ?1"
)
_REMOVALS_SINCE: Final = (
    "SELECT key, old_key FROM records INDEXED BY records_of_folders WHERE number > ? AND state != 'aborted'"
    " AND operation IN ('delete_directory', 'move_directory')"
)
_RELATE: Final = "INSERT OR IGNORE INTO relations (number, kind, target) VALUES (?, ?, ?)"
_OWE: Final = "INSERT OR REPLACE INTO debts (mirror, key, path, number) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Everything one caller wants recorded together."""

    changes: Sequence[Change]
    actor: Actor
    mirrors: Sequence[str]


class Recorder:
    """Records drafts for one opening of a journal. Lives as long as the journal; works behind the gate only."""

    def __init__(self, contents: SqliteContents, opening: int) -> None:
        self._contents = contents
        self._opening = opening

    def record(self, connection: sqlite3.Connection, draft: Draft) -> tuple[ChangeRecord, ...]:
        """Compare and record one draft.

        Raises:
            HeadMovedError: A view does not hold any more; nothing was changed.
        """
        for change in draft.changes:
            _compare(connection, change)
        now = time.time()
        batch = _next_number(connection) if len(draft.changes) > 1 else None
        records = []
        for change in draft.changes:
            row = record_row(change, draft.actor, now=now, batch=batch, opening=self._opening)
            number = connection.execute(INSERT_RECORD, row).lastrowid
            assert number is not None
            if change.after is not None:
                self._contents.record(connection, change.content, change.after, number)
            _move_heads(connection, change, number)
            if change.document is not None:
                apply_to_document(connection, change.document, draft.actor, number)
            for relation in change.relations:
                connection.execute(_RELATE, (number, relation.kind, relation.number))
            if draft.mirrors:
                _owe(connection, change, number, draft.mirrors)
            records.append(record_of(change, draft.actor, now=now, batch=batch, number=number))
        return tuple(records)


def _compare(connection: sqlite3.Connection, change: Change) -> None:
    if change.view is not None:
        _compare_view(connection, change.path, change.key, change.view)
    if change.old_view is not None and change.old_key is not None:
        _compare_view(connection, change.path, change.old_key, change.old_view)
    if change.document is not None and not is_at(connection, change.document):
        raise HeadMovedError(change.path)
    if change.operation in DIRECTORY_REMOVALS and change.compensates is None and is_at_work_below(connection, change):
        raise HeadMovedError(change.path)


def _compare_view(connection: sqlite3.Connection, path: str, key: str, view: View) -> None:
    found, newest_removal, *opened = connection.execute(_COMPARE, (key,)).fetchone()
    expected = view.head.number if view.head is not None else None
    document = [None, None] if view.document is None else [view.document.id, view.document.version]
    if found != expected or view.blocked or opened != document:
        raise HeadMovedError(path)
    if newest_removal is None or newest_removal <= view.position:
        return
    # A folder that was moved or deleted since the look took the place of the paths below it with it; and what stands
    # below the new name of a moved one is not what was looked at.
    for ends in connection.execute(_REMOVALS_SINCE, (view.position,)).fetchall():
        if any(end is not None and key.startswith(f"{end}/") for end in ends):
            raise HeadMovedError(path)


def _next_number(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'records'").fetchone()
    return 1 if row is None else int(row[0]) + 1


def _move_heads(connection: sqlite3.Connection, change: Change, number: int) -> None:
    if change.compensates is not None:
        _abort(connection, change.compensates)
    if change.returning is not None:
        return_document(connection, change)
    if change.operation is Operation.MOVE_DIRECTORY:
        move_heads_below(connection, change)
        move_documents_below(connection, change)
    elif change.operation is Operation.DELETE_DIRECTORY:
        forget_heads_below(connection, change.key)
    if change.operation in _HEADLESS or change.aside or change.buffered:
        return
    digest = None if change.after is None else digest_of(change.after)
    applied = int(change.applied)
    connection.execute(UPSERT_HEAD, (change.key, change.path, digest, change.size, change.mode, number, applied))
    if change.old_key is not None:
        move_document(connection, change)
    if change.old_key is not None and change.old_key != change.key:
        connection.execute(UPSERT_HEAD, (change.old_key, change.old_path, None, None, None, number, applied))


def _abort(connection: sqlite3.Connection, number: int) -> None:
    """Mark a record as set back, and with it what its commit had still to do at the same path, as before a move over it.

    Foreign changes and new parents that were recorded along with it have happened all the same.
    """
    row = connection.execute("SELECT key, batch FROM records WHERE number = ?", (number,)).fetchone()
    if row is None:
        return
    key, batch = row
    connection.execute("UPDATE records SET state = 'aborted' WHERE number = ?", (number,))
    if batch is not None:
        connection.execute(
            "UPDATE records SET state = 'aborted' WHERE key = ? AND number BETWEEN ? AND ? AND state = 'pending'",
            (key, batch, number),
        )


def _owe(connection: sqlite3.Connection, change: Change, number: int, mirrors: Sequence[str]) -> None:
    if change.operation is Operation.FOUND or change.aside or change.buffered:
        return
    for mirror in mirrors:
        connection.execute(_OWE, (mirror, change.key, change.path, number))
        if change.old_key is not None:
            connection.execute(_OWE, (mirror, change.old_key, change.old_path, number))
