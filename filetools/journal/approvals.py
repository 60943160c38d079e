"""Approvals of the embedded journal: requests, their answers, and who is there to answer, seen by every process.

Nothing here is synced: a power cut ends every call that waits, and an answer that is lost is given again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from filetools.journal.database import Database

LEASE_SECONDS: Final = 6.0
"""How long a process counts as alive after it last said so."""
MOST_REQUESTS: Final = 256
"""Requests that wait for an answer; more are refused, so that an agent cannot fill a person's screen."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Size of all requests together, so that an agent cannot fill the disk with them."""
_COLUMNS: Final = "approvals.id, call, asks, expires, answer, edited_text, used"
_IS_LIVE: Final = (
    "approvals.expires > :now AND (answer IS NOT NULL OR process = :process OR EXISTS"
    " (SELECT 1 FROM approval_processes AS other WHERE other.process = approvals.process AND other.leased_until > :now))"
)
_ASKS_FOR_ALL: Final = (
    "SELECT EXISTS (SELECT 1 FROM approval_processes WHERE listens & 2 AND leased_until > :now AND process != :process)"
)
_IS_HEARD: Final = (
    "SELECT EXISTS (SELECT 1 FROM approval_processes WHERE listens & 1 AND leased_until > :now AND process != :process)"
)


class ApprovalRow(Struct, frozen=True, kw_only=True):
    """A request as every process sees it."""

    id: str
    call: str
    """Equal for identical calls."""
    asks: int
    """How often a call began to wait for it."""
    expires: float
    """Seconds since the epoch; without an answer until then it is denied."""
    answer: str | None
    edited_text: str | None
    is_used: bool
    """Whether a call has used the answer."""


