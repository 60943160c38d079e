"""Who is there to answer requests: callbacks that are asked, and people who follow the notices."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from filetools.permissions.requests import ApprovalAnswer, checked_answer
from filetools.permissions.tickets import Approver, Ticket, Tickets

logger = logging.getLogger(__name__)


class Attendance:
    """That somebody is there to answer; lives until closed."""

    __slots__ = ("_leave",)

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave: Callable[[], None] | None = leave

    def close(self) -> None:
        """End it; calls that now wait for nobody are told at once. May be called twice."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()


class Audience:
    """All who can answer, and the tasks in which callbacks are asked; lives as long as its `Approvals`.

    Args:
        tickets: What may be open; released when nobody is left to answer it.
        on_answer: Receives the answer of a callback.
    """

    def __init__(self, tickets: Tickets, on_answer: Callable[[Ticket, ApprovalAnswer], None]) -> None:
        self._tickets = tickets
        self._on_answer = on_answer
        self._approvers: list[Approver] = []
        self._attending = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def listen(self, approver: Approver) -> Attendance:
        """Let a callback answer every request from now on."""
        self._approvers.append(approver)

        def leave() -> None:
            self._approvers.remove(approver)
            for ticket in self._tickets:
                if task := ticket.asking.pop(approver, None):
                    task.cancel()
            self._release_hopeless()

        return Attendance(leave)

    def attend(self) -> Attendance:
        """Count somebody who follows the notices and will answer by id."""
        self._attending += 1

        def leave() -> None:
            self._attending -= 1
            self._release_hopeless()

        return Attendance(leave)

    def ask(self, ticket: Ticket) -> bool:
        """Ask every callback that is not being asked about a ticket already; whether anybody can answer it."""
        for approver in self._approvers:
            if approver not in ticket.asking:
                task = asyncio.create_task(self._ask_one(approver, ticket), name=f"approver {ticket.request.id}")
                ticket.asking[approver] = task
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        return self._can_answer(ticket)

    async def aclose(self) -> None:
        """Stop asking; may be called twice."""
        self._approvers.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask_one(self, approver: Approver, ticket: Ticket) -> None:
        try:
            answer = checked_answer(await approver(ticket.request))
        except Exception:  # a callback is foreign code; what it raises is no answer, and others may still give one
            logger.exception("An approver failed on request %s", ticket.request.id)
            ticket.asking.pop(approver, None)
            self._release_hopeless()
        else:
            ticket.asking.pop(approver, None)
            if ticket.answer is None and not ticket.is_over:
                self._on_answer(ticket, answer)

    def _can_answer(self, ticket: Ticket) -> bool:
        return self._attending > 0 or bool(ticket.asking)

    def _release_hopeless(self) -> None:
        for ticket in self._tickets:
            if not self._can_answer(ticket):
                ticket.settled.set()
