"""Records as rows of the database, each with a checksum over what must never change."""

from __future__ import annotations

import zlib
from typing import Any, Final, NamedTuple

from filetools.errors import StateDamagedError
from filetools.journal.changes import Change
from filetools.journal.storage.contents import digest_of, version_from
from filetools.journal.storage.database import Arguments, Database
from filetools.models.records import EXTERNAL, Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import ActorKind


class Fixed(NamedTuple):
    """The values of a record that never change, in the order of their columns; the checksum covers them."""

    operation: str
    path: str
    key: str
    old_path: str | None
    old_key: str | None
    before: bytes | None
    before_unknown: int
    after: bytes | None
    size: int | None
    mode: int | None
    actor_kind: ActorKind
    actor_id: str
    session: str | None
    call: str | None
    time: float
    batch: int | None
    opening: int


FIXED_COLUMNS: Final = ", ".join(Fixed._fields)
INSERT_RECORD: Final = (
    f"INSERT INTO records (number, {FIXED_COLUMNS}, checksum, state, synced)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
RECORD_COLUMNS: Final = f"number, state, checksum, {FIXED_COLUMNS}"
SELECT_RECORD: Final = f"SELECT {RECORD_COLUMNS} FROM records"
NEVER_IN_FILE: Final = 2
"""Value of `synced` for versions kept aside: nothing to sync, and no statement on how durable the file itself is."""


def record_row(
    change: Change, actor: Actor, *, now: float, batch: int | None, opening: int, synced: int
) -> tuple[Any, ...]:
    """Return the values of `INSERT_RECORD` for one change, after its number."""
    who = EXTERNAL if change.external else actor
    fixed = Fixed(
        operation=change.operation.value,
        path=change.path,
        key=change.key,
        old_path=change.old_path,
        old_key=change.old_key,
        before=None if change.before is None else digest_of(change.before),
        before_unknown=int(change.before_unknown),
        after=None if change.after is None else digest_of(change.after),
        size=change.size,
        mode=change.mode,
        actor_kind=who.kind,
        actor_id=who.id,
        session=who.session,
        call=who.call,
        time=now,
        batch=batch,
        opening=opening,
    )
    state = _state_of(change)
    return (*fixed, checksum(tuple(fixed)), state.value, 0 if state is RecordState.PENDING else synced)


def record_of(change: Change, actor: Actor, *, now: float, batch: int | None, number: int) -> ChangeRecord:
    """Return the record of a change, as `record_from` returns it for its row."""
    return ChangeRecord(
        number=number,
        operation=change.operation,
        path=change.path,
        old_path=change.old_path,
        before=change.before,
        before_unknown=change.before_unknown,
        after=change.after,
        size=change.size,
        mode=change.mode,
        actor=EXTERNAL if change.external else actor,
        time=now,
        state=_state_of(change),
        transaction=batch,
    )


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
    number, state, expected, *values = row
    if checksum(tuple(values)) != expected:
        raise StateDamagedError(f"record {number} does not match its checksum")
    fixed = Fixed._make(values)
    try:
        return ChangeRecord(
            number=number,
            operation=Operation(fixed.operation),
            path=fixed.path,
            old_path=fixed.old_path,
            before=version_from(fixed.before),
            before_unknown=bool(fixed.before_unknown),
            after=version_from(fixed.after),
            size=fixed.size,
            mode=fixed.mode,
            actor=Actor(kind=fixed.actor_kind, id=fixed.actor_id, session=fixed.session, call=fixed.call),
            time=fixed.time,
            state=RecordState(state),
            transaction=fixed.batch,
        )
    except ValueError as exc:
        raise StateDamagedError(f"record {number} holds what no record may: {exc}") from exc


def records_from(database: Database, query: str, arguments: Arguments = ()) -> list[ChangeRecord]:
    """Return the records of a query for `RECORD_COLUMNS`.

    Raises:
        StateDamagedError: One of them is damaged.
    """
    return [record_from(row) for row in database.rows(query, arguments)]
