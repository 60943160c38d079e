"""Asking people: requests that wait for an answer, who may answer them, and answers that come late."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from typing import Final

from filetools.errors import (
    ApprovalDeniedError,
    ApprovalRequiredError,
    InvalidArgumentError,
    ToolBlockedError,
)
from filetools.models import Actor
from filetools.permissions.audience import Attendance, Audience
from filetools.permissions.call_watch import current_watch, uncounted
from filetools.permissions.requests import (
    ApprovalAnswer,
    ApprovalAsked,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequest,
    Notify,
    Risk,
    checked_answer,
    ignore_notice,
)
from filetools.permissions.rules import DELETING_TOOLS, READING_TOOLS
from filetools.permissions.tickets import Approver, Case, Ticket, Tickets
from filetools.permissions.trust import RunTrust

logger = logging.getLogger(__name__)

OPEN_SECONDS: Final = 600.0
"""How long a request, and a late answer that no call has used, stays."""
WAIT_SECONDS: Final = 50.0
MAX_OPEN_REQUESTS: Final = 256
"""More are refused, so that an agent cannot fill the memory, or the screen of a person, with questions."""


class Approvals:
    """The questions of one workspace; belongs to its loop, lives as long as it is open, closed with `aclose`.

    Args:
        trust: Where "allow for this run" is kept.
        notify: Receives a notice for every request that opens, is allowed or refused.
        wait_seconds: How long a call waits for its answer.
        open_seconds: How long a request stays open; then it is denied.
        clock: Seconds since the epoch, for the times shown in requests.
    """

    def __init__(
        self,
        trust: RunTrust,
        *,
        notify: Notify = ignore_notice,
        wait_seconds: float = WAIT_SECONDS,
        open_seconds: float = OPEN_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._trust = trust
        self._notify = notify
        self._wait_seconds = wait_seconds
        self._open_seconds = open_seconds
        self._clock = clock
        self._tickets = Tickets()
        self._audience = Audience(self._tickets, self._settle)

    def listen(self, approver: Approver) -> Attendance:
        """Let a callback answer every request; with several, the first answer counts.

        A callback that raises, or returns what is no answer, has not answered.
        """
        return self._audience.listen(approver)

    def attend(self) -> Attendance:
        """Say that somebody follows the notices and will call `answer`, such as a page with a person before it."""
        return self._audience.attend()

    def open_requests(self) -> list[ApprovalRequest]:
        """Return the requests that nobody has answered yet, oldest first."""
        return [ticket.request for ticket in self._tickets if ticket.answer is None]

    def answer(self, approval_id: str, answer: str, *, by: Actor) -> None:
        """Answer a request, while its call waits or later; a late "allow" lets the next identical call pass once.

        Args:
            approval_id: Id of an open request.
            answer: "allow", "allow_for_run" or "deny".
            by: Who answers; only people may.

        Raises:
            ToolBlockedError: An agent or a foreign program tries to answer.
            InvalidArgumentError: No such answer, or the request is not open (any more).
        """
        if by.kind != "editor":
            raise ToolBlockedError("answer_approval", None, "only a person answers approvals")
        checked = checked_answer(answer)
        ticket = self._tickets.of_id(approval_id)
        if ticket is None or ticket.answer is not None:
            raise InvalidArgumentError(f"No approval request {approval_id!r} is open")
        self._settle(ticket, checked)

    async def ask(self, case: Case) -> bool:
        """Get a person's decision about a call.

        Returns:
            True if it may go on; False if the answer was used by an identical call meanwhile, so that the caller
            should look at the policy again.

        Raises:
            ApprovalRequiredError: Nobody is there to answer, or nobody did in time; the request stays open.
            ApprovalDeniedError: A person said no, or the request expired.
        """
        ticket = self._tickets.of_call(case.key) or self._open(case)
        if ticket.answer is None and self._audience.ask(ticket):
            await self._wait(ticket)
        return self._use(ticket)

    async def aclose(self) -> None:
        """Stop asking; calls that wait are told that nobody answers. May be called twice."""
        for ticket in self._tickets:
            self._tickets.end(ticket)
        await self._audience.aclose()

    def _open(self, case: Case) -> Ticket:
        if len(self._tickets) >= MAX_OPEN_REQUESTS:
            raise ApprovalRequiredError(case.tool, case.path, "too many approval requests are open already")
        ticket = Ticket(request=_request_of(case, self._clock(), self._open_seconds), key=case.key)
        self._tickets.add(ticket)
        self._tickets.expire_later(ticket, self._open_seconds, self._expire)
        self._notify(ApprovalAsked(request=ticket.request))
        return ticket

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

    def _use(self, ticket: Ticket) -> bool:
        request = ticket.request
        if ticket.answer is None:
            raise ApprovalRequiredError(
                request.tool, request.path, _why(request), None if ticket.is_over else request.id
            )
        if ticket.answer == "deny":
            self._tickets.end(ticket)
            raise ApprovalDeniedError(request.tool, request.path)
        if ticket.is_over:
            return False
        self._tickets.end(ticket)
        if watch := current_watch():
            watch.note_approval(ticket.answer)
        return True

    def _settle(self, ticket: Ticket, answer: ApprovalAnswer) -> None:
        ticket.answer = answer
        for task in ticket.asking.values():
            task.cancel()
        if answer == "allow_for_run":
            _trust_run(self._trust, ticket.request)
        if ticket.waiting and answer == "deny":
            self._tickets.end(ticket)
        else:
            self._tickets.expire_later(ticket, self._open_seconds, self._expire)
            ticket.settled.set()
        if answer == "deny":
            self._notify(ApprovalRefused(request=ticket.request, reason="denied"))
        else:
            self._notify(ApprovalGranted(request=ticket.request, answer=answer))

    def _expire(self, ticket: Ticket) -> None:
        unanswered = ticket.answer is None
        if unanswered:
            ticket.answer = "deny"
            for task in ticket.asking.values():
                task.cancel()
        self._tickets.end(ticket)
        if unanswered:
            self._notify(ApprovalRefused(request=ticket.request, reason="nobody answered in time"))


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
        diff=proposal.diff,
        actor=case.actor,
        created=now,
        expires=now + open_seconds,
    )


def _trust_run(trust: RunTrust, request: ApprovalRequest) -> None:
    # Trust in a protected path is trust in that path alone; the tool stays asked about everywhere else.
    if request.reason == "protected":
        for path in request.paths:
            trust.add(request.actor, request.tool, path)
    else:
        trust.add(request.actor, request.tool)


def _risk_of(case: Case) -> Risk:
    if case.reason == "protected" or case.tool in DELETING_TOOLS:
        return "high"
    return "low" if case.tool in READING_TOOLS else "medium"


def _why(request: ApprovalRequest) -> str:
    if request.reason == "protected":
        return "changes of this path can make other programs run code"
    return "the permissions in force ask for it"
