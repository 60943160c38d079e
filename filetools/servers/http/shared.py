"""What all routes of one server share, and how a route gets at it and at its caller."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Annotated, Final

from fastapi import Depends
from fastapi.requests import HTTPConnection
from msgspec import Struct, field

from filetools.app.agent_runs import AgentRuns
from filetools.app.registration import Registration
from filetools.facade.facade import FileToolsFacade
from filetools.servers.http.callers import Admission, Caller, Callers
from filetools.servers.http.editor_page import EditorPage
from filetools.servers.http.live.hub import Hub
from filetools.servers.http.logins import Logins
from filetools.servers.http.options import HttpOptions
from filetools.servers.http.telemetry import Metrics
from filetools.tools.call_log import CallLog
from filetools.tools.execution import ParsingRuns

SESSION_HEADER: Final = "filetools-session"
ADMISSION: Final = "filetools.admission"
"""Key of the ASGI scope under which the guard notes how a request was let in."""


class Shared(Struct, frozen=True, kw_only=True):
    """What all routes share; lives as long as the server."""

    files: FileToolsFacade
    """The opened workspace, of an actor of its own."""
    options: HttpOptions
    callers: Callers
    log: CallLog
    """All calls of tools, of all callers; it lists and stops those under way."""
    hub: Hub
    """What all live connections share."""
    logins: Logins
    metrics: Metrics
    agents: AgentRuns | None = None
    """Runs the agent, where there is one."""
    page: EditorPage | None = None
    """What people edit with, where the extra `editor` is installed."""
    registration: Registration | None = None
    """Where calls are noted."""
    parsing_runs: ParsingRuns = field(default_factory=ParsingRuns)
    """How often each has asked for context."""
    large_bodies: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, 2))
    """Held while a large body is in memory."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is told to stop: whatever would go on for long ends now."""

    def noted(self, tool: str | None = None) -> AbstractContextManager[None]:
        """Return what notes that a call runs, of a tool if it has a name."""
        return nullcontext() if self.registration is None else self.registration.noted(tool)


def shared_of(connection: HTTPConnection) -> Shared:
    """Return what the routes of a request's server share."""
    found = connection.app.state.shared
    assert isinstance(found, Shared)
    return found


def admission_of(connection: HTTPConnection) -> Admission:
    """Return how a request, or a WebSocket, was let in."""
    found = connection.scope.get(ADMISSION)
    return found if isinstance(found, Admission) else Admission()


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller of a request, or of a WebSocket, in the session that its header names."""
    callers = shared_of(connection).callers
    return callers.caller(admission_of(connection), connection.headers.get(SESSION_HEADER))


SharedParts = Annotated[Shared, Depends(shared_of)]
"""A parameter of a route: what all routes share."""
Calling = Annotated[Caller, Depends(caller_of)]
"""A parameter of a route: who calls."""