class ApprovalTable:
    """The approvals of an embedded journal, for one process. Any thread may call.

    Args:
        database: Where the rows are.
        process: Name of this process, unlike all others'.
        on_change: Called, in the calling thread, after something changed that other processes wait for.
    """

    def __init__(self, database: Database, process: str, on_change: Callable[[], None]) -> None:
        self._database = database
        self._process = process
        self._on_change = on_change

    def ask(
        self, new_id: str, call: str, request: str, *, now: float, expires: float, is_heard: bool
    ) -> tuple[ApprovalRow, bool] | None:
        """Return the request of an identical call, or open a new one, and whether another process listens.

        Args:
            new_id: Name of the request if a new one is needed.
            call: Equal for identical calls.
            request: JSON of what is asked.
            now: Seconds since the epoch.
            expires: Until when a new request is open.
            is_heard: Whether somebody in this process can answer.

        Returns:
            None if too many requests are open.
        """

        def work(connection: sqlite3.Connection) -> tuple[ApprovalRow, bool] | None:
            place = self._place(now)
            others_listen = _is_true(connection, _IS_HEARD, place)
            self._stay(connection, now, state=None)
            known = f"SELECT approvals.id FROM approvals WHERE call = :call AND NOT used AND {_IS_LIVE}"
            found = connection.execute(known, {**place, "call": call}).fetchone()
            if found is None:
                if self._is_full(connection, place, len(request)):
                    return None
                values = (new_id, call, self._process, request, expires)
                connection.execute(
                    "INSERT INTO approvals (id, call, process, request, expires) VALUES (?, ?, ?, ?, ?)", values
                )
            approval_id = new_id if found is None else found[0]
            # Whoever asked last keeps it open: the process that asked first may end before this one.
            connection.execute(
                "UPDATE approvals SET asks = asks + ?, process = ? WHERE id = ?",
                (is_heard or others_listen, self._process, approval_id),
            )
            row = connection.execute(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", (approval_id,)).fetchone()
            return _row(row), others_listen

        asked = self._database.write(work, durable=False)
        self._on_change()
        return asked

    def answer(self, approval_id: str, answer: str, edited_text: str | None, *, now: float, expires: float) -> bool:
        """Answer a request that nobody has answered; False if it is not open (any more).

        Args:
            approval_id: Its name.
            answer: What a person said.
            edited_text: The text that shall be written instead.
            now: Seconds since the epoch.
            expires: Until when the answer waits for a call that uses it.
        """
        statement = (
            "UPDATE approvals SET answer = :answer, edited_text = :edited_text, expires = :expires"
            f" WHERE id = :id AND answer IS NULL AND {_IS_LIVE}"
        )
        values = {
            **self._place(now),
            "id": approval_id,
            "answer": answer,
            "edited_text": edited_text,
            "expires": expires,
        }
        answered = self._database.write(
            lambda connection: connection.execute(statement, values).rowcount, durable=False
        )
        self._on_change()
        return bool(answered)

    def take(self, approval_id: str) -> bool:
        """Use an answer, which one call can do once; what it was about is forgotten."""
        statement = (
            "UPDATE approvals SET used = 1, request = '', edited_text = NULL"
            " WHERE id = ? AND NOT used AND answer IS NOT NULL"
        )
        return bool(
            self._database.write(
                lambda connection: connection.execute(statement, (approval_id,)).rowcount, durable=False
            )
        )

    def live(self, *, now: float) -> tuple[list[ApprovalRow], bool]:
        """Return the requests that are open or were answered, oldest first, and whether another process listens."""
        with self._database.reading() as connection:
            # One after the other: somebody who begins to listen in between is seen next time.
            heard = _is_true(connection, _IS_HEARD, self._place(now))
            query = f"SELECT {_COLUMNS} FROM approvals WHERE {_IS_LIVE} ORDER BY rowid"
            return [_row(row) for row in connection.execute(query, self._place(now)).fetchall()], heard

    def request(self, approval_id: str) -> str | None:
        """Return the JSON of a request, or None if it is gone or used."""
        found = self._database.row("SELECT request FROM approvals WHERE id = ?", (approval_id,))
        return None if found is None else found[0] or None

    def has_any(self) -> bool:
        """Whether there is anything to look at; costs next to nothing."""
        return self._database.row("SELECT 1 FROM approvals LIMIT 1") is not None

    def tidy(self, *, now: float) -> None:
        """Remove what has expired, and processes that are dead."""
        expired = "SELECT EXISTS (SELECT 1 FROM approvals WHERE expires <= :now)"
        dead = " OR EXISTS (SELECT 1 FROM approval_processes WHERE leased_until <= :dead)"
        if self._database.row(expired + dead, {"now": now, "dead": now - LEASE_SECONDS})[0]:
            self._database.write(lambda connection: _remove_expired(connection, now), durable=False)

    def must_ask(self, *, now: float) -> bool:
        """Whether another process wants agents asked in all of them; costs next to nothing."""
        return bool(self._database.row(_ASKS_FOR_ALL, self._place(now))[0])

    def attend(self, *, now: float, listens: bool, asks_for_all: bool = False) -> None:
        """Say that this process lives, whether somebody in it answers, and whether agents of all processes must ask.

        What has expired is removed.
        """
        state = listens | asks_for_all << 1

        def work(connection: sqlite3.Connection) -> bool:
            _remove_expired(connection, now)
            return self._stay(connection, now, state=state)

        if self._database.write(work, durable=False):
            self._on_change()

    def leave(self) -> None:
        """Say that this process ends, and with it the requests that it has open."""

        def work(connection: sqlite3.Connection) -> int:
            connection.execute("DELETE FROM approval_processes WHERE process = ?", (self._process,))
            unanswered = "DELETE FROM approvals WHERE process = ? AND answer IS NULL"
            return connection.execute(unanswered, (self._process,)).rowcount

        self._database.write(work, durable=False)
        self._on_change()

    def _place(self, now: float) -> dict[str, Any]:
        return {"now": now, "process": self._process}

    def _stay(self, connection: sqlite3.Connection, now: float, *, state: int | None) -> bool:
        """Renew the lease; returns whether others must know, because somebody began or ceased to listen.

        `state` has bit 0 where somebody listens, bit 1 where agents of all processes must ask; None leaves it.
        """
        known = connection.execute(
            "SELECT listens, leased_until FROM approval_processes WHERE process = ?", (self._process,)
        ).fetchone()
        former = 0 if known is None else int(known[0])
        state = former if state is None else state
        connection.execute(
            "INSERT OR REPLACE INTO approval_processes VALUES (?, ?, ?)", (self._process, state, now + LEASE_SECONDS)
        )
        return state != former or (known is not None and known[1] <= now)

    def _is_full(self, connection: sqlite3.Connection, place: dict[str, Any], added: int) -> bool:
        count, size = connection.execute(
            f"SELECT count(*), coalesce(sum(length(request)), 0) FROM approvals WHERE NOT used AND {_IS_LIVE}", place
        ).fetchone()
        return bool(count >= MOST_REQUESTS or size + added > MOST_BYTES)


def _remove_expired(connection: sqlite3.Connection, now: float) -> None:
    connection.execute("DELETE FROM approvals WHERE expires <= ?", (now,))
    connection.execute("DELETE FROM approval_processes WHERE leased_until <= ?", (now - LEASE_SECONDS,))


def _is_true(connection: sqlite3.Connection, query: str, values: dict[str, Any]) -> bool:
    (found,) = connection.execute(query, values).fetchone()
    return bool(found)


def _row(values: tuple[Any, ...]) -> ApprovalRow:
    approval_id, call, asks, expires, answer, edited_text, used = values
    return ApprovalRow(
        id=approval_id,
        call=call,
        asks=asks,
        expires=expires,
        answer=answer,
        edited_text=edited_text,
        is_used=bool(used),
    )
