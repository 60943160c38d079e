"""Asking people: requests that all processes see, who may answer them, and answers that come late."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import suppress

from filetools.errors import (
    AccessDeniedError,
    ApprovalDeniedError,
    ApprovalRequiredError,
    FileToolsError,
    InvalidArgumentError,
)
from filetools.models.records import Actor
from filetools.permissions.audience import Approver, Attendance, Case, Ticket
from filetools.permissions.call_watch import current_watch, uncounted
from filetools.permissions.ledger import KNOWN_SECONDS, Ledger, not_open
from filetools.permissions.requests import ApprovalDecision, ApprovalRequest, Risk, ShownChange, decided
from filetools.permissions.rules import DELETING_TOOLS, READING_TOOLS

logger = logging.getLogger(__name__)


class Approvals(Ledger):
    """The questions of one workspace; belongs to its loop, lives as long as it is open, closed with `aclose`."""

    def listen(self, approver: Approver, *, everywhere: bool = True) -> Attendance:
        """Let a callback answer requests; with several, the first answer counts.

        A callback that raises, or returns what is no answer, has not answered.

        Args:
            approver: The callback.
            everywhere: Whether it is asked about those of other processes, too.
        """
        return self._audience.listen(approver, everywhere=everywhere)

    def attend(self) -> Attendance:
        """Say that somebody follows the notices and will call `answer`, such as a page with a person before it."""
        return self._audience.attend()

    async def require(self) -> Attendance:
        """Have every agent asked, in all processes on the root, until the attendance is closed or this process ends."""

        def leave() -> None:
            self._asks_for_all -= 1
            self.stir()

        self._asks_for_all += 1
        await self.renew()
        self.stir()
        await asyncio.sleep(KNOWN_SECONDS)  # now every process knows: whoever calls after this has returned is asked
        return Attendance(leave)

    def open_requests(self) -> list[ApprovalRequest]:
        """Return the requests that nobody has answered yet, oldest first, as this process knew them at its last look."""
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
            raise AccessDeniedError(approval_id, "only a person answers approvals")
        if self.tickets.get(approval_id) is None:
            await self.look()
        ticket = self.tickets.get(approval_id)
        if ticket is None or ticket.decision is not None:
            raise not_open(approval_id)
        await self._give(ticket, decided(answer, ticket.request, edited_text))

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
        ticket = await self._open(case, request)
        if ticket is None:
            return None
        if ticket.decision is None and not ticket.is_over:
            if not is_needed():
                with suppress(InvalidArgumentError):  # somebody has answered it just now
                    await self._give(ticket, ApprovalDecision(answer="allow"))
            elif self._audience.ask(ticket):
                await self._wait(ticket)
        return await self._use(ticket)

    async def aclose(self) -> None:
        """Stop asking; calls that wait are told that nobody answers. May be called twice."""
        self._is_closed = True
        is_first = bool(self.tickets) or self._is_needed
        if self._presence is not None:
            self._presence.cancel()
            await asyncio.gather(self._presence, return_exceptions=True)
        for ticket in list(self.tickets.values()):
            self._end(ticket)
        await self._audience.aclose()
        if self._presence is not None and is_first:
            with suppress(FileToolsError):
                await self._run(self._book.leave)

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
        is_first = await self._take(ticket)
        if decision.answer == "deny":
            raise ApprovalDeniedError(request.tool, request.path)
        if not is_first:
            return None
        if watch := current_watch():
            watch.note_approval(decision.answer)
        return decision


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
