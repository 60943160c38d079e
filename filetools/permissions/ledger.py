"""The requests of all processes as this one knows them: looked up in the book, told to those who answer and follow."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct, structs

from filetools.errors import ApprovalRequiredError, InvalidArgumentError, StateDamagedError
from filetools.permissions.audience import Audience
from filetools.permissions.book import ApprovalBook, BookRow, CallRun
from filetools.permissions.policy import RunTrust
from filetools.permissions.requests import (
    ApprovalAsked,
    ApprovalDecision,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequest,
    Notify,
    known_answer,
)
from filetools.permissions.tickets import Case, Ticket, Tickets

KNOWN_SECONDS: Final = 0.25
"""How long a process believes what it knows of whether all agents must ask: looking costs a write four system calls."""


class _SeenAnswer(Struct, frozen=True, kw_only=True):
    """What one look found in the book."""

    rows: Sequence[BookRow]
    others_listen: bool
    new: list[ApprovalRequest]


class Ledger:
    """Requests, answers, and who is told of them; lives as long as its `Approvals`.

    Args:
        book: What all processes know.
        run: Runs the book's work.
        trust: Where "allow for this run" is kept.
        notify: Receives a notice for every request that opens, is allowed or refused.
        on_change: Called when somebody came or left, and when a request opened.
        open_seconds: How long an answer waits for a call that uses it.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        book: ApprovalBook,
        run: CallRun,
        trust: RunTrust,
        *,
        notify: Notify,
        on_change: Callable[[], None],
        open_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self.tickets = Tickets()
        self.audience = Audience(self.tickets, self.give, on_change)
        self._book = book
        self._run = run
        self._trust = trust
        self._notify = notify
        self._on_change = on_change
        self._open_seconds = open_seconds
        self._clock = clock
        self._has_attended = False
        self._others_ask = False
        self._known_until = 0.0
        self.asks_for_all = 0
        """How many in this process want agents asked in all processes."""
        self._opening: set[str] = set()
        """Requests of this process that may be in the book already: their calls admit them, not a look."""
        self._looking = asyncio.Lock()
        self._looks = 0

    async def open(self, case: Case, request: ApprovalRequest) -> Ticket | None:
        """Return the ticket of an identical call, or of a new request.

        Returns:
            None if an identical call has used its answer before this one could wait for it.

        Raises:
            ApprovalRequiredError: Too many requests are open.
        """
        ask = partial(self._book.ask, request.id, case.key, json.dumps(request.to_dict()))
        here = self.audience.is_here
        self._opening.add(request.id)
        try:
            asked = await self._run(partial(ask, now=request.created, expires=request.expires, is_heard=here))
        finally:
            self._opening.discard(request.id)
        if asked is None:
            raise ApprovalRequiredError(case.tool, case.path, "too many approval requests are open already")
        row, others_listen = asked
        if self.tickets.is_used(row.id):
            return None
        ticket = self.tickets.get(row.id)
        if ticket is None:
            # An identical call's own request, perhaps of another process, says the same but for its name and time.
            ticket = self._admit(structs.replace(request, id=row.id, expires=row.expires))
        ticket.is_own = True
        ticket.asks = max(ticket.asks, row.asks)
        self._see(row)
        self.audience.note_others(others_listen)
        return ticket

    async def give(self, ticket: Ticket, decision: ApprovalDecision) -> None:
        """Answer a request.

        Raises:
            InvalidArgumentError: It is not open (any more).
        """
        now = self._clock()
        expires = now + self._open_seconds
        give = partial(self._book.answer, ticket.request.id, decision.answer, decision.edited_text)
        if not await self._run(lambda: give(now=now, expires=expires)):
            raise not_open(ticket.request.id)
        ticket.expires = expires
        self._settle(ticket, decision)

    async def take(self, ticket: Ticket) -> bool:
        """Use an answer; whether no identical call did before."""
        is_first = not ticket.is_over and await self._run(partial(self._book.take, ticket.request.id))
        self.tickets.end(ticket, is_used=True)
        return is_first

    async def is_attended(self) -> bool:
        """Whether anybody could answer now, in this process or in another one."""
        return self.audience.is_here or (await self._run(partial(self._book.live, now=self._clock())))[1]

    async def leave(self) -> None:
        """Say that this process ends, and with it what it asks."""
        await self._run(self._book.leave)

    @property
    def is_needed(self) -> bool:
        """Whether other processes rely on this one being there."""
        return self.audience.is_for_all or self.asks_for_all > 0

    def must_ask(self) -> bool:
        """Whether somebody, in whatever process, wants every agent asked."""
        if self.asks_for_all == 0 and time.monotonic() > self._known_until:
            try:
                self._others_ask = self._book.must_ask(now=self._clock())
            except StateDamagedError:
                return False  # without its journal no change can be made, and the call says what is gone
            self._known_until = time.monotonic() + KNOWN_SECONDS
        return self.asks_for_all > 0 or self._others_ask

    def has_news(self) -> bool:
        """Whether a look may be worth its while; quick, from any thread."""
        return bool(self.tickets) or self._book.has_any()

    async def attend(self) -> None:
        """Say that this process lives, where others have to know, and take in what they did."""
        listens, asks_for_all = self.audience.is_for_all, self.asks_for_all > 0
        if listens or asks_for_all or self._has_attended or any(ticket.is_own for ticket in self.tickets.values()):
            self._has_attended = listens or asks_for_all
            attend = partial(self._book.attend, listens=listens, asks_for_all=asks_for_all)
            await self._run(partial(attend, now=self._clock()))
        await self.look()

    async def look(self) -> None:
        """Take in what other processes asked and answered."""
        async with self._looking:  # an older look must not be taken in after a newer one
            self._looks += 1
            now = self._clock()
            known = set(self.tickets)
            seen = await self._run(partial(self._read, known, now))
            for request in seen.new:
                is_ours = request.id in self._opening
                if not is_ours and self.tickets.get(request.id) is None and not self.tickets.is_used(request.id):
                    self._admit(request)
            for row in seen.rows:
                self._see(row)
            live = {row.id for row in seen.rows}
            for ticket in list(self.tickets.values()):
                if ticket.request.id not in live and ticket.born < self._looks:
                    self._vanish(ticket, is_late=ticket.expires <= now)
            self.audience.note_others(seen.others_listen)

    def _read(self, known: set[str], now: float) -> _SeenAnswer:
        rows, others_listen = self._book.live(now=now)
        new = [row.id for row in rows if row.id not in known and row.answer is None]
        texts = [text for text in map(self._book.request, new) if text is not None]
        requests = [ApprovalRequest.from_dict(json.loads(text)) for text in texts]
        return _SeenAnswer(rows=rows, others_listen=others_listen, new=requests)

    def _admit(self, request: ApprovalRequest) -> Ticket:
        ticket = Ticket(request=request, born=self._looks, expires=request.expires)
        self.tickets[request.id] = ticket
        self._on_change()
        self._notify(ApprovalAsked(request=request))
        return ticket

    def _see(self, row: BookRow) -> None:
        ticket = self.tickets.get(row.id)
        if ticket is None:
            return
        ticket.expires = row.expires
        if row.answer is not None:
            self._settle(ticket, ApprovalDecision(answer=known_answer(row.answer), edited_text=row.edited_text))
        elif row.asks > ticket.asks:
            ticket.asks = row.asks
            self.audience.ask(ticket)
        if row.is_used and not ticket.waiting:
            self.tickets.end(ticket, is_used=True)

    def _settle(self, ticket: Ticket, decision: ApprovalDecision) -> None:
        if ticket.decision is not None:
            return
        ticket.decision = decision
        for task in ticket.asking.values():
            if task is not asyncio.current_task():
                task.cancel()
        if decision.answer == "allow_for_run":
            _trust_run(self._trust, ticket.request)
        ticket.settled.set()
        if decision.answer == "deny":
            self._notify(ApprovalRefused(request=ticket.request, reason="denied"))
        else:
            self._notify(ApprovalGranted(request=ticket.request, answer=decision.answer))

    def _vanish(self, ticket: Ticket, *, is_late: bool) -> None:
        """End a ticket that is no longer in the book: its time has passed, or its process has ended."""
        is_unanswered = ticket.decision is None
        if is_unanswered and is_late:
            ticket.decision = ApprovalDecision(answer="deny")
        self.tickets.end(ticket)
        if is_unanswered:
            reason = "nobody answered in time" if is_late else "its process has ended"
            self._notify(ApprovalRefused(request=ticket.request, reason=reason))


def not_open(approval_id: str) -> InvalidArgumentError:
    """Return the error for answering what is not open."""
    return InvalidArgumentError(f"No approval request {approval_id!r} is open")


def _trust_run(trust: RunTrust, request: ApprovalRequest) -> None:
    # Trust in a protected path is trust in that path alone; the tool stays asked about everywhere else.
    if request.reason == "protected":
        for path in request.paths:
            trust.add(request.actor, request.tool, path)
    else:
        trust.add(request.actor, request.tool)
