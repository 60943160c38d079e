"""What one commit does inside a write transaction: records, heads, contents, open documents.

An open document is compared before the first statement that changes anything, so that several commits can share one
transaction and a refused one leaves no trace in it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence, Set
from typing import Any, Final

from msgspec import Struct, field, structs

from filetools.journal.birth import NEWEST
from filetools.journal.changes import DIRECTORY_REMOVALS, Change, HeadMovedError, NumberedChange, Relation
from filetools.journal.contents import Contents, digest_of
from filetools.journal.documents import apply_to_document, is_at
from filetools.journal.folders import (
    PUT_HEAD,
    move_document,
    move_documents_below,
    move_file,
    move_folder,
    put_folder,
    put_gone,
    return_document,
    return_folder,
    take_away_folder,
)
from filetools.journal.history import discount, refresh_undone, targets_between
from filetools.journal.rows import INSERT_RECORD, NEVER_IN_FILE, record_of, record_row
from filetools.models.records import EXTERNAL, WITHOUT_BYTES, Actor, ChangeRecord, Operation

_TAKING_AWAY: Final = (Operation.DELETE, Operation.MOVE, *DIRECTORY_REMOVALS)
_ARRIVALS: Final = (Operation.CREATE, Operation.MOVE)
_HEADLESS: Final = (*DIRECTORY_REMOVALS, Operation.CREATE_DIRECTORY, *WITHOUT_BYTES)
_STANDS_ON_UNSYNCED: Final = (
    "SELECT 1 FROM heads JOIN records ON records.number = heads.number WHERE heads.key IN (?, ?) AND records.synced = 0"
)
_UNSYNCED_KEYS: Final = "SELECT key, coalesce(old_key, key) FROM records INDEXED BY records_open WHERE synced = 0"
_REVERSALS: Final = ("undoes", "redoes")
_RELATE: Final = "INSERT OR IGNORE INTO relations (number, kind, target) VALUES (?, ?, ?)"
_ABORT: Final = (
    "UPDATE records SET state = 'aborted' WHERE number = ? AND state != 'aborted'"
    " RETURNING operation, key, batch, old_key, old_path"
)


class CommitDraft(Struct, frozen=True, kw_only=True):
    """Everything one caller wants recorded together."""

    changes: Sequence[Change]
    actor: Actor

    @property
    def makes_room(self) -> bool:
        """Whether it takes files away or elsewhere, so that it must be possible on a full disk."""
        own = [change for change in self.changes if not change.external]
        return bool(own) and all(change.operation in _TAKING_AWAY or change.compensates is not None for change in own)


class Recorder:
    """Records drafts for one opening of a journal. Lives as long as the journal; works behind the gate only."""

    def __init__(self, contents: Contents, opening: int) -> None:
        self._contents = contents
        self._opening = opening

    def record(self, connection: sqlite3.Connection, draft: CommitDraft) -> tuple[ChangeRecord, ...] | Exception:
        """Record one draft; returns the refusal if an open document has moved on since it was looked at."""
        for change in draft.changes:
            if change.document is not None and not is_at(connection, change.document):
                return HeadMovedError(change.path)
        work = _work(connection, draft.actor, draft.changes)
        records = [self._record_one(work, change, _synced(connection, change)) for change in draft.changes]
        work.related |= _set_back(connection, draft.changes)
        if work.related:
            refresh_undone(connection, work.related)
        return tuple(records)

    def record_observed(
        self, connection: sqlite3.Connection, found: Sequence[NumberedChange], unseen: Set[int]
    ) -> tuple[ChangeRecord, ...]:
        """Record what an observation found, of which the rows of the tree tell already.

        Args:
            connection: The one that writes.
            found: With the numbers that their records get.
            unseen: Numbers of those of folders that went with files that nobody had read.
        """
        if not found:
            return ()
        work = _work(connection, EXTERNAL, [])
        unsynced = {key for pair in connection.execute(_UNSYNCED_KEYS) for key in pair}
        made = []
        for number, change in found:
            if number in unseen:
                change = structs.replace(change, before_unknown=True)
            is_move = change.operation is Operation.MOVE_DIRECTORY
            synced = int(not is_move and unsynced.isdisjoint((change.key, change.old_key)))
            made.append(self._record_one(work, change, synced, number))
        return tuple(made)

    def _record_one(self, work: _Work, change: Change, synced: int, number: int | None = None) -> ChangeRecord:
        """Record a change; it has a number if the rows of the tree tell of it already."""
        connection, is_told = work.connection, number is not None
        row = record_row(change, work.actor, now=work.now, batch=work.batch, opening=self._opening, synced=synced)
        number = connection.execute(INSERT_RECORD, (number, *row)).lastrowid
        assert number is not None
        if change.before is not None:
            self._contents.replaced(connection, [(change.before, number)])
        if change.after is not None:
            self._contents.record(connection, change.content, change.after, number)
        if not is_told:
            _move_heads(connection, change, number)
        _move_documents(connection, change)
        if change.document is not None:
            apply_to_document(connection, change.document, work.actor, number)
        for relation in _relations(change, work.on_the_way):
            connection.execute(_RELATE, (number, relation.kind, relation.number))
            work.related.add(relation.number)
        return record_of(change, work.actor, now=work.now, batch=work.batch, number=number)


class _Work(Struct, kw_only=True):
    """One draft while it is recorded."""

    connection: sqlite3.Connection
    actor: Actor
    now: float
    batch: int | None
    on_the_way: tuple[Relation, ...]
    related: set[int] = field(default_factory=set)
    """Records that changes of the draft take back, or stop taking back."""


def _work(connection: sqlite3.Connection, actor: Actor, changes: Sequence[Change]) -> _Work:
    return _Work(
        connection=connection,
        actor=actor,
        now=time.time(),
        batch=next_number(connection) if len(changes) > 1 else None,
        on_the_way=_takes_back(changes),
    )


def _takes_back(changes: Sequence[Change]) -> tuple[Relation, ...]:
    """Return one relation of a commit that takes something back, for what is changed on the way."""
    found = (relation for change in changes for relation in change.relations if relation.kind in _REVERSALS)
    return tuple(relation for relation in [next(found, None)] if relation is not None)


def _relations(change: Change, on_the_way: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """Return the relations of a record: folders that an undo makes, and further names of a file, are part of the undo."""
    if change.external or change.aside or any(relation.kind in _REVERSALS for relation in change.relations):
        return change.relations
    return (*change.relations, *on_the_way)


def _set_back(connection: sqlite3.Connection, changes: Sequence[Change]) -> set[int]:
    """Have what stays of commits that are set back take nothing back; returns what they took back."""
    related: set[int] = set()
    for number in [change.compensates for change in changes if change.compensates is not None]:
        row = connection.execute("SELECT coalesce(batch, number) FROM records WHERE number = ?", (number,)).fetchone()
        if row is not None:
            related |= targets_between(connection, row[0], number)
            discount(connection, row[0], number)
    return related


def _synced(connection: sqlite3.Connection, change: Change) -> int:
    if change.aside or change.buffered:
        return NEVER_IN_FILE
    if change.operation in WITHOUT_BYTES:
        return 1  # its step syncs what it makes
    if not change.external or change.compensates is not None or change.operation is Operation.MOVE_DIRECTORY:
        return 0
    # What a foreign program wrote is as durable as that program made it; there is no promise of ours to sync for. But on
    # top of what is not synced, the file may come back in a state from before both.
    return int(connection.execute(_STANDS_ON_UNSYNCED, (change.key, change.old_key)).fetchone() is None)


def next_number(connection: sqlite3.Connection) -> int:
    """Return the number that the next record gets."""
    (newest,) = connection.execute(NEWEST).fetchone()
    return int(newest) + 1


def _move_heads(connection: sqlite3.Connection, change: Change, number: int) -> None:
    if change.compensates is not None:
        _abort(connection, change.compensates)
    if change.operation is Operation.MOVE_DIRECTORY:
        move_folder(connection, change)
    elif change.operation is Operation.CREATE_DIRECTORY:
        if change.compensates is not None:
            return_folder(connection, change.compensates)
        put_folder(connection, change.key, change.path, is_new=change.compensates is None)
    elif change.operation is Operation.DELETE_DIRECTORY:
        take_away_folder(connection, change.key, number)
    if change.operation in _HEADLESS or change.aside or change.buffered:
        return
    if change.old_key is not None and change.old_key != change.key:
        move_file(connection, change.old_key, change.key, change.path)
    if change.after is None and change.operation in _ARRIVALS:
        # What stands there has bytes that nobody knows: the next look finds it as one that was never recorded.
        connection.execute("DELETE FROM tree WHERE key = ? AND kind IN ('file', 'absent')", (change.key,))
    else:
        connection.execute(PUT_HEAD, _head_of(change, number))
    if change.old_key is not None and change.old_path is not None and change.old_key != change.key:
        put_gone(connection, change.old_key, change.old_path, number, int(change.applied))


def _move_documents(connection: sqlite3.Connection, change: Change) -> None:
    if change.returning is not None:
        return_document(connection, change)
    if change.operation is Operation.MOVE_DIRECTORY:
        move_documents_below(connection, change)
    elif change.old_key is not None:
        move_document(connection, change)


def _head_of(change: Change, number: int) -> tuple[Any, ...]:
    """Return the values of `PUT_HEAD` for the head that a change makes."""
    digest = None if change.after is None else digest_of(change.after)
    mode = None if digest is None else change.mode  # of what went, the record has it
    folder = change.key.rpartition("/")[0]
    return (change.key, folder, change.path, digest, change.size, mode, number, int(change.applied))


def _abort(connection: sqlite3.Connection, number: int) -> None:
    """Mark a record as set back, and with it what its commit had still to do at the same path, as before a move over it.

    Foreign changes that were recorded along with it have happened all the same; new parents are set back one by one.
    """
    row = connection.execute(_ABORT, (number,)).fetchone()
    if row is None:
        return
    operation, key, batch, old_key, old_path = row
    if operation == Operation.MOVE:
        move_file(connection, key, old_key, old_path)  # it is the same file again
    if batch is not None:
        connection.execute(
            "UPDATE records SET state = 'aborted' WHERE key = ? AND number BETWEEN ? AND ? AND state = 'pending'",
            (key, batch, number),
        )
