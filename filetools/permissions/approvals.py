"""Asks people: requests that all processes see, who may answer them, and late answers."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, TypeVar

from msgspec import structs

from filetools.errors import (
    AccessDeniedError,
    ApprovalDeniedError,
    ApprovalRequiredError,
    FileToolsError,
    InvalidArgumentError,
    StateDamagedError,
)
from filetools.events.types import ApprovalRequired, Event, ToolApproved, ToolRejected
from filetools.journal.table import Table
from filetools.locks.deadline import current_deadline, uncounted
from filetools.models.records import Actor
from filetools.permissions.audience import Attendance, Audience, Case, Ticket
from filetools.permissions.policy import DELETING_TOOLS, READING_TOOLS, RunTrust
from filetools.permissions.requests import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovalRow,
    ApprovalTable,
    AskReason,
    Risk,
    ShownChange,
    decided,
)

T = TypeVar("T")


class CallRun(Protocol):
    """Runs blocking work in a worker thread of the project."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what `work` returns."""


logger = logging.getLogger(__name__)
OPEN_SECONDS: Final = 600.0
"""How long a request, or an unused answer, is kept."""
WAIT_SECONDS: Final = 50.0
RENEW_SECONDS: Final = 2.0
"""How often a process that asks or answers renews its lease, and checks those of the others."""
KNOWN_SECONDS: Final = 0.25
"""How long a process caches whether all agents must ask: each look costs four system calls."""
_REASONS: Final[Mapping[AskReason, str]] = {
    "protected": "changes of this path can make other programs run code",
    "conflict": "it has unsaved changes",
    "prompt": "the permissions in force ask for it",
}


