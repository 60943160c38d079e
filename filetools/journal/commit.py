"""Records one commit inside a write transaction: records, heads, contents, open documents.

Versions of open documents are compared before the first statement that changes anything, so that several commits can share
one transaction and a refused one leaves no trace in it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from typing import Final

from msgspec import Struct

from filetools.journal.documents import apply_to_document, is_at
from filetools.journal.records import (
    DISCOUNT,
    INSERT_RECORD,
    NEVER_IN_FILE,
    REVERSALS,
    Change,
    Relation,
    record_from,
    record_row,
    refresh_undone,
    targets_between,
)
from filetools.journal.storage.contents import Contents, digest_of, version_from
from filetools.journal.storage.database import Connection
from filetools.journal.storage.schema import NEWEST
from filetools.journal.tree_rows import (
    PUT_HEAD,
    TREE_COLUMNS,
    bounds_below,
    folder_of,
    move_folder,
    moved_name,
    put_folder,
    put_gone,
    take_away,
)
from filetools.models.records import DIRECTORY_REMOVALS, EXTERNAL, WITHOUT_BYTES, Actor, ChangeRecord, Operation

_TAKING_AWAY: Final = (Operation.DELETE, Operation.MOVE, *DIRECTORY_REMOVALS)
_HEADLESS: Final = (*DIRECTORY_REMOVALS, Operation.CREATE_DIRECTORY, *WITHOUT_BYTES)
_ABORT: Final = (
    "UPDATE records SET state = 'aborted' WHERE number = ? AND state != 'aborted'"
    " RETURNING operation, key, batch, old_key, old_path"
)
_FREE: Final = (
    "DELETE FROM tree WHERE kind = 'absent' AND key IN (SELECT key FROM tree_aside WHERE deletion = ?1) AND number IN"
    " (0, (SELECT number FROM tree_aside AS former WHERE deletion = ?1 AND former.key = tree.key))"
)
_MOVE_DOCUMENT: Final = "UPDATE OR IGNORE documents SET key = ?, path = ? WHERE {} = ?"


class HeadMovedError(Exception):
    """Raised with a path if something, such as its open document, has changed since it was read: read it again.

    Nothing was recorded.
    """


class CommitDraft(Struct, frozen=True, kw_only=True):
    """Changes that one caller records together."""

    changes: Sequence[Change]
    actor: Actor

    @property
    def makes_room(self) -> bool:
        """True if its own changes only delete, move or set back; these must be possible on a full disk."""
        own = [change for change in self.changes if not change.external]
        return bool(own) and all(change.operation in _TAKING_AWAY or change.compensates is not None for change in own)


class Recorder:
    """Records drafts for one opening of a journal; call it behind the gate only."""

    def __init__(self, contents: Contents, opening: int) -> None:
        self._contents = contents
        self._opening = opening

    def record(self, connection: Connection, draft: CommitDraft) -> tuple[ChangeRecord, ...] | Exception:
        """Record one draft; returns `HeadMovedError` if an open document has changed since it was read."""
        for change in draft.changes:
            if change.document is not None and not is_at(connection, change.document):
                return HeadMovedError(change.path)
        now, is_alone = time.time(), len(draft.changes) == 1
        batch = None if is_alone else connection.execute(f"SELECT ({NEWEST}) + 1").fetchone()[0]
        reversal = [each for change in draft.changes for each in change.relations if each.kind in REVERSALS][:1]
        records = list[ChangeRecord]()
        related = set[int]()
        unsynced = _unsynced_keys(connection) if any(change.external for change in draft.changes) else set[str]()
        for change in draft.changes:
            record = self.insert(connection, change, draft.actor, now, batch, unsynced)
            if not change.external:
                unsynced.update((change.key, change.old_key or change.key))
            _move_heads(connection, change, record.number)
            if change.document is not None:
                apply_to_document(connection, change.document, draft.actor, record.number)
            for relation in _relations(change, reversal):
                connection.execute(
                    "INSERT OR IGNORE INTO relations (number, kind, target) VALUES (?, ?, ?)",
                    (record.number, relation.kind, relation.number),
                )
                related.add(relation.number)
            records.append(record)
        related |= _set_back(connection, draft.changes)
        if related:
            refresh_undone(connection, related)
        return tuple(records)

    def insert(
        self,
        connection: Connection,
        change: Change,
        actor: Actor,
        now: float,
        batch: int | None,
        unsynced: Set[str],
    ) -> ChangeRecord:
        """Insert the record of a change, with its contents, and move open documents and the rows of a whole folder."""
        synced = _synced(change, unsynced)
        row = record_row(change, actor, now=now, batch=batch, opening=self._opening, synced=synced)
        (number,) = connection.execute(INSERT_RECORD, (None, *row)).fetchone()
        self._contents.record(connection, number, before=change.before, after=change.after, content=change.content)
        _move_documents(connection, change)
        if change.operation is Operation.MOVE_DIRECTORY and change.old_key is not None and change.old_path is not None:
            move_folder(connection, (change.old_key, change.old_path), (change.key, change.path))
        elif change.operation is Operation.DELETE_DIRECTORY:
            take_away(connection, change.key, number)
        return record_from((number, *row[:-1]))


class ObservedChanges:
    """Records changes by other programs. Used in one transaction, before the rows show the change.

    Only the rows of a moved or removed folder, and of what was below it, follow by themselves.
    """

    def __init__(self, recorder: Recorder, connection: Connection) -> None:
        self.records: list[ChangeRecord] = []
        """The records made, in their order."""
        self._recorder, self._connection = recorder, connection
        self._now, self._unsynced = time.time(), _unsynced_keys(connection)

    def add(
        self,
        operation: Operation,
        path: str,
        key: str,
        *,
        old: tuple[str, str] | None = None,
        before: bytes | None = None,
        after: bytes | None = None,
        size: int | None = None,
        mode: int | None = None,
        is_link: bool = False,
    ) -> int:
        """Record a change.

        Args:
            operation: What happened.
            path: After the change.
            key: Of the path.
            old: Path and key before a move.
            before: Hash of the bytes before; None if there were none, or they were never read.
            after: Hash of the bytes after.
            size: In bytes, after the change.
            mode: Permission bits after the change; before a removal.
            is_link: True if the entry is a link; changes of links have no records.

        Returns:
            The number of its record; 0 if it has none.
        """
        if is_link or operation is Operation.LINK:
            return 0
        old_path, old_key = old or (None, None)
        if operation is Operation.DELETE_DIRECTORY:
            unread = "SELECT 1 FROM tree WHERE key >= ? AND key < ? AND kind = 'file' AND version IS NULL LIMIT 1"
            is_unknown = self._connection.execute(unread, bounds_below(key)).fetchone() is not None
        else:
            is_unknown = before is None and operation in (Operation.MODIFY, Operation.DELETE)
        change = Change(
            operation=operation, path=path, key=key, old_path=old_path, old_key=old_key, before=version_from(before),
            before_unknown=is_unknown, after=version_from(after), size=size, mode=mode, applied=True, external=True,
        )  # fmt: skip
        self.records.append(self._recorder.insert(self._connection, change, EXTERNAL, self._now, None, self._unsynced))
        return self.records[-1].number


def _relations(change: Change, reversal: Sequence[Relation]) -> Sequence[Relation]:
    """Return the relations of a record: folders that an undo creates, and further names of a file, are part of the undo."""
    if change.external or change.aside or any(relation.kind in REVERSALS for relation in change.relations):
        return change.relations
    return (*change.relations, *reversal)


def _set_back(connection: Connection, changes: Sequence[Change]) -> set[int]:
    """Make the remaining records of set-back commits undo nothing; returns the records that they undid."""
    related: set[int] = set()
    numbers = [(change.compensates,) for change in changes if change.compensates is not None]
    batch = "SELECT coalesce(batch, number), number FROM records WHERE number = ?"
    for first, last in [row for number in numbers for row in connection.execute(batch, number)]:
        related |= targets_between(connection, first, last)
        connection.execute(DISCOUNT, (first, last))
    return related


def _unsynced_keys(connection: Connection) -> set[str]:
    query = "SELECT key, coalesce(old_key, key) FROM records INDEXED BY records_open WHERE synced = 0"
    return {key for pair in connection.execute(query) for key in pair}


def _synced(change: Change, unsynced: Set[str]) -> int:
    """Return the first value of `synced` of a record; `unsynced` are the keys of unsynced records."""
    if change.aside or change.buffered:
        return NEVER_IN_FILE
    if change.operation in WITHOUT_BYTES:
        return 1  # its step syncs what it makes
    if not change.external or change.compensates is not None or change.operation is Operation.MOVE_DIRECTORY:
        return 0
    # A foreign program's write is as durable as that program made it, and need not be synced here. But if it follows an
    # unsynced change, a power cut may bring back the file from before both.
    return int(unsynced.isdisjoint((change.key, change.old_key)))


def _move_heads(connection: Connection, change: Change, number: int) -> None:
    if change.compensates is not None:
        _abort(connection, change.compensates)
    if change.operation is Operation.CREATE_DIRECTORY:
        if change.compensates is not None:  # the deletion is set back
            connection.execute(_FREE, (change.compensates,))
            connection.execute(
                f"INSERT OR IGNORE INTO tree SELECT {TREE_COLUMNS} FROM tree_aside WHERE deletion = ?",
                (change.compensates,),
            )
        put_folder(connection, change.key, change.path, is_new=change.compensates is None)
    if change.operation in _HEADLESS or change.aside or change.buffered:
        return
    if change.old_key is not None and change.old_key != change.key:
        _move_file(connection, change.old_key, change.key, change.path)
    if change.after is None and change.operation in (Operation.CREATE, Operation.MOVE):
        # The bytes of this file are unknown: the next look finds it as a file that was never recorded.
        connection.execute("DELETE FROM tree WHERE key = ? AND kind IN ('file', 'absent')", (change.key,))
    else:
        folder, digest = folder_of(change.key), None if change.after is None else digest_of(change.after)
        mode = None if digest is None else change.mode  # for a removed file, only the record has it
        head = (change.key, folder, change.path, digest, change.size, mode, number, int(change.applied))
        connection.execute(PUT_HEAD, head)
    if change.old_key is not None and change.old_path is not None and change.old_key != change.key:
        put_gone(connection, change.old_key, change.old_path, number, int(change.applied))


def _move_documents(connection: Connection, change: Change) -> None:
    """Move open documents along with their files, unless another one is open at the new path."""
    here = (change.key, change.path)
    if change.returning is not None:
        connection.execute(_MOVE_DOCUMENT.format("id"), (*here, change.returning))
    if change.operation is Operation.MOVE_DIRECTORY and change.old_key is not None:
        below = "SELECT id, key, path FROM documents WHERE key >= ? AND key < ?"
        rows = connection.execute(below, bounds_below(change.old_key)).fetchall()
        moved = [(*moved_name(change.old_key, here, key, path), document_id) for document_id, key, path in rows]
        connection.executemany(_MOVE_DOCUMENT.format("id"), moved)
    elif change.old_key is not None:
        connection.execute(_MOVE_DOCUMENT.format("key"), (*here, change.old_key))


def _abort(connection: Connection, number: int) -> None:
    """Mark a record as set back, with its commit's other pending records of the path, such as one before a move onto it.

    Foreign changes recorded in the same commit did happen and are kept; new parents are set back one by one.
    """
    row = connection.execute(_ABORT, (number,)).fetchone()
    if row is None:
        return
    operation, key, batch, old_key, old_path = row
    if operation == Operation.MOVE:
        _move_file(connection, key, old_key, old_path)  # so that it keeps its file id
    if batch is not None:
        connection.execute(
            "UPDATE records SET state = 'aborted' WHERE key = ? AND number BETWEEN ? AND ? AND state = 'pending'",
            (key, batch, number),
        )


def _move_file(connection: Connection, old_key: str | None, key: str, path: str) -> None:
    """Rename the row of a moved file, replacing the row at its new name."""
    connection.execute(
        "UPDATE OR REPLACE tree SET key = ?, folder = ?, path = ? WHERE key = ?", (key, folder_of(key), path, old_key)
    )
