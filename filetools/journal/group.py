"""Group commit by leader: the first thread to arrive commits for all that wait, with one sync.

While the leader waits for the disk, later callers queue; the next leader takes them all. So sixteen waiting writers
cost a few syncs, not sixteen, and a lone writer waits for nobody.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque

from filetools.errors import FileToolsError
from filetools.journal.changes import HeadMovedError
from filetools.journal.commit import Draft, record
from filetools.journal.database import Database
from filetools.journal.marks import SqliteMarks
from filetools.models import ChangeRecord


class _Ticket:
    """One caller's draft and, once a leader has been by, its outcome."""

    __slots__ = ("draft", "error", "records")

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.records: tuple[ChangeRecord, ...] | None = None
        self.error: FileToolsError | HeadMovedError | None = None

    @property
    def is_settled(self) -> bool:
        return self.records is not None or self.error is not None


class GroupCommit:
    """The queue of drafts and the right to lead. One a journal; any thread may call."""

    def __init__(self, database: Database, marks: SqliteMarks) -> None:
        self._database = database
        self._marks = marks
        self._waiting: deque[_Ticket] = deque()
        self._leading = threading.Lock()

    def commit(self, draft: Draft) -> tuple[ChangeRecord, ...]:
        """Record a draft; durable on return.

        Raises:
            HeadMovedError: A view did not hold; others in the same group are not affected.
            FileToolsError: The transaction failed; no draft of the group was recorded.
        """
        ticket = _Ticket(draft)
        self._waiting.append(ticket)
        with self._leading:
            if not ticket.is_settled:
                self._lead()
        if ticket.error is not None:
            raise ticket.error
        assert ticket.records is not None
        return ticket.records

    def _lead(self) -> None:
        group = []
        while self._waiting:
            group.append(self._waiting.popleft())
        try:
            outcomes = self._database.write(lambda connection: self._record_all(connection, group))
        except FileToolsError as exc:
            for ticket in group:
                ticket.error = exc
            return
        for ticket, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, HeadMovedError):
                ticket.error = outcome
            else:
                ticket.records = outcome
        self._marks.written()

    def _record_all(
        self, connection: sqlite3.Connection, group: list[_Ticket]
    ) -> list[tuple[ChangeRecord, ...] | HeadMovedError]:
        self._marks.write_noted(connection)
        outcomes: list[tuple[ChangeRecord, ...] | HeadMovedError] = []
        for ticket in group:
            try:
                outcomes.append(record(connection, ticket.draft, self._database.opening))
            except HeadMovedError as exc:
                outcomes.append(exc)
        return outcomes
