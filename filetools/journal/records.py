"""Drafts of records, records as rows of the database, and which of them are applied to the files, and synced there.

A checksum protects the values of a record that never change. Marks are never synced on their own, because recovery can
determine a lost one again.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct

from filetools.errors import StateDamagedError
from filetools.journal.documents import DocumentChange, DocumentClosing
from filetools.journal.storage.contents import digest_of, version_from
from filetools.journal.storage.database import Arguments, Database, slices
from filetools.journal.storage.schema import IS_PENDING, IS_UNSYNCED
from filetools.journal.tree_rows import Identity
from filetools.models.records import EXTERNAL, Actor, ChangeRecord, Operation, RecordState

RelationKind = Literal["undoes", "redoes", "brings", "parent"]


class Relation(Struct, frozen=True, kw_only=True):
    """Relation of a record to an older one."""

    kind: RelationKind
    """"undoes": it undoes the other. "redoes": it undoes the other, which is an undo. "brings": it is part of a folder that
    was restored as a whole from the trash, where the other, a deletion, had moved it. "parent": it saves a document that
    the other had changed."""
    number: int
    """Number of the older record."""


class Change(Struct, frozen=True, kw_only=True):
    """Draft of one record. Several drafts in one commit are all recorded or none."""

    operation: Operation
    path: str
    key: str
    """Lock key of `path`."""
    old_path: str | None = None
    old_key: str | None = None
    before: str | None = None
    before_unknown: bool = False
    after: str | None = None
    content: bytes | None = None
    """Bytes of `after` for the content store, unless it keeps them already."""
    size: int | None = None
    mode: int | None = None
    applied: bool = False
    """True if the file already has this content, as with a foreign change."""
    external: bool = False
    """True to attribute it to the external actor instead of the committing one."""
    aside: bool = False
    """True to keep it as a version of the path that was never the head, such as foreign bytes found in a mirror."""
    compensates: int | None = None
    """Number of the pending record that this one sets back; that record becomes `aborted`."""
    relations: tuple[Relation, ...] = ()
    """Older records that this one undoes or builds on."""
    buffered: bool = False
    """True if it changed only an unsaved document: recorded in state `buffer`, without becoming the head."""
    document: DocumentChange | DocumentClosing | None = None
    """Change or closing of the path's open document in the same transaction."""
    returning: str | None = None
    """Id of the open document that returns to the path because the move that took it along is set back."""


