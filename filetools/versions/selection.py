"""Which changes an undo means: of whom, of when; and which of them count as taken back already.

The journal says of each record what it undoes or redoes, and keeps note of which are taken back now.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct, structs

from filetools.errors import InvalidArgumentError
from filetools.journal.history import History, RecordFilter
from filetools.models.records import Actor, ChangeRecord, RecordState
from filetools.models.words import ActorKind

Moment = int | datetime
"""A number of the journal, or a time."""

MOST_NUMBER: Final = 2**62
EVERYBODY: Final = "*"
_MADE: Final = (RecordState.APPLIED, RecordState.BUFFER)


class UndoRequest(Struct, frozen=True, kw_only=True):
    """Which changes are meant. Nothing at all means the last one of the caller."""

    call: str | None = None
    session: str | None = None
    since: Moment | None = None
    """First number, or from this time on."""
    until: Moment | None = None
    """Last number, or up to this time."""
    key: str | None = None
    """Lock key of a file or folder."""
    actor: Actor | str | None = None
    """Whose: an actor, the name of one, "*" for everybody; None is the caller, as far as nothing else says whose."""
    numbers: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        # What is not understood must not widen what is undone.
        for name, moment in (("since", self.since), ("until", self.until)):
            if not (isinstance(moment, datetime | None) or _is_number(moment)):
                raise InvalidArgumentError(f"{name} must be a number of the journal or a datetime, not {moment!r}")
        if any(not _is_number(number) for number in self.numbers or ()):
            raise InvalidArgumentError(f"numbers must be numbers of the journal, not {self.numbers!r}")
        if not isinstance(self.actor, Actor | str | None):
            raise InvalidArgumentError(f"actor must be an actor or a name, not {self.actor!r}")

    @property
    def is_last(self) -> bool:
        """Whether the last change is meant."""
        return all(each is None for each in (self.call, self.session, self.since, self.until, self.key, self.numbers))

    @property
    def names_changes(self) -> bool:
        """Whether it says by itself which changes are meant, not only whose or of when."""
        return self.call is not None or self.numbers is not None


def _is_number(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST_NUMBER


def choose(history: History, caller: Actor, request: UndoRequest, *, redo: bool = False) -> list[ChangeRecord]:
    """Return the changes that are meant and not taken back yet, newest first.

    Args:
        history: The journal's past.
        caller: Who asks. An agent means its own changes, unless the request names an actor.
        request: Which.
        redo: Whether the last undo is meant and not the last change.

    Raises:
        InvalidArgumentError: A call or a number is named that does not exist, or is not the caller's.
    """
    wanted = filter_of(caller, request)
    if request.is_last:
        return _last(history, wanted, redo=redo)
    records = history.select(wanted, limit=MOST_NUMBER)
    missing = set(request.numbers or ()) - {record.number for record in records}
    if missing:
        raise InvalidArgumentError(f"There is no change {min(missing)} that you could undo")
    if request.names_changes and not records:
        raise InvalidArgumentError(
            f"There is no change of a call {request.call!r} that you could undo",
            suggested_action="Name a call that changed something, or leave it out to undo the last change.",
        )
    records = _of_one_conversation(records, caller, request, wanted)
    return records if request.numbers is not None else effective(history, records)


def choose_run(history: History, session: str, since: int, until: int, foreign: Sequence[int]) -> list[ChangeRecord]:
    """Return the changes of a run that are not taken back yet, newest first.

    Args:
        history: The journal's past.
        session: Whose changes are the run's.
        since: Number of its first change, or before.
        until: Number of its last one, or after, before the next run of that session.
        foreign: Numbers of the changes of other programs that count as its own.
    """
    filters = filters_of_run(RecordFilter(), session, since, until, foreign)
    found = [record for each in filters for record in history.select(each, limit=MOST_NUMBER)]
    return effective(history, sorted(found, key=lambda record: -record.number))


def filters_of_run(
    wanted: RecordFilter, session: str, since: int, until: int, foreign: Sequence[int]
) -> list[RecordFilter]:
    """Return the filters that together select those wanted records that are a run's; the arguments are as above."""
    last = until if wanted.until is None else min(until, wanted.until)
    own = structs.replace(wanted, session=session, since=max(since, wanted.since), until=last)
    return [own, structs.replace(wanted, numbers=tuple(foreign))]


