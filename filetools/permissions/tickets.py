"""Requests that are open or whose answer was not used yet, found by their id and by the call they belong to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from filetools.models import Actor
from filetools.paths import WorkspacePath
from filetools.permissions.requests import ApprovalAnswer, ApprovalRequest, AskReason, Proposal

Approver = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
CallKey = tuple[str, str, str | None, str, tuple[WorkspacePath, ...], str | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call that a person must decide about."""

    tool: str
    path: WorkspacePath
    paths: tuple[WorkspacePath, ...]
    actor: Actor
    reason: AskReason
    proposal: Proposal

    @property
    def key(self) -> CallKey:
        """Equal for identical calls: the same act of the same actor on the same version."""
        actor, proposal = self.actor, self.proposal
        return (actor.kind, actor.id, actor.session, self.tool, self.paths, proposal.version, proposal.digest)


@dataclass(slots=True, kw_only=True, eq=False)
class Ticket:
    """A request on its way: who works on it, and its answer until the call has used it."""

    request: ApprovalRequest
    key: CallKey
    answer: ApprovalAnswer | None = None
    is_over: bool = False
    """Whether its answer was used, or its time has passed."""
    waiting: int = 0
    """Calls that wait for the answer now."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when waiting makes no sense any more: answered, over, or nobody is left who could answer."""
    asking: dict[Approver, asyncio.Task[None]] = field(default_factory=dict)
    expiry: asyncio.TimerHandle | None = None


class Tickets:
    """All tickets of one workspace, each under its id and, while a call may still use it, under its call."""

    __slots__ = ("_by_id", "_by_key")

    def __init__(self) -> None:
        self._by_id: dict[str, Ticket] = {}
        self._by_key: dict[CallKey, Ticket] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Ticket]:
        return iter(list(self._by_id.values()))

    def add(self, ticket: Ticket) -> None:
        """Keep a new ticket."""
        self._by_id[ticket.request.id] = ticket
        self._by_key[ticket.key] = ticket

    def of_call(self, key: CallKey) -> Ticket | None:
        """Return the ticket of an identical call."""
        return self._by_key.get(key)

    def of_id(self, approval_id: str) -> Ticket | None:
        """Return the ticket of a request."""
        return self._by_id.get(approval_id)

    def expire_later(self, ticket: Ticket, seconds: float, expire: Callable[[Ticket], None]) -> None:
        """Call back when a ticket's time has passed, counted from now; takes the place of an earlier date."""
        if ticket.expiry is not None:
            ticket.expiry.cancel()
        ticket.expiry = asyncio.get_running_loop().call_later(seconds, expire, ticket)

    def end(self, ticket: Ticket) -> None:
        """Forget a ticket; whoever still waits for it finds that it is over."""
        ticket.is_over = True
        if ticket.expiry is not None:
            ticket.expiry.cancel()
        ticket.settled.set()
        self._by_id.pop(ticket.request.id, None)
        if self._by_key.get(ticket.key) is ticket:
            del self._by_key[ticket.key]
