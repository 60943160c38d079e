"""Asking people: requests that all processes see, who may answer them, and answers that come late."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from filetools.errors import (
    AccessDeniedError,
    ApprovalDeniedError,
    ApprovalRequiredError,
    FileToolsError,
    InvalidArgumentError,
)
from filetools.models.records import Actor
from filetools.permissions.audience import Attendance
from filetools.permissions.book import ApprovalBook, CallRun
from filetools.permissions.call_watch import current_watch, uncounted
from filetools.permissions.ledger import KNOWN_SECONDS, Ledger, not_open
from filetools.permissions.policy import RunTrust
from filetools.permissions.requests import ApprovalDecision, ApprovalRequest, Notify, Risk, decided, ignore_notice
from filetools.permissions.rules import DELETING_TOOLS, READING_TOOLS
from filetools.permissions.tickets import Approver, Case, Ticket

logger = logging.getLogger(__name__)

OPEN_SECONDS: Final = 600.0
"""How long a request, and a late answer that no call has used, stays."""
WAIT_SECONDS: Final = 50.0


class Approvals:
    """The questions of one workspace; belongs to its loop, lives as long as it is open, closed with `aclose`.

    Args:
        trust: Where "allow for this run" is kept.
        book: What all processes know of requests and answers.
        run: Runs the book's work.
        notify: Receives a notice for every request that opens, is allowed or refused, in whatever process.
        wait_seconds: How long a call waits for its answer.
        open_seconds: How long a request stays open; then it is denied.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        trust: RunTrust,
        book: ApprovalBook,
        run: CallRun,
        *,
        notify: Notify = ignore_notice,
        wait_seconds: float = WAIT_SECONDS,
        open_seconds: float = OPEN_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._is_closed = False
        self._wait_seconds = wait_seconds
        self._open_seconds = open_seconds
        self._clock = clock
        self._ledger = Ledger(
            book, run, trust, notify=notify, on_change=self._stir, open_seconds=open_seconds, clock=clock
        )
        self._presence = Presence(self._ledger.attend, self._next_end)

    def listen(self, approver: Approver, *, everywhere: bool = True) -> Attendance:
        """Let a callback answer requests; with several, the first answer counts.

        A callback that raises, or returns what is no answer, has not answered.

        Args:
            approver: The callback.
            everywhere: Whether it is asked about those of other processes, too.
        """
        return self._ledger.audience.listen(approver, everywhere=everywhere)

    def attend(self) -> Attendance:
        """Say that somebody follows the notices and will call `answer`, such as a page with a person before it."""
        return self._ledger.audience.attend()

    async def require(self) -> Attendance:
        """Have every agent asked, in all processes on the root, until the attendance is closed or this process ends."""

        def leave() -> None:
            self._ledger.asks_for_all -= 1
            self._stir()

        self._ledger.asks_for_all += 1
        await self._ledger.attend()
        self._stir()
        await asyncio.sleep(KNOWN_SECONDS)  # now every process knows: whoever calls after this has returned is asked
        return Attendance(leave)

    def must_ask(self) -> bool:
        """Whether somebody, in whatever process, wants every agent asked; quick, from any thread."""
        return self._ledger.must_ask()

    def open_requests(self) -> list[ApprovalRequest]:
        """Return the requests that nobody has answered yet, oldest first, as this process knew them at its last look."""
        return [ticket.request for ticket in self._ledger.tickets.values() if ticket.decision is None]

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
            raise AccessDeniedError(approval_id, "only a person answers approvals")
        if self._ledger.tickets.get(approval_id) is None:
            await self.look()
        ticket = self._ledger.tickets.get(approval_id)
        if ticket is None or ticket.decision is not None:
            raise not_open(approval_id)
        await self._ledger.give(ticket, decided(answer, ticket.request, edited_text))

    async def ask(self, case: Case, *, is_needed: Callable[[], bool] = lambda: True) -> ApprovalDecision | None:
        """Get a person's decision about a call. No lock may be held meanwhile.

        Args:
            case: What the person decides about.
            is_needed: Whether the policy still wants it. While a call is on its way to a person, its run may become
                trusted; nobody is asked a second time then.

        Returns:
            What the person said; None if the answer was used by an identical call meanwhile, so that the caller
            should look at the policy again.

        Raises:
            ApprovalRequiredError: Nobody is there to answer, or nobody did in time; the request stays open.
            ApprovalDeniedError: A person said no, or the request expired.
        """
        if self._is_closed:
            raise ApprovalRequiredError(case.tool, case.path, "the workspace is being closed")
        request = _request_of(case, self._clock(), self._open_seconds)
        ticket = await self._ledger.open(case, request)
        if ticket is None:
            return None
        if ticket.decision is None and not ticket.is_over:
            if not is_needed():
                with suppress(InvalidArgumentError):  # somebody has answered it just now
                    await self._ledger.give(ticket, ApprovalDecision(answer="allow"))
            elif self._ledger.audience.ask(ticket):
                await self._wait(ticket)
        return await self._use(ticket)

    def has_news(self) -> bool:
        """Whether a look may be worth its while; quick, from any thread."""
        return self._ledger.has_news()

    async def is_attended(self) -> bool:
        """Whether anybody could answer now, in whatever process."""
        return await self._ledger.is_attended()

    async def look(self) -> None:
        """Take in what other processes asked and answered."""
        await self._ledger.look()

    async def aclose(self) -> None:
        """Stop asking; calls that wait are told that nobody answers. May be called twice."""
        self._is_closed = True
        was_present = await self._presence.aclose()
        tickets = self._ledger.tickets
        is_first = bool(tickets) or self._ledger.is_needed
        for ticket in list(tickets.values()):
            tickets.end(ticket)
        await self._ledger.audience.aclose()
        if was_present and is_first:
            with suppress(FileToolsError):
                await self._ledger.leave()

    async def _wait(self, ticket: Ticket) -> None:
        if ticket.settled.is_set():
            ticket.settled = asyncio.Event()
        ticket.waiting += 1
        try:
            with uncounted():
                async with asyncio.timeout(self._wait_seconds):
                    await ticket.settled.wait()
        except TimeoutError:
            # The request stays open; what comes of it is for the next identical call.
            logger.debug("Nobody answered request %s in time", ticket.request.id)
        finally:
            ticket.waiting -= 1

    async def _use(self, ticket: Ticket) -> ApprovalDecision | None:
        request, decision = ticket.request, ticket.decision
        if decision is None:
            raise ApprovalRequiredError(
                request.tool, request.path, _why(request), None if ticket.is_over else request.id
            )
        is_first = await self._ledger.take(ticket)
        if decision.answer == "deny":
            raise ApprovalDeniedError(request.tool, request.path)
        if not is_first:
            return None
        if watch := current_watch():
            watch.note_approval(decision.answer)
        return decision

    def _stir(self) -> None:
        self._presence.stir()

    def _next_end(self) -> float | None:
        tickets = self._ledger.tickets
        if not tickets and not self._ledger.is_needed:
            return None
        return (
            min((ticket.expires for ticket in tickets.values()), default=self._clock() + OPEN_SECONDS) - self._clock()
        )


