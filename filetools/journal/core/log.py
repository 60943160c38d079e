"""The log of records: everything that happened to the tree, in the order of its numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from filetools.journal.database import Database
from filetools.models.records import EXTERNAL, Actor, Operation

Origin = Literal["call", "foreign", "displaced", "set_back"]
"""Why a record exists: "call": an actor's call. "foreign": another program's change was noticed. "displaced": another
program's bytes came out when a file was exchanged. "set_back": a call could not be finished and was reversed."""


class LogRecord(Struct, frozen=True, kw_only=True):
    """One change of the tree."""

    number: int
    """Position in the log."""
    batch: int
    """Number of the first record of the same call."""
    kind: Operation
    path: str
    """After the change."""
    key: str
    old_path: str | None = None
    """Before a move."""
    old_key: str | None = None
    file: int
    """Id that the file keeps over moves, deletion and undo."""
    before: bytes | None = None
    """Hash of the bytes before; None if there was no file, or if nobody read it."""
    after: bytes | None = None
    """Hash of the bytes after; None if the path is gone, or names a folder."""
    size: int | None = None
    """In bytes, after the change."""
    mode: int | None = None
    """Permission bits after the change; before a removal."""
    actor: Actor
    time: float
    """Seconds since the epoch, when it was recorded."""
    undoes: int | None = None
    """Number of the record that this one takes back."""
    origin: Origin = "call"


_COLUMNS: Final = (
    "number, batch, kind, path, key, old_path, old_key, file, before, after, size, mode, actor_kind, actor_id, session, call,"
    " time, undoes, origin"
)
_INSERT: Final = f"INSERT INTO log ({_COLUMNS}) VALUES ({', '.join('?' * 19)})"


class Log:
    """Records by number. `add` is called inside a transaction of the writer; the rest in any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, records: Sequence[LogRecord]) -> None:
        """Add records, whose numbers follow the newest one."""
        for record in records:
            self._database.connection.execute(_INSERT, _values(record))

    def newest_inside(self) -> int:
        """Return the newest number inside a transaction of the writer; 0 if there is none."""
        query = "SELECT coalesce(max(number), 0) FROM log"
        return int(self._database.connection.execute(query).fetchone()[0])

    def newest(self) -> int:
        """Return the newest committed number; 0 if there is none."""
        return int(self._database.rows("SELECT coalesce(max(number), 0) FROM log")[0][0])

    def after(self, number: int, limit: int = 1000) -> list[LogRecord]:
        """Return the records after a number, oldest first, at most `limit`."""
        query = f"SELECT {_COLUMNS} FROM log WHERE number > ? ORDER BY number LIMIT ?"
        return [record_from(row) for row in self._database.rows(query, (number, limit))]

    def batch_inside(self, connection: sqlite3.Connection, batch: int) -> list[LogRecord]:
        """Return the records of one call, oldest first, as a connection sees them."""
        # They follow each other, so that the first other one ends them.
        found = []
        for row in connection.execute(f"SELECT {_COLUMNS} FROM log WHERE number >= ? ORDER BY number", (batch,)):
            record = record_from(row)
            if record.batch != batch:
                break
            found.append(record)
        return found

    def since_inside(self, connection: sqlite3.Connection, number: int) -> list[LogRecord]:
        """Return all records from a number on, oldest first, as a connection sees them."""
        query = f"SELECT {_COLUMNS} FROM log WHERE number >= ? ORDER BY number"
        return [record_from(row) for row in connection.execute(query, (number,))]

    def of_file(self, file: int, limit: int = 1000) -> list[LogRecord]:
        """Return the records of a file, by its id, newest first, at most `limit`."""
        query = f"SELECT {_COLUMNS} FROM log WHERE file = ? ORDER BY number DESC LIMIT ?"
        return [record_from(row) for row in self._database.rows(query, (file, limit))]

    def record_inside(self, connection: sqlite3.Connection, number: int) -> LogRecord | None:
        """Return one record, as a connection sees it; None if it is gone."""
        row = connection.execute(f"SELECT {_COLUMNS} FROM log WHERE number = ?", (number,)).fetchone()
        return None if row is None else record_from(row)


class LogDraft:
    """Records of one transaction, with the numbers that they will have. Lives until the transaction ends."""

    def __init__(self, newest: int, time: float, *, with_links: bool = True) -> None:
        """Begin after the newest number.

        Args:
            newest: Number of the newest record.
            time: Seconds since the epoch, which all records get.
            with_links: Whether changes of links are recorded.
        """
        self._with_links = with_links
        self.records: list[LogRecord] = []
        self._next = newest + 1
        self._time = time

    def add(
        self,
        kind: Operation,
        path: str,
        key: str,
        file: int,
        *,
        actor: Actor = EXTERNAL,
        batch: int | None = None,
        origin: Origin = "foreign",
        old: tuple[str, str] | None = None,
        before: bytes | None = None,
        after: bytes | None = None,
        size: int | None = None,
        mode: int | None = None,
        undoes: int | None = None,
        is_link: bool = False,
    ) -> LogRecord:
        """Add a record and return it; see `LogRecord`.

        Args:
            kind: What happened.
            path: After the change.
            key: Of the path.
            file: Id of the file.
            actor: Who did it.
            batch: Number of the call's first record; None if this is the first.
            origin: Why it is recorded.
            old: Path and key before a move.
            before: Hash of the bytes before.
            after: Hash of the bytes after.
            size: In bytes, after the change.
            mode: Permission bits.
            undoes: Number of the record that this one takes back.
            is_link: Whether it is about a link, whatever happened to it.
        """
        is_recorded = self._with_links or not (is_link or kind is Operation.LINK)
        number = self._next if is_recorded else 0
        self._next += is_recorded
        old_path, old_key = old or (None, None)
        record = LogRecord(
            number=number, batch=number if batch is None else batch, kind=kind, path=path, key=key, old_path=old_path,
            old_key=old_key, file=file, before=before, after=after, size=size, mode=mode, actor=actor, time=self._time,
            undoes=undoes, origin=origin,
        )  # fmt: skip
        if is_recorded:
            self.records.append(record)
        return record


def _values(record: LogRecord) -> tuple[Any, ...]:
    actor = record.actor
    return (
        record.number, record.batch, str(record.kind), record.path, record.key, record.old_path, record.old_key, record.file,
        record.before, record.after, record.size, record.mode, actor.kind, actor.id, actor.session, actor.call, record.time,
        record.undoes, record.origin,
    )  # fmt: skip


def record_from(row: Sequence[Any]) -> LogRecord:
    """Return the record of a row with all columns."""
    (number, batch, kind, path, key, old_path, old_key, file, before, after, size, mode, *rest) = row
    actor_kind, actor_id, session, call, time, undoes, origin = rest
    return LogRecord(
        number=number, batch=batch, kind=Operation(kind), path=path, key=key, old_path=old_path, old_key=old_key, file=file,
        before=before, after=after, size=size, mode=mode,
        actor=Actor(kind=actor_kind, id=actor_id, session=session, call=call), time=time, undoes=undoes, origin=origin,
    )  # fmt: skip
