"""Selects the records that an undo takes back: by actor and time, without those that are taken back already.

Each record in the journal names the records that it undoes or redoes, and the journal keeps note of those taken back now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from msgspec import structs

from filetools.errors import InvalidArgumentError
from filetools.journal.records import History, RecordFilter
from filetools.models.records import Actor, ChangeRecord
from filetools.models.words import ActorKind

Moment = int | datetime
"""A number of the journal, or a time."""

MOST_NUMBER: Final = 2**62
EVERYBODY: Final = "*"


def _is_number(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST_NUMBER


def filter_of(
    caller: Actor,
    *,
    actor: Actor | str | None = None,
    call: str | None = None,
    session: str | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    key: str | None = None,
    numbers: tuple[int, ...] | None = None,
) -> RecordFilter:
    """Return the filter for the arguments of a call; without arguments it selects the caller's own records.

    Args:
        caller: The actor who asks.
        actor: Whose records: an actor, a name, or "*" for everybody; None is the caller, unless another argument says whose.
        call: Only records of this call.
        session: Only records of this session.
        since: First number, or first time.
        until: Last number, or last time.
        key: Lock key of a file or folder.
        numbers: Only these records.

    Raises:
        InvalidArgumentError: An argument is invalid. It is never ignored, because that would undo more than was meant.
    """
    for label, moment in (("since", since), ("until", until)):
        if not (isinstance(moment, datetime | None) or _is_number(moment)):
            raise InvalidArgumentError(f"{label} must be a number of the journal or a datetime, not {moment!r}")
    if any(not _is_number(number) for number in numbers or ()):
        raise InvalidArgumentError(f"numbers must be numbers of the journal, not {numbers!r}")
    if not isinstance(actor, Actor | str | None):
        raise InvalidArgumentError(f"actor must be an actor or a name, not {actor!r}")
    kind: ActorKind | None
    name: str | None
    if isinstance(actor, Actor):
        kind, name, session = actor.kind, actor.id, session or actor.session
    elif actor is not None:
        kind, name = None, None if actor == EVERYBODY else actor
    elif call is not None or numbers is not None or session is not None:
        # An agent means its own changes, unless the request names an actor.
        kind, name = (caller.kind, caller.id) if caller.kind == "agent" else (None, None)
    else:
        # Another conversation of the same agent does other work.
        kind, name, session = caller.kind, caller.id, caller.session
    return RecordFilter(
        numbers=numbers,
        kind=kind,
        id=name,
        session=session,
        call=call,
        since=since if isinstance(since, int) else 0,
        until=until if isinstance(until, int) else None,
        since_time=since.timestamp() if isinstance(since, datetime) else None,
        until_time=until.timestamp() if isinstance(until, datetime) else None,
        key=key,
    )


def choose(history: History, caller: Actor, wanted: RecordFilter) -> list[ChangeRecord]:
    """Return the selected records that are not taken back yet, newest first.

    Raises:
        InvalidArgumentError: A named call or number does not exist, or belongs to another actor.
    """
    records = history.select(wanted, limit=MOST_NUMBER)
    missing = set(wanted.numbers or ()) - {record.number for record in records}
    if missing:
        raise InvalidArgumentError(f"There is no change {min(missing)} that you could undo")
    if not records and not (wanted.call is None and wanted.numbers is None):
        raise InvalidArgumentError(
            f"There is no change of a call {wanted.call!r} that you could undo",
            suggested_action="Name a call that changed something, or leave it out to undo the last change.",
        )
    records = _of_one_conversation(records, caller, wanted)
    return records if wanted.numbers is not None else effective(history, records)


def selected(history: History, filters: Sequence[RecordFilter], *, limit: int = MOST_NUMBER) -> list[ChangeRecord]:
    """Return up to `limit` records that one of the filters selects, newest first."""
    found = [record for each in filters for record in history.select(each, limit=limit)]
    return sorted(found, key=lambda record: -record.number)[:limit]


def _of_one_conversation(records: list[ChangeRecord], caller: Actor, wanted: RecordFilter) -> list[ChangeRecord]:
    """Omit records of other conversations of the same agent: clients name calls themselves, and many count from one.

    Raises:
        InvalidArgumentError: Several conversations have a call of this name, and none of them is the caller's.
    """
    if wanted.call is None or wanted.id is None or wanted.session is not None:
        return records
    sessions = {record.actor.session for record in records}
    if len(sessions) <= 1:
        return records
    if caller.session not in sessions:
        raise InvalidArgumentError(
            f"Several sessions have a call {wanted.call!r}: {', '.join(sorted(map(str, sessions)))}",
            suggested_action="Undo it in the session that made the call.",
        )
    return [record for record in records if record.actor.session == caller.session]


def last_calls(history: History, wanted: RecordFilter, *, redo: bool = False) -> Iterator[list[ChangeRecord]]:
    """Yield the records of each call that is not undone, newest first, then an empty list: with `redo` those of undos."""
    passed = set[int]()
    while newest := history.select(structs.replace(wanted, standing=True, undos=redo), limit=1):
        record, actor = newest[0], newest[0].actor
        wanted = structs.replace(wanted, until=record.number - 1)
        if record.number in passed:
            continue
        same = RecordFilter(kind=actor.kind, id=actor.id, session=actor.session, standing=True)
        if actor.call is not None:
            same = structs.replace(same, call=actor.call, undos=redo)
        elif record.transaction is not None:
            same = structs.replace(same, transaction=record.transaction, since=record.transaction)
        else:
            same = structs.replace(same, numbers=(record.number,))
        found = history.select(same, limit=MOST_NUMBER)
        passed.update(each.number for each in found)
        yield found
    yield []


def effective(history: History, records: Sequence[ChangeRecord]) -> list[ChangeRecord]:
    """Omit records that are taken back, and undos whose records are all among the given ones.

    If an undo stays although some of its records are among the given ones, these stay with it: they count again once the
    undo is taken back.
    """
    numbers = {record.number for record in records}
    undone = history.undone(numbers)
    undos = history.related(numbers - undone)
    cancelled = {number for number, targets in undos.items() if numbers.issuperset(targets)}
    again = {target for number, targets in undos.items() if number not in cancelled for target in targets}
    left = numbers - cancelled - (undone - again)
    return [record for record in records if record.number in left]