def changes_after(history: History, number: int) -> list[ChangeRecord]:
    """Return all changes after a record, whoever made them, newest first."""
    return history.select(RecordFilter(since=number + 1), limit=MOST_NUMBER)


def filter_of(caller: Actor, request: UndoRequest) -> RecordFilter:
    """Return which records a request means."""
    kind, name, session = _whose(caller, request)
    return RecordFilter(
        numbers=request.numbers,
        kind=kind,
        id=name,
        session=session,
        call=request.call,
        since=request.since if isinstance(request.since, int) else 0,
        until=request.until if isinstance(request.until, int) else None,
        since_time=request.since.timestamp() if isinstance(request.since, datetime) else None,
        until_time=request.until.timestamp() if isinstance(request.until, datetime) else None,
        key=request.key,
    )


def _whose(caller: Actor, request: UndoRequest) -> tuple[ActorKind | None, str | None, str | None]:
    actor = request.actor
    if isinstance(actor, Actor):
        return actor.kind, actor.id, request.session or actor.session
    if actor is not None:
        return None, None if actor == EVERYBODY else actor, request.session
    if request.names_changes or request.session is not None:
        is_bound = caller.kind == "agent"
        return (caller.kind, caller.id, request.session) if is_bound else (None, None, request.session)
    # In another conversation of the same agent other work is going on: it does not mean that.
    return caller.kind, caller.id, caller.session


def _of_one_conversation(
    records: list[ChangeRecord], caller: Actor, request: UndoRequest, wanted: RecordFilter
) -> list[ChangeRecord]:
    """Leave out what another conversation of the same agent did in a call of the same name.

    Clients name their calls themselves, and many count from one.

    Raises:
        InvalidArgumentError: Several conversations have such a call, and none of them is the caller's.
    """
    if request.call is None or wanted.id is None or wanted.session is not None:
        return records
    sessions = {record.actor.session for record in records}
    if len(sessions) <= 1:
        return records
    if caller.session not in sessions:
        raise InvalidArgumentError(
            f"Several sessions have a call {request.call!r}: {', '.join(sorted(map(str, sessions)))}",
            suggested_action="Undo it in the session that made the call.",
        )
    return [record for record in records if record.actor.session == caller.session]


def _last(history: History, wanted: RecordFilter, *, redo: bool) -> list[ChangeRecord]:
    """Return the records of the newest call that stands: of the newest undo, or of the newest that is none."""
    newest = history.select(structs.replace(wanted, standing=True, undos=redo), limit=1)
    if not newest:
        return []
    record = newest[0]
    together = [each for each in history.together_with(record) if each.actor == record.actor]
    if (call := record.actor.call) is not None:
        actor = record.actor
        same = RecordFilter(kind=actor.kind, id=actor.id, session=actor.session, call=call, standing=True, undos=redo)
        together += history.select(same, limit=MOST_NUMBER)
    numbers = {each.number for each in together}
    gone = history.undone(numbers)
    redos = history.targets(numbers, "redoes").keys()
    found = {
        each.number: each
        for each in together
        # A redo is taken back as the one change that it was, and not along with what the same call changed itself.
        if each.state in _MADE and each.number not in gone and (each.number in redos) == (record.number in redos)
    }
    return [found[number] for number in sorted(found, reverse=True)]


def effective(history: History, records: Sequence[ChangeRecord]) -> list[ChangeRecord]:
    """Leave out what is taken back already, and with it the undo if both are among the records."""
    numbers = {record.number for record in records}
    targets = history.taken_back(numbers)
    cancelled: set[int] = set()
    for number in sorted(targets, reverse=True):
        # Not what a redo took back already; but several records of one undo take back the same.
        if number not in cancelled and numbers.issuperset(targets[number]):
            cancelled |= {number, *targets[number]}
    left = numbers - cancelled
    outside = {number: set(by) - numbers for number, by in history.undoers(left).items()}
    active = {each for several in outside.values() for each in several}
    active -= history.undone(active)
    return [record for record in records if record.number in left and not outside.get(record.number, set()) & active]
