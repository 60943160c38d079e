"""Requests that are open or whose answer was not used yet, as this process knows them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct, field

from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.requests import (
    ApprovalAnswer,
    ApprovalDecision,
    ApprovalRequest,
    AskReason,
    Proposal,
    digest_of,
)

Approved = ApprovalAnswer | ApprovalDecision
Approver = Callable[[ApprovalRequest], Approved | Awaitable[Approved]]
"""Answers a request; plain or async. A plain one is called on the event loop, so it answers at once."""
REMEMBERED_ENDS: Final = 1024


class Case(Struct, frozen=True, kw_only=True):
    """One call that a person must decide about."""

    tool: str
    path: WorkspacePath
    paths: tuple[WorkspacePath, ...]
    actor: Actor
    reason: AskReason
    proposal: Proposal
    is_protected: bool = False
    """Whether one of the paths is protected, whatever the reason is called."""

    @property
    def key(self) -> str:
        """Equal for identical calls: the same act of the same actor on the same version, asked for the same reason."""
        actor, proposal = self.actor, self.proposal
        same = (actor.kind, actor.id, actor.session, self.tool, self.paths, proposal.version, proposal.digest)
        return digest_of({"call": [*same, self.reason == "conflict"]})


class Ticket(Struct, kw_only=True, eq=False):
    """A request as this process knows it: who works on it, and its answer until a call has used it."""

    request: ApprovalRequest
    born: int
    """Number of the look before it was known; only a later look can miss it."""
    expires: float
    """When it ends, or its answer does if no call uses it; seconds since the epoch."""
    is_own: bool = False
    """Whether a call of this process asked for it."""
    asks: int = 0
    """Of how many waits this process knows."""
    decision: ApprovalDecision | None = None
    is_over: bool = False
    """Whether its answer was used, or its time has passed."""
    waiting: int = 0
    """Calls of this process that wait for the answer now."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when waiting makes no sense any more: answered, over, or nobody is left who could answer."""
    asking: dict[Approver, asyncio.Task[None]] = field(default_factory=dict)
    asked: dict[Approver, int] = field(default_factory=dict)
    """For how many of the waits each callback has been asked."""


class Tickets(dict[str, Ticket]):
    """All tickets that are not over, by their id."""

    def __init__(self) -> None:
        super().__init__()
        self._ended: OrderedDict[str, None] = OrderedDict()

    def is_used(self, approval_id: str) -> bool:
        """Whether a call of this process used the answer a moment ago; an older look may still show it as open."""
        return approval_id in self._ended

    def end(self, ticket: Ticket, *, is_used: bool = False) -> None:
        """Forget a ticket; whoever still waits for it finds that it is over."""
        ticket.is_over = True
        for task in ticket.asking.values():
            task.cancel()
        ticket.settled.set()
        self.pop(ticket.request.id, None)
        if is_used:
            self._ended[ticket.request.id] = None
            if len(self._ended) > REMEMBERED_ENDS:
                self._ended.popitem(last=False)
