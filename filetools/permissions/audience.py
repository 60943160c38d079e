"""Requests as this process knows them, and everyone who can answer: callbacks, people, other processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable

from msgspec import Struct, field

from filetools.errors import InvalidArgumentError
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.requests import (
    ApprovalAnswer,
    ApprovalDecision,
    ApprovalRequest,
    AskReason,
    Proposal,
    decided,
    digest_of,
)

Approved = ApprovalAnswer | ApprovalDecision
Approver = Callable[[ApprovalRequest], Approved | Awaitable[Approved]]
"""Answers a request; plain or async. A plain one is called on the event loop, so it must return at once."""


class Case(Struct, frozen=True, kw_only=True):
    """One call that a person must decide about."""

    tool: str
    path: WorkspacePath
    paths: tuple[WorkspacePath, ...]
    actor: Actor
    reason: AskReason
    proposal: Proposal
    is_protected: bool = False
    """True if one of the paths is protected, whatever the reason."""

    @property
    def key(self) -> str:
        """Equal for identical calls: the same act of the same actor on the same version, asked for the same reason."""
        actor, proposal = self.actor, self.proposal
        same = (actor.kind, actor.id, actor.session, self.tool, self.paths, proposal.version, proposal.digest)
        return digest_of({"call": [*same, self.reason == "conflict"]})


class Ticket(Struct, kw_only=True, eq=False):
    """A request as this process knows it, with its answer until a call has used it."""

    request: ApprovalRequest
    expires: float
    """When it expires, or its answer if no call uses it; seconds since the epoch."""
    decision: ApprovalDecision | None = None
    is_over: bool = False
    """True if its answer was used, or its time has passed."""
    waiting: int = 0
    """Calls of this process that wait for the answer now."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when waiting is pointless: the request was answered or has ended, or nobody can answer."""
    asking: dict[Approver, asyncio.Task[None]] = field(default_factory=dict)
    """The callbacks that are asked about it now."""


logger = logging.getLogger(__name__)


class Attendance:
    """The registration of somebody who can answer, until closed."""

    __slots__ = ("_leave",)

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave: Callable[[], None] | None = leave

    def close(self) -> None:
        """End it; calls that nobody else can answer stop waiting at once. May be called twice."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()


class Audience:
    """Everyone who can answer, and the tasks that run callbacks.

    Args:
        tickets: Requests that may be open; released when nobody is left to answer them.
        on_answer: Receives the answer of a callback.
        on_change: Called when somebody is added or removed.
    """

    def __init__(
        self,
        tickets: Mapping[str, Ticket],
        on_answer: Callable[[Ticket, ApprovalDecision], Awaitable[None]],
        on_change: Callable[[], None],
    ) -> None:
        self._tickets = tickets
        self._on_answer = on_answer
        self._on_change = on_change
        self._approvers: list[Approver] = []
        self._attending = 0
        self._is_elsewhere = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_here(self) -> bool:
        """True if somebody can answer requests of this process."""
        return self.is_for_all or bool(self._approvers)

    @property
    def is_for_all(self) -> bool:
        """True if somebody in this process can answer the requests of all processes."""
        return self._attending > 0

    def listen(self, approver: Approver) -> Attendance:
        """Let a callback answer requests of this process from now on; with several, the first answer counts.

        A callback that raises, or returns something that is not an answer, has not answered.

        Raises:
            InvalidArgumentError: It is not callable.
        """
        if not callable(given := approver):
            raise InvalidArgumentError(f"An approver is a function that gets a request, not {type(given).__name__}")
        self._approvers.append(approver)

        def leave() -> None:
            self._approvers.remove(approver)
            for ticket in list(self._tickets.values()):
                if task := ticket.asking.pop(approver, None):
                    task.cancel()
            self._release_hopeless()

        return Attendance(leave)

    def attend(self) -> Attendance:
        """Register a person who follows the events and will call `Approvals.answer`, such as a user of the page."""
        self._attending += 1

        def leave() -> None:
            self._attending -= 1
            self._release_hopeless()
            self._on_change()

        self._on_change()
        return Attendance(leave)

    def note_others(self, listen: bool) -> None:
        """Note whether another process can answer; calls that nobody can answer stop waiting at once."""
        self._is_elsewhere = listen
        if not listen:
            self._release_hopeless()

    def ask(self, ticket: Ticket) -> bool:
        """Ask every callback that is not being asked yet; True if anybody can answer it."""
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
            answer = approver(ticket.request)
            decision = decided(await answer if isawaitable(answer) else answer, ticket.request)
            if ticket.decision is None and not ticket.is_over:
                await self._on_answer(ticket, decision)
        except Exception:  # a callback is foreign code; what it raises is not an answer, and others may still answer
            logger.exception("An approver failed on request %s", ticket.request.id)
        ticket.asking.pop(approver, None)
        self._release_hopeless()

    def _can_answer(self, ticket: Ticket) -> bool:
        return self._is_elsewhere or self.is_for_all or bool(ticket.asking)

    def _release_hopeless(self) -> None:
        for ticket in list(self._tickets.values()):
            if not self._can_answer(ticket):
                ticket.settled.set()