class Approvals:
    """The approval requests of one workspace, used on its loop; closed with `aclose`.

    Args:
        trust: Where "allow for this run" is kept.
        table: Shares requests and answers among all processes.
        run: Runs the table's work.
        publish: Publishes an event for every request that opens, is allowed or refused, in any process.
        wait_seconds: How long a call waits for its answer.
        open_seconds: How long a request stays open before it is denied, and an answer waits for a call that uses it.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        trust: RunTrust,
        table: Table,
        run: CallRun,
        *,
        publish: Callable[[Event], object],
        wait_seconds: float = WAIT_SECONDS,
        open_seconds: float = OPEN_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.tickets: dict[str, Ticket] = {}
        """Requests that are not over, by id."""
        self._renewal = asyncio.Event()
        self._presence: asyncio.Task[None] | None = None
        """Renews the lease of this process, and looks at the others, while something needs it."""
        self.audience = Audience(self.tickets, self._record_answer, self.renew_soon)
        """Who can answer."""
        self._book = ApprovalTable(table)
        self._run = run
        self._trust = trust
        self._publish = publish
        self._wait_seconds = wait_seconds
        self._open_seconds = open_seconds
        self._clock = clock
        self._is_closed = False
        self._others_ask = False
        self._known_until = 0.0
        self._asks_for_all = 0
        """How many in this process require the agents of all processes to ask."""
        self._reading = asyncio.Lock()
        """Held from reading the table until the tickets agree with it: no older look is applied after a newer one."""

    async def require(self) -> Attendance:
        """Make every agent ask, in all processes on the root, until the attendance is closed or this process ends."""

        def leave() -> None:
            self._asks_for_all -= 1
            self.renew_soon()

        self._asks_for_all += 1
        await self.renew()
        self.renew_soon()
        await asyncio.sleep(KNOWN_SECONDS)  # afterwards every process knows, so every later call asks
        return Attendance(leave)

    def open_requests(self) -> list[ApprovalRequest]:
        """Return the unanswered requests, oldest first, as of this process's last look."""
        return [ticket.request for ticket in self.tickets.values() if ticket.decision is None]

    async def answer(self, approval_id: str, answer: str, *, by: Actor, edited_text: str | None = None) -> None:
        """Answer a request, while its call waits or later; a late "allow" lets the next identical call pass once.

        Args:
            approval_id: Id of an open request, of any process.
            answer: "allow", "allow_for_run", "deny", or "merge" to have another text written; "cancel" denies a conflict.
            by: Who answers; only people may.
            edited_text: For "merge": the whole text.

        Raises:
            AccessDeniedError: An agent or a foreign program tries to answer.
            InvalidArgumentError: No such answer, or the request is not open (any more).
        """
        if by.kind != "editor":
            raise AccessDeniedError(
                approval_id,
                "only a person answers approvals",
                suggested_action="Ask the user to answer it: on the editor page, or with 'filetools approve'.",
            )
        if self.tickets.get(approval_id) is None:
            await self.look()
        ticket = self.tickets.get(approval_id)
        if ticket is None or ticket.decision is not None:
            raise not_open(approval_id)
        await self._record_answer(ticket, decided(answer, ticket.request, edited_text))

    async def ask(self, case: Case) -> ApprovalDecision | None:
        """Get a person's decision about a call. No lock may be held meanwhile.

        Returns:
            The decision; None if an identical call used the answer meanwhile, so that the caller should check the policy
            again.

        Raises:
            ApprovalRequiredError: Nobody is present to answer, or nobody did in time; the request stays open.
            ApprovalDeniedError: A person denied it, or the request expired.
        """
        if self._is_closed:
            raise ApprovalRequiredError(case.tool, case.path, "the workspace is being closed")
        ticket = await self._open(case)
        if ticket.decision is None and not ticket.is_over and self.audience.ask(ticket):
            await self._wait(ticket)
        return await self._use(ticket)

    async def aclose(self) -> None:
        """Stop asking; waiting calls end as if nobody answered. May be called twice."""
        self._is_closed = True
        presence, self._presence = self._presence, None
        for ticket in list(self.tickets.values()):
            self._end(ticket)
        await self.audience.aclose()
        if presence is not None:
            presence.cancel()
            await asyncio.gather(presence, return_exceptions=True)
            with suppress(FileToolsError):
                await self._run(partial(self._book.attend, now=self._clock(), listens=False))

    async def _wait(self, ticket: Ticket) -> None:
        if ticket.settled.is_set():
            ticket.settled = asyncio.Event()
        ticket.waiting += 1
        try:
            with uncounted():
                async with asyncio.timeout(self._wait_seconds):
                    await ticket.settled.wait()
        except TimeoutError:
            # The request stays open; its answer is for the next identical call.
            logger.debug("Nobody answered request %s in time", ticket.request.id)
        finally:
            ticket.waiting -= 1

    async def _use(self, ticket: Ticket) -> ApprovalDecision | None:
        request, decision = ticket.request, ticket.decision
        if decision is None:
            raise ApprovalRequiredError(
                request.tool, request.path, _REASONS[request.reason], None if ticket.is_over else request.id
            )
        async with self._reading:
            # An identical call may have used it before.
            is_first = not ticket.is_over and await self._run(partial(self._book.take, request.id))
            self._end(ticket)
        if decision.answer == "deny":
            raise ApprovalDeniedError(request.tool, request.path)
        if not is_first:
            return None
        if deadline := current_deadline():
            deadline.note_approval(decision.answer)
        return decision

    async def _open(self, case: Case) -> Ticket:
        """Return the ticket of an identical call, or of a new request.

        Raises:
            ApprovalRequiredError: Too many requests are open.
        """
        request = _request_of(case, self._clock(), self._open_seconds)
        session = case.actor.session or case.actor.id
        ask = partial(self._book.ask, request.id, case.key, session, request.to_dict())
        async with self._reading:
            asked = await self._run(partial(ask, now=request.created, expires=request.expires))
            if asked is None:
                raise ApprovalRequiredError(case.tool, case.path, "too many approval requests are open already")
            row, others_listen = asked
            # The identical call's request, perhaps of another process, differs only in its id and time.
            ticket = self.tickets.get(row.id) or self._admit(structs.replace(request, id=row.id, expires=row.expires))
            self._update(row)
            self.audience.note_others(others_listen)
        return ticket

    async def _record_answer(self, ticket: Ticket, decision: ApprovalDecision) -> None:
        """Answer a request.

        Raises:
            InvalidArgumentError: It is not open (any more).
        """
        now, approval_id = self._clock(), ticket.request.id
        answer = partial(self._book.answer, approval_id, decision, now=now, expires=now + self._open_seconds)
        async with self._reading:
            row = await self._run(answer)
            if row is None:
                raise not_open(approval_id)
            self._update(row)

    async def is_attended(self) -> bool:
        """True if anybody could answer now, in this process or in another one."""
        return self.audience.is_here or (await self._run(partial(self._book.live, now=self._clock())))[1]

    def renew_soon(self) -> None:
        """Renew the lease soon, because something has changed."""
        self._renewal.set()
        if not self._is_closed and (self._presence is None or self._presence.done()):
            self._presence = asyncio.create_task(self._be_present(), name="filetools approvals")

    async def _be_present(self) -> None:
        while self.tickets or self.audience.is_for_all or self._asks_for_all > 0 or self._renewal.is_set():
            self._renewal.clear()
            try:
                await self.renew()
            except FileToolsError as exc:
                logger.warning("cannot see approvals of other processes now: %s", exc)
            pause = min([RENEW_SECONDS, *(ticket.expires - self._clock() for ticket in self.tickets.values())])
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.001, pause)):
                    await self._renewal.wait()

    def must_ask(self) -> bool:
        """True if somebody, in any process, requires every agent to ask."""
        if self._asks_for_all == 0 and time.monotonic() > self._known_until:
            try:
                self._others_ask = self._book.must_ask(now=self._clock())
            except StateDamagedError:
                return False  # without its journal no change can be made, and the call reports that
            self._known_until = time.monotonic() + KNOWN_SECONDS
        return self._asks_for_all > 0 or self._others_ask

    def has_news(self) -> bool:
        """True if a look may find something; quick, from any thread."""
        return bool(self.tickets) or self._book.has_any()

    async def renew(self) -> None:
        """Renew the lease of this process, if it has one to keep, then `look`."""
        listens, asks_for_all = self.audience.is_for_all, self._asks_for_all > 0
        await self._run(partial(self._book.attend, now=self._clock(), listens=listens, asks_for_all=asks_for_all))
        await self.look()

    async def look(self) -> None:
        """Update the tickets from requests and answers of other processes."""
        async with self._reading:
            now = self._clock()
            known = list(self.tickets)
            rows, others_listen, new = await self._run(partial(self._read, known, now))
            for request in new:
                self._admit(request)
            for row in rows:
                self._update(row)
            live = {row.id for row in rows}
            for ticket in [ticket for name, ticket in self.tickets.items() if name not in live]:
                self._settle(ticket, ApprovalDecision(answer="deny"), "nobody answered in time")
                self._end(ticket)
            self.audience.note_others(others_listen)

    def _read(self, known: Collection[str], now: float) -> tuple[Sequence[ApprovalRow], bool, list[ApprovalRequest]]:
        rows, others_listen = self._book.live(now=now, known=known)
        new = [self._book.shown(row.id) for row in rows if row.id not in known and row.answer is None]
        return rows, others_listen, [ApprovalRequest.from_dict(shown) for shown in new if shown is not None]

    def _admit(self, request: ApprovalRequest) -> Ticket:
        ticket = Ticket(request=request, expires=request.expires)
        self.tickets[request.id] = ticket
        self.renew_soon()
        self._publish(ApprovalRequired(**_facts(request), reason=request.reason))
        return ticket

    def _end(self, ticket: Ticket) -> None:
        """Forget a ticket; a call that still waits for it stops waiting."""
        ticket.is_over = True
        for task in ticket.asking.values():
            task.cancel()
        ticket.settled.set()
        self.tickets.pop(ticket.request.id, None)

    def _update(self, row: ApprovalRow) -> None:
        ticket = self.tickets.get(row.id)
        if ticket is None:
            return
        ticket.expires = row.expires
        if row.answer is not None:
            self._settle(ticket, ApprovalDecision(answer=row.answer, edited_text=row.edited_text))
        if row.is_used and not ticket.waiting:
            self._end(ticket)

    def _settle(self, ticket: Ticket, decision: ApprovalDecision, denial: str = "denied") -> None:
        """Record the decision about a ticket, unless it has one."""
        if ticket.decision is not None:
            return
        ticket.decision = decision
        for task in ticket.asking.values():
            if task is not asyncio.current_task():
                task.cancel()
        if decision.answer == "allow_for_run":
            # Trust in a protected path covers only that path; the tool still needs approval everywhere else.
            for path in ticket.request.paths if ticket.request.reason == "protected" else (None,):
                self._trust.add(ticket.request.actor, ticket.request.tool, path)
        ticket.settled.set()
        if decision.answer == "deny":
            self._publish(ToolRejected(**_facts(ticket.request), reason=denial))
        else:
            self._publish(ToolApproved(**_facts(ticket.request)))


