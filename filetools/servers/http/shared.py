"""What all routes of one server share, who has logged in and who calls, and how a route gets at them.

What sort of party calls is decided by how it was let in, never by what it says of itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from typing import Annotated, Final, Literal

from fastapi import Depends
from fastapi.requests import HTTPConnection
from msgspec import Struct, field

from filetools.app.agent_runs import AgentRuns
from filetools.app.registration import Registration
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.servers.http.editor_page import EditorPage
from filetools.servers.http.live.hub import Hub
from filetools.servers.http.options import HttpOptions
from filetools.servers.http.telemetry import Metrics
from filetools.tools.call_log import CallLog
from filetools.tools.execution import ParsingRuns
from filetools.tools.registry import ToolRegistry

CODE_SECONDS: Final = 60.0
LOGIN_SECONDS: Final = 12 * 3600.0
MOST_LOGINS: Final = 64


class Credentials(Struct, frozen=True, kw_only=True):
    """What a browser needs to act as a person; it is told once."""

    secret: str
    """Value of the cookie."""
    key: str
    """What the page keeps, and sends as a header."""


class _Login(Struct, frozen=True, kw_only=True):
    name: str
    key: str
    """Digest of the key."""
    origin: str
    until: float


class Logins:
    """The codes that wait to be used, and the browsers that have used one; both end with the server.

    Args:
        clock: Tells seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._known: OrderedDict[str, _Login] = OrderedDict()

    def new_code(self) -> str:
        """Return a code that lets one browser in, within 60 s."""
        code = secrets.token_urlsafe(32)
        self._codes[_digest(code)] = self._clock() + CODE_SECONDS
        return code

    def redeem(self, code: str, origin: str) -> Credentials | None:
        """Return the secrets of a new login for a code, which is used up by that; None if it is none, or too late.

        Args:
            code: As it stood in the address that was opened.
            origin: Origin of the page that logs in; the login counts for no other.
        """
        # Kept and compared as digests: what a lookup tells by its time is worth nothing.
        until = self._codes.pop(_digest(code), None)
        if until is None or self._clock() > until:
            return None
        made = Credentials(secret=secrets.token_urlsafe(32), key=secrets.token_urlsafe(32))
        name, until = f"login-{secrets.token_hex(4)}", self._clock() + LOGIN_SECONDS
        self._known[_digest(made.secret)] = _Login(name=name, key=_digest(made.key), origin=origin.lower(), until=until)
        if len(self._known) > MOST_LOGINS:
            self._known.popitem(last=False)
        return made

    def login_of(self, secret: str, key: str, origin: str | None) -> str | None:
        """Return the id of the login that both secrets belong to; None if they do not, or it is over.

        Args:
            secret: Value of the cookie.
            key: The page's own secret.
            origin: Origin of the page, where the browser tells one.
        """
        found = self._known.get(_digest(secret))
        if found is None or self._clock() > found.until or origin not in (None, found.origin):
            return None
        return found.name if hmac.compare_digest(_digest(key), found.key) else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


AGENT: Final = "http"
"""Name of every agent: clients have none that can be trusted."""
MOST_CALLERS: Final = 1000
LONGEST_SESSION: Final = 120


class Caller(Struct, frozen=True, kw_only=True):
    """One party that calls, with all that is bound to it."""

    files: FileToolsFacade
    """The workspace as this caller's; replacing a file needs no version."""
    registry: ToolRegistry
    """Its tools; an agent's replace a file only if they name its version."""
    is_person: bool
    descriptors: DescriptorCalls
    """Its long results, under ids that nobody can guess."""

    @property
    def actor(self) -> Actor:
        """Whom the calls belong to."""
        return self.files.actor


class Callers:
    """The callers of one server; lives as long as it.

    Args:
        files: The opened workspace.
        person: Name of the person who logs in.
        log: Where the calls of tools are logged.
        keeps_results: Whether long results of agents' calls become descriptors.
    """

    def __init__(self, files: FileToolsFacade, *, person: str, log: CallLog, keeps_results: bool = False) -> None:
        self._keeps_results = keeps_results
        self._files = files
        self._person = person
        self._log = log
        self._process = f"process-{secrets.token_hex(4)}"
        self._made = lru_cache(MOST_CALLERS)(self._make)

    def caller(self, login: str | None, session: str | None = None) -> Caller:
        """Return the caller that was let in, in the session that it names; else in that of its login, or of this process.

        Args:
            login: Id of a person's login, which may edit and approve; None for other callers.
            session: As the caller names it.
        """
        return self._made(login is not None, (session or "").strip()[:LONGEST_SESSION] or login)

    def _make(self, is_person: bool, told: str | None) -> Caller:
        kind: Literal["editor", "agent"] = "editor" if is_person else "agent"
        actor = Actor(kind=kind, id=self._person if is_person else AGENT, session=told or self._process)
        # Where an agent's text meets unsaved text, the person at the editor decides.
        files = self._files.for_actor(
            actor,
            require_version=False,
            on_conflict="merge" if is_person else "ask_if_attended",
            ephemeral=not told,
        )
        # Without the process: a client that names no session comes back to its results after a restart.
        owner = json.dumps(["http", actor.kind, actor.id, told])
        descriptors = files.descriptors(owner=owner, is_opaque=True)
        # Agents may share a session without knowing of each other: what one saw must not justify another's overwrite.
        registry = ToolRegistry(
            files,
            require_version=not is_person,
            log=self._log,
            descriptors=descriptors if self._keeps_results and not is_person else None,
        )
        return Caller(files=files, registry=registry, is_person=is_person, descriptors=descriptors)


SESSION_HEADER: Final = "filetools-session"
LOGIN: Final = "filetools.login"
"""Key of the ASGI scope under which the guard notes the id of the login by which a request was let in."""


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


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller of a request, or of a WebSocket, in the session that its header names."""
    callers = shared_of(connection).callers
    return callers.caller(connection.scope.get(LOGIN), connection.headers.get(SESSION_HEADER))


SharedParts = Annotated[Shared, Depends(shared_of)]
"""A parameter of a route: what all routes share."""
Calling = Annotated[Caller, Depends(caller_of)]
"""A parameter of a route: who calls."""