# The columns after the checksum, which covers them, never change.
RECORD_COLUMNS: Final = (
    "number, state, checksum, operation, path, key, old_path, old_key, before, before_unknown, after, size, mode,"
    " actor_kind, actor_id, session, call, time, batch, opening"
)
INSERT_RECORD: Final = (
    f"INSERT INTO records ({RECORD_COLUMNS}, synced) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
SELECT_RECORD: Final = f"SELECT {RECORD_COLUMNS} FROM records"
NEVER_IN_FILE: Final = 2
"""Value of `synced` for versions kept aside: nothing to sync, and no statement on how durable the file itself is."""


def record_row(
    change: Change, actor: Actor, *, now: float, batch: int | None, opening: int, synced: int
) -> tuple[Any, ...]:
    """Return the values of `INSERT_RECORD` for one change, after its number."""
    who = EXTERNAL if change.external else actor
    before, after = (None if version is None else digest_of(version) for version in (change.before, change.after))
    fixed = (
        change.operation.value, change.path, change.key, change.old_path, change.old_key, before,
        int(change.before_unknown), after, change.size, change.mode, who.kind, who.id, who.session, who.call, now, batch,
        opening,
    )  # fmt: skip
    state = _state_of(change)
    return (state.value, checksum(fixed), *fixed, 0 if state is RecordState.PENDING else synced)


def _state_of(change: Change) -> RecordState:
    if change.compensates is not None or change.aside:
        return RecordState.ABORTED
    if change.buffered:
        return RecordState.BUFFER
    return RecordState.APPLIED if change.applied else RecordState.PENDING


def checksum(fixed: tuple[Any, ...]) -> int:
    """Return the CRC-32 of a record's unchanging values."""
    return zlib.crc32(repr(fixed).encode("utf-8", "backslashreplace"))


def record_from(row: tuple[Any, ...]) -> ChangeRecord:
    """Return the record of a `SELECT_RECORD` row.

    Raises:
        StateDamagedError: Its values do not match its checksum, or one of them is invalid.
    """
    number, state, expected, *fixed = row
    if checksum(tuple(fixed)) != expected:
        raise StateDamagedError(f"record {number} does not match its checksum")
    operation, path, _, old_path, _, before, is_unknown, after, size, mode, kind, name, session, call, at, batch, _ = (
        fixed
    )
    try:
        return ChangeRecord(
            number=number,
            operation=Operation(operation),
            path=path,
            old_path=old_path,
            before=version_from(before),
            before_unknown=bool(is_unknown),
            after=version_from(after),
            size=size,
            mode=mode,
            actor=Actor(kind=kind, id=name, session=session, call=call),
            time=at,
            state=RecordState(state),
            transaction=batch,
        )
    except ValueError as exc:
        raise StateDamagedError(f"record {number} holds what no record may: {exc}") from exc


def records_from(database: Database, query: str, arguments: Arguments = ()) -> list[ChangeRecord]:
    """Return the records of a query for `RECORD_COLUMNS`.

    Raises:
        StateDamagedError: One of them is damaged.
    """
    return [record_from(row) for row in database.rows(query, arguments)]


# -- marks

Unfinished = Literal["pending", "unsynced", "unrestored"]
_UNFINISHED: Final[Mapping[Unfinished, str]] = {
    "pending": f"INDEXED BY records_open WHERE {IS_PENDING}",
    "unsynced": f"INDEXED BY records_open WHERE {IS_UNSYNCED} AND number NOT IN (SELECT number FROM unrestored)",
    "unrestored": "WHERE number IN (SELECT number FROM unrestored)",
}
_CARRY_HEAD: Final = (
    "UPDATE tree SET applied = 1 WHERE key = ? AND NOT EXISTS"
    " (SELECT 1 FROM records WHERE records.number = tree.number AND state = 'pending')"
)
_LAST_SYNCED: Final = (
    "SELECT number FROM records WHERE key = ?1 AND synced = 1 AND state != 'pending' ORDER BY number DESC LIMIT 1"
)
_UNSETTLED: Final = (
    f"SELECT {RECORD_COLUMNS} FROM records WHERE key = ?1 AND number >= coalesce(({_LAST_SYNCED}), 0)"
    f" UNION ALL SELECT {RECORD_COLUMNS} FROM records"
    f" WHERE old_key = ?1 AND key != ?1 AND number >= coalesce(({_LAST_SYNCED}), 0)"
    " ORDER BY number DESC LIMIT 1000"
)
_APPLY: Final = (
    # The steps that make links and change modes sync what they do.
    "UPDATE records SET state = 'applied', synced = max(synced, operation IN ('link', 'modify_directory'))"
    " WHERE number = ? AND state = 'pending' RETURNING key, old_key"
)
_IDENTIFY: Final = (
    "UPDATE tree SET device = ?, inode = ?, size = ?, mtime = ?, ctime = ?"
    " WHERE key = ? AND kind = 'file' AND applied = 1"
)
_APPLY_HEAD: Final = "UPDATE tree SET applied = 1 WHERE key = ? AND number = ?"


class Marks:
    """Marks of an embedded journal."""

    def __init__(self, database: Database, on_visible: Callable[[], None]) -> None:
        self._database = database
        self._on_visible = on_visible

    def applied(self, numbers: Iterable[int], identities: Mapping[str, Identity] = MappingProxyType({})) -> None:
        """Mark records as applied, except those that are already marked.

        Args:
            numbers: Numbers of the records.
            identities: Identities of their files on disk, by key.
        """
        several = [(number,) for number in numbers]

        def work(connection: sqlite3.Connection) -> None:
            for number in several:
                for keys in connection.execute(_APPLY, number).fetchall():
                    connection.executemany(_APPLY_HEAD, [(key, *number) for key in keys if key is not None])
            connection.executemany(_IDENTIFY, [(*identity, key) for key, identity in identities.items()])

        if several:
            self._database.write(work, durable=False, may_use_reserve=True)
            self._on_visible()

    def synced(self, numbers: Iterable[int]) -> None:
        """Note that the files and folders of these records are synced."""
        update = "UPDATE records SET synced = 1 WHERE number = ? AND synced = 0"
        for several in slices((number,) for number in numbers):
            self._database.change(update, several, may_use_reserve=True)

    def unfinished(self, what: Unfinished, limit: int = 1000) -> list[ChangeRecord]:
        """Return the records whose files or folders are not as recorded yet, oldest first.

        Args:
            what: "pending": committed but not applied. "unsynced": applied but not synced, except those to be restored.
                "unrestored": perhaps undone in the files by a power cut.
            limit: Most records returned.
        """
        return records_from(self._database, f"{SELECT_RECORD} {_UNFINISHED[what]} ORDER BY number LIMIT ?", (limit,))

    def restored(self, number: int, keys: Iterable[str]) -> None:
        """Note that a record is restored, and that the files of these keys have their heads again."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM unrestored WHERE number = ?", (number,))
            connection.executemany(_CARRY_HEAD, [(key,) for key in keys])

        self._database.write(work, durable=False)

    def unsettled(self, key: str) -> list[ChangeRecord]:
        """Return the records of one path from its last synced one on, newest first; at most 1000."""
        return records_from(self._database, _UNSETTLED, (key,))