def _request_of(case: Case, now: float, open_seconds: float) -> ApprovalRequest:
    return ApprovalRequest(
        **{name: getattr(case.proposal, name) for name in ShownChange.__struct_fields__},
        id=f"approval-{secrets.token_hex(8)}",
        tool=case.tool,
        path=case.path,
        paths=case.paths,
        risk=_risk_of(case),
        reason=case.reason,
        actor=case.actor,
        created=now,
        expires=now + open_seconds,
    )


def _facts(request: ApprovalRequest) -> dict[str, str]:
    """Return the fields that events about a request share."""
    call = request.actor.call or ""
    return {"tool_name": request.tool, "tool_call_id": call, "path": request.path, "approval_id": request.id}


def _risk_of(case: Case) -> Risk:
    is_dangerous = case.is_protected or case.proposal.is_destructive or case.proposal.is_cut
    if is_dangerous or case.tool in DELETING_TOOLS:
        return "high"
    return "low" if case.tool in READING_TOOLS else "medium"


def not_open(approval_id: str) -> InvalidArgumentError:
    """Return the error for answering a request that is not open."""
    return InvalidArgumentError(
        f"No approval request {approval_id!r} is open",
        suggested_action="A request ends with its answer, or after ten minutes: repeat the call, or answer one of the requests"
        " that are listed.",
    )