def _request_of(case: Case, now: float, open_seconds: float) -> ApprovalRequest:
    proposal = case.proposal
    return ApprovalRequest(
        id=f"approval-{secrets.token_hex(8)}",
        tool=case.tool,
        path=case.path,
        paths=case.paths,
        version=proposal.version,
        description=proposal.description,
        risk=_risk_of(case),
        reason=case.reason,
        old_text=proposal.old_text,
        new_text=proposal.new_text,
        base_text=proposal.base_text,
        by_words=proposal.by_words,
        diff=proposal.diff,
        can_merge=proposal.can_merge,
        actor=case.actor,
        created=now,
        expires=now + open_seconds,
    )


def _risk_of(case: Case) -> Risk:
    is_dangerous = case.is_protected or case.proposal.is_destructive or case.proposal.is_cut
    if is_dangerous or case.tool in DELETING_TOOLS:
        return "high"
    return "low" if case.tool in READING_TOOLS else "medium"


def _why(request: ApprovalRequest) -> str:
    if request.reason == "protected":
        return "changes of this path can make other programs run code"
    if request.reason == "conflict":
        return "it has unsaved changes"
    return "the permissions in force ask for it"


logger = logging.getLogger(__name__)

RENEW_SECONDS: Final = 2.0
"""How often a process that asks or answers says that it lives, and looks whether the others still do."""


class Presence:
    """A task that exists only while there is something to be present for. Belongs to one loop.

    Args:
        renew: Says that the process lives, and looks at the others.
        next_end: Whether there is something to be present for, and in how many seconds the next of it ends: None if not.
    """

    def __init__(self, renew: Callable[[], Awaitable[None]], next_end: Callable[[], float | None]) -> None:
        self._renew = renew
        self._next_end = next_end
        self._stirred = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def stir(self) -> None:
        """Renew soon: something began, or has ended."""
        self._stirred.set()
        if not self._is_closed and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._be_present(), name="filetools approvals")

    async def aclose(self) -> bool:
        """End the task; returns whether there ever was one. May be called twice."""
        self._is_closed = True
        if self._task is None:
            return False
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return True

    async def _be_present(self) -> None:
        while self._next_end() is not None or self._stirred.is_set():
            self._stirred.clear()
            try:
                await self._renew()
            except FileToolsError as exc:
                logger.warning("approvals of other processes are not seen now: %s", exc)
            end = self._next_end()
            if end is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(RENEW_SECONDS, max(0.001, end))):
                        await self._stirred.wait()
