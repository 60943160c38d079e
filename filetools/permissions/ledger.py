"""The requests of all processes as this one knows them: looked up in the journal, told to those who answer and follow."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, TypeVar

from msgspec import structs

from filetools.errors import ApprovalRequiredError, FileToolsError, InvalidArgumentError, StateDamagedError
from filetools.journal.approvals import ApprovalRow, ApprovalTable
from filetools.permissions.audience import Audience, Case, Ticket
from filetools.permissions.policy import RunTrust
from filetools.permissions.requests import (
    ApprovalDecision,
    ApprovalNotice,
    ApprovalRequest,
    Notify,
    ignore_notice,
    known_answer,
)

T = TypeVar("T")


class CallRun(Protocol):
    """Runs blocking work in a worker thread of the project."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what `work` returns."""


logger = logging.getLogger(__name__)

REMEMBERED_ENDS: Final = 1024
OPEN_SECONDS: Final = 600.0
"""How long a request, and a late answer that no call has used, stays."""
WAIT_SECONDS: Final = 50.0
RENEW_SECONDS: Final = 2.0
"""How often a process that asks or answers says that it lives, and looks whether the others still do."""
KNOWN_SECONDS: Final = 0.25
"""How long a process believes what it knows of whether all agents must ask: looking costs a write four system calls."""


