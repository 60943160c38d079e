"""Group commit by leader: the first thread to arrive commits for all that wait, with one sync.

While the leader waits for the gate and the disk, later callers queue; it takes along whoever has come before it is done
recording, and hands the lead to the first of those who came after. So sixteen waiting writers cost a few syncs, not
sixteen, and a lone writer waits for nobody.
"""

from __future__ import annotations

import copy
import sqlite3
import threading
import time
from collections.abc import Set

from filetools.errors import DiskFullError, FileToolsError, OutcomeUnknownError
from filetools.journal.changes import HeadMovedError
from filetools.journal.commit import CommitDraft, Recorder
from filetools.journal.database import Database
from filetools.journal.marks import Notes
from filetools.models.records import ChangeRecord, RecordState

Records = tuple[ChangeRecord, ...]


class _Ticket:
    """One caller's draft and, once a leader has been by, its outcome."""

    __slots__ = ("deadline", "draft", "leads", "outcome", "turn")

    def __init__(self, draft: CommitDraft, deadline: float) -> None:
        self.draft = draft
        self.deadline = deadline
        self.outcome: Records | Exception | None = None
        self.leads = False
        self.turn = threading.Lock()
        self.turn.acquire()

    def settle(self, outcome: Records | Exception) -> None:
        self.outcome = outcome
        self.turn.release()


class GroupCommit:
    """The queue of drafts and the right to lead. One a journal; any thread may call."""

    def __init__(self, database: Database, recorder: Recorder, notes: Notes) -> None:
        self._database = database
        self._recorder = recorder
        self._notes = notes
        self._lock = threading.Lock()
        self._waiting: list[_Ticket] = []
        self._is_led = False
        self.own_position = -1
        """Number of the newest record of this process."""
        self.others_position = 0
        """Number up to which others may have recorded changes, as far as the numbers of own commits tell."""

    def commit(self, draft: CommitDraft) -> Records:
        """Record a draft; durable on return.

        Raises:
            HeadMovedError: A view did not hold; others in the same group are not affected.
            LockTimeoutError: The gate was not free in time; nothing was recorded.
            FileToolsError: The transaction failed; no draft of the group was recorded.
        """
        ticket = _Ticket(draft, self._database.gate.deadline())
        with self._lock:
            ticket.leads = not self._is_led
            self._is_led = True
            if not ticket.leads:
                self._waiting.append(ticket)
        if not ticket.leads:
            self._wait(ticket)
        if ticket.leads:
            return self._lead(ticket)
        if isinstance(ticket.outcome, Exception):
            raise ticket.outcome
        assert ticket.outcome is not None
        return ticket.outcome

    def _wait(self, ticket: _Ticket) -> None:
        """Wait until a leader has settled the ticket, or hands over the lead."""
        if ticket.turn.acquire(timeout=max(0.0, ticket.deadline - time.monotonic())):
            return
        with self._lock:
            is_waiting = ticket in self._waiting
            if is_waiting:
                self._waiting.remove(ticket)
        if is_waiting:
            raise self._database.gate.timed_out()
        ticket.turn.acquire()  # taken along already: only the disk is waited for now

    def _lead(self, own: _Ticket) -> Records:
        group: list[_Ticket] = [own]
        try:
            outcomes = self._record(own, group)
        except Exception as exc:
            self._fail(group[1:], exc)
            raise
        except BaseException:
            self._fail(group[1:], OutcomeUnknownError("The commit was interrupted"))
            raise
        finally:
            self._hand_over()
        for ticket, outcome in zip(group[1:], outcomes[1:], strict=True):
            ticket.settle(outcome)
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]
        return outcomes[0]

    def _record(self, own: _Ticket, group: list[_Ticket]) -> list[Records | Exception]:
        def together(connection: sqlite3.Connection) -> tuple[list[Records | Exception], Set[int]]:
            noted = self._notes.write(connection)
            outcomes = [self._try(connection, ticket.draft) for ticket in group]
            while latest := self._take_waiting(group):
                outcomes += [self._try(connection, ticket.draft) for ticket in latest]
            return outcomes, noted

        try:
            outcomes, noted = self._database.write(
                together,
                deadline=own.deadline,
                may_use_reserve=lambda: all(ticket.draft.makes_room for ticket in group),
            )
        except Exception as exc:
            # A draft that no database could take, such as a name that is no text, or one that the disk has no room for;
            # the others shall not pay for it.
            if len(group) == 1 or (isinstance(exc, FileToolsError) and not isinstance(exc, DiskFullError)):
                raise
            outcomes, noted = [self._record_alone(ticket.draft) for ticket in group], frozenset()
        self._committed(outcomes, noted)
        return outcomes

    def _take_waiting(self, group: list[_Ticket]) -> list[_Ticket]:
        """Take along who has come meanwhile."""
        with self._lock:
            latest, self._waiting = self._waiting, []
        group.extend(latest)
        return latest

    def _try(self, connection: sqlite3.Connection, draft: CommitDraft) -> Records | Exception:
        try:
            return self._recorder.record(connection, draft)
        except HeadMovedError as exc:
            return exc

    def _record_alone(self, draft: CommitDraft) -> Records | Exception:
        try:
            return self._database.write(
                lambda connection: self._recorder.record(connection, draft), may_use_reserve=lambda: draft.makes_room
            )
        except Exception as exc:  # noqa: BLE001  # raised again in the thread whose draft it is
            return exc

    def _committed(self, outcomes: list[Records | Exception], noted: Set[int]) -> None:
        records = [record for outcome in outcomes if not isinstance(outcome, Exception) for record in outcome]
        for record in records:
            if record.number != self.own_position + 1:
                self.others_position = record.number - 1
            self.own_position = record.number
        if records:
            self._database.position.write(max(record.number for record in records))
        self._notes.forget(noted, has_grown=any(record.state is not RecordState.PENDING for record in records))

    def _fail(self, others: list[_Ticket], error: Exception) -> None:
        for ticket in others:
            ticket.settle(copy.copy(error))  # each thread raises one of its own: a traceback belongs to one thread

    def _hand_over(self) -> None:
        with self._lock:
            if not self._waiting:
                self._is_led = False
                return
            heir = self._waiting.pop(0)
            heir.leads = True
        heir.turn.release()
