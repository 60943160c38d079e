"""Records as rows of the database, each with a checksum over what must never change."""

from __future__ import annotations

import zlib
from typing import Any, Final

from filetools.errors import StateDamagedError
from filetools.journal.changes import Change
from filetools.journal.contents import digest_of, version_from
from filetools.models import EXTERNAL, Actor, ChangeRecord, Operation, RecordState

FIXED_COLUMNS: Final = (
    "operation, path, key, old_path, old_key, before, before_unknown, after, size, mode,"
    " actor_kind, actor_id, session, call, time, batch, opening"
)
INSERT_RECORD: Final = (
    f"INSERT INTO records ({FIXED_COLUMNS}, checksum, state, synced) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
RECORD_COLUMNS: Final = f"number, state, checksum, {FIXED_COLUMNS}"
SELECT_RECORD: Final = f"SELECT {RECORD_COLUMNS} FROM records"
UPSERT_HEAD: Final = (
    "INSERT OR REPLACE INTO heads (key, path, version, size, mode, number, applied) VALUES (?,?,?,?,?,?,?)"
)

NEVER_IN_FILE: Final = 2
"""Value of `synced` for versions kept aside: nothing to sync, and no word on how durable the file itself is."""


def record_row(change: Change, actor: Actor, *, now: float, batch: int | None, opening: int) -> tuple[Any, ...]:
    """Return the values of `INSERT_RECORD` for one change."""
    who = EXTERNAL if change.external else actor
    fixed = (
        change.operation.value,
        change.path,
        change.key,
        change.old_path,
        change.old_key,
        None if change.before is None else digest_of(change.before),
        int(change.before_unknown),
        None if change.after is None else digest_of(change.after),
        change.size,
        change.mode,
        who.kind,
        who.id,
        who.session,
        who.call,
        now,
        batch,
        opening,
    )
    return (*fixed, checksum(fixed), _state_of(change).value, _synced(change))


def record_of(change: Change, actor: Actor, *, now: float, batch: int | None, number: int) -> ChangeRecord:
    """Return the record that one change became, as `record_from` its row would."""
    return ChangeRecord(
        number=number,
        operation=change.operation,
        path=change.path,
        old_path=change.old_path,
        before=change.before,
        before_unknown=change.before_unknown,
        after=change.after,
        size=change.size,
        actor=EXTERNAL if change.external else actor,
        time=now,
        state=_state_of(change),
        transaction=batch,
    )


def _synced(change: Change) -> int:
    if change.aside:
        return NEVER_IN_FILE
    # What a foreign program wrote is as durable as that program made it; there is no promise of ours to sync for.
    return int(change.applied and change.compensates is None)


def _state_of(change: Change) -> RecordState:
    if change.compensates is not None or change.aside:
        return RecordState.ABORTED
    return RecordState.APPLIED if change.applied else RecordState.PENDING


def checksum(fixed: tuple[Any, ...]) -> int:
    """Return the CRC-32 of a record's unchanging values."""
    return zlib.crc32(repr(fixed).encode("utf-8", "backslashreplace"))


def record_from(row: tuple[Any, ...]) -> ChangeRecord:
    """Return the record of a `SELECT_RECORD` row.

    Raises:
        StateDamagedError: Its values do not match its checksum, or its state is none.
    """
    number, state, expected, *fixed = row
    if checksum(tuple(fixed)) != expected:
        raise StateDamagedError(f"record {number} does not match its checksum")
    (
        operation,
        path,
        _,
        old_path,
        _,
        before,
        before_unknown,
        after,
        size,
        _,
        kind,
        who,
        session,
        call,
        when,
        batch,
        _,
    ) = fixed
    try:
        return ChangeRecord(
            number=number,
            operation=Operation(operation),
            path=path,
            old_path=old_path,
            before=version_from(before),
            before_unknown=bool(before_unknown),
            after=version_from(after),
            size=size,
            actor=Actor(kind=kind, id=who, session=session, call=call),
            time=when,
            state=RecordState(state),
            transaction=batch,
        )
    except ValueError as exc:
        raise StateDamagedError(f"record {number} holds what no record may: {exc}") from exc


def lenient_text(text: bytes) -> str:
    """Read text of the database that may be damaged: what is not UTF-8 does not match the row's checksum."""
    return text.decode("utf-8", "surrogateescape")