class Ledger:
    """Requests, answers, and who is told of them; what `Approvals` asks with, and lives as long.

    Args:
        trust: Where "allow for this run" is kept.
        book: What all processes know of requests and answers.
        run: Runs the book's work.
        notify: Receives a notice for every request that opens, is allowed or refused, in whatever process.
        wait_seconds: How long a call waits for its answer.
        open_seconds: How long a request stays open, then it is denied; and how long an answer waits for a call that uses it.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        trust: RunTrust,
        book: ApprovalTable,
        run: CallRun,
        *,
        notify: Notify = ignore_notice,
        wait_seconds: float = WAIT_SECONDS,
        open_seconds: float = OPEN_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.tickets: dict[str, Ticket] = {}
        """All that are not over, by their id."""
        self._ended: deque[str] = deque(maxlen=REMEMBERED_ENDS)
        """Requests whose answers this process has used; an older look may still show them as open."""
        self._stirred = asyncio.Event()
        self._presence: asyncio.Task[None] | None = None
        """Says that this process lives, and looks at the others, while there is something to be present for."""
        self._audience = Audience(self.tickets, self._give, self.stir)
        self._book = book
        self._run = run
        self._trust = trust
        self._notify = notify
        self._wait_seconds = wait_seconds
        self._open_seconds = open_seconds
        self._clock = clock
        self._is_closed = False
        self._has_attended = False
        self._others_ask = False
        self._known_until = 0.0
        self._asks_for_all = 0
        """How many in this process want agents asked in all processes."""
        self._opening: set[str] = set()
        """Requests of this process that may be in the book already: their calls admit them, not a look."""
        self._looking = asyncio.Lock()
        self._looks = 0

    async def _open(self, case: Case, request: ApprovalRequest) -> Ticket | None:
        """Return the ticket of an identical call, or of a new request.

        Returns:
            None if an identical call has used its answer before this one could wait for it.

        Raises:
            ApprovalRequiredError: Too many requests are open.
        """
        ask = partial(self._book.ask, request.id, case.key, json.dumps(request.to_dict()))
        here = self._audience.is_here
        self._opening.add(request.id)
        try:
            asked = await self._run(partial(ask, now=request.created, expires=request.expires, is_heard=here))
        finally:
            self._opening.discard(request.id)
        if asked is None:
            raise ApprovalRequiredError(case.tool, case.path, "too many approval requests are open already")
        row, others_listen = asked
        if row.id in self._ended:
            return None
        ticket = self.tickets.get(row.id)
        if ticket is None:
            # An identical call's own request, perhaps of another process, says the same but for its name and time.
            ticket = self._admit(structs.replace(request, id=row.id, expires=row.expires))
        ticket.is_own = True
        ticket.asks = max(ticket.asks, row.asks)
        self._see(row)
        self._audience.note_others(others_listen)
        return ticket

    async def _give(self, ticket: Ticket, decision: ApprovalDecision) -> None:
        """Answer a request.

        Raises:
            InvalidArgumentError: It is not open (any more).
        """
        now = self._clock()
        answer, text, approval_id = decision.answer, decision.edited_text, ticket.request.id
        expires = now + self._open_seconds
        if not await self._run(lambda: self._book.answer(approval_id, answer, text, now=now, expires=expires)):
            raise not_open(approval_id)
        ticket.expires = expires
        self._settle(ticket, decision)

    async def _take(self, ticket: Ticket) -> bool:
        """Use an answer; whether no identical call did before."""
        is_first = not ticket.is_over and await self._run(partial(self._book.take, ticket.request.id))
        self._end(ticket, is_used=True)
        return is_first

    async def is_attended(self) -> bool:
        """Whether anybody could answer now, in this process or in another one."""
        return self._audience.is_here or (await self._run(partial(self._book.live, now=self._clock())))[1]

    @property
    def _is_needed(self) -> bool:
        """Whether other processes rely on this one being there."""
        return self._audience.is_for_all or self._asks_for_all > 0

    def _next_end(self) -> float | None:
        if not self.tickets and not self._is_needed:
            return None
        now = self._clock()
        return min((ticket.expires for ticket in self.tickets.values()), default=now + OPEN_SECONDS) - now

    def stir(self) -> None:
        """Renew soon: something began, or has ended."""
        self._stirred.set()
        if not self._is_closed and (self._presence is None or self._presence.done()):
            self._presence = asyncio.create_task(self._be_present(), name="filetools approvals")

    async def _be_present(self) -> None:
        while self._next_end() is not None or self._stirred.is_set():
            self._stirred.clear()
            try:
                await self.renew()
            except FileToolsError as exc:
                logger.warning("approvals of other processes are not seen now: %s", exc)
            end = self._next_end()
            if end is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(RENEW_SECONDS, max(0.001, end))):
                        await self._stirred.wait()

    def must_ask(self) -> bool:
        """Whether somebody, in whatever process, wants every agent asked."""
        if self._asks_for_all == 0 and time.monotonic() > self._known_until:
            try:
                self._others_ask = self._book.must_ask(now=self._clock())
            except StateDamagedError:
                return False  # without its journal no change can be made, and the call says what is gone
            self._known_until = time.monotonic() + KNOWN_SECONDS
        return self._asks_for_all > 0 or self._others_ask

    def has_news(self) -> bool:
        """Whether a look may be worth its while; quick, from any thread."""
        return bool(self.tickets) or self._book.has_any()

    async def renew(self) -> None:
        """Say that this process lives, where others have to know, and take in what they did."""
        listens, asks_for_all = self._audience.is_for_all, self._asks_for_all > 0
        if listens or asks_for_all or self._has_attended or any(ticket.is_own for ticket in self.tickets.values()):
            self._has_attended = listens or asks_for_all
            now = self._clock()
            await self._run(lambda: self._book.attend(now=now, listens=listens, asks_for_all=asks_for_all))
        await self.look()

    async def look(self) -> None:
        """Take in what other processes asked and answered."""
        async with self._looking:  # an older look must not be taken in after a newer one
            self._looks += 1
            now = self._clock()
            known = set(self.tickets)
            rows, others_listen, new = await self._run(partial(self._read, known, now))
            for request in new:
                if not any(request.id in known for known in (self.tickets, self._ended, self._opening)):
                    self._admit(request)
            for row in rows:
                self._see(row)
            live = {row.id for row in rows}
            for ticket in list(self.tickets.values()):
                if ticket.request.id not in live and ticket.born < self._looks:
                    self._vanish(ticket, is_late=ticket.expires <= now)
            self._audience.note_others(others_listen)

    def _read(self, known: set[str], now: float) -> tuple[Sequence[ApprovalRow], bool, list[ApprovalRequest]]:
        rows, others_listen = self._book.live(now=now)
        texts = [self._book.request(row.id) for row in rows if row.id not in known and row.answer is None]
        return rows, others_listen, [ApprovalRequest.from_dict(json.loads(text)) for text in texts if text is not None]

    def _admit(self, request: ApprovalRequest) -> Ticket:
        ticket = Ticket(request=request, born=self._looks, expires=request.expires)
        self.tickets[request.id] = ticket
        self.stir()
        self._notify(ApprovalNotice(request=request, outcome="asked", reason=request.reason))
        return ticket

    def _end(self, ticket: Ticket, *, is_used: bool = False) -> None:
        """Forget a ticket; a call that still waits for it is told that it has ended."""
        ticket.is_over = True
        for task in ticket.asking.values():
            task.cancel()
        ticket.settled.set()
        self.tickets.pop(ticket.request.id, None)
        if is_used:
            self._ended.append(ticket.request.id)

    def _see(self, row: ApprovalRow) -> None:
        ticket = self.tickets.get(row.id)
        if ticket is None:
            return
        ticket.expires = row.expires
        if row.answer is not None:
            self._settle(ticket, ApprovalDecision(answer=known_answer(row.answer), edited_text=row.edited_text))
        elif row.asks > ticket.asks:
            ticket.asks = row.asks
            self._audience.ask(ticket)
        if row.is_used and not ticket.waiting:
            self._end(ticket, is_used=True)

    def _settle(self, ticket: Ticket, decision: ApprovalDecision) -> None:
        if ticket.decision is not None:
            return
        ticket.decision = decision
        for task in ticket.asking.values():
            if task is not asyncio.current_task():
                task.cancel()
        if decision.answer == "allow_for_run":
            # Trust in a protected path is trust in that path alone; the tool stays asked about everywhere else.
            for path in ticket.request.paths if ticket.request.reason == "protected" else (None,):
                self._trust.add(ticket.request.actor, ticket.request.tool, path)
        ticket.settled.set()
        if decision.answer == "deny":
            self._notify(ApprovalNotice(request=ticket.request, outcome="refused", reason="denied"))
        else:
            self._notify(ApprovalNotice(request=ticket.request, outcome="allowed"))

    def _vanish(self, ticket: Ticket, *, is_late: bool) -> None:
        """End a ticket that is no longer in the book: its time has passed, or its process has ended."""
        is_unanswered = ticket.decision is None
        if is_unanswered and is_late:
            ticket.decision = ApprovalDecision(answer="deny")
        self._end(ticket)
        if is_unanswered:
            reason = "nobody answered in time" if is_late else "its process has ended"
            self._notify(ApprovalNotice(request=ticket.request, outcome="refused", reason=reason))


def not_open(approval_id: str) -> InvalidArgumentError:
    """Return the error for answering what is not open."""
    return InvalidArgumentError(f"No approval request {approval_id!r} is open")
