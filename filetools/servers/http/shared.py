"""Objects that all routes of one server share, the logins and callers, and the route parameters that give access to them.

Whether a caller is a person or an agent depends on how it was admitted, never on its own claims.
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
from filetools.tools.registry import ToolRegistry

CODE_SECONDS: Final = 60.0
LOGIN_SECONDS: Final = 12 * 3600.0
MOST_LOGINS: Final = 64


class Credentials(Struct, frozen=True, kw_only=True):
    """Secrets with which a browser acts as a person; they are sent once."""

    secret: str
    """Value of the cookie."""
    key: str
    """Secret that the page keeps and sends as a header."""


class _Login(Struct, frozen=True, kw_only=True):
    name: str
    key: str
    """Digest of the key."""
    origin: str
    until: float


class Logins:
    """The unused login codes and the logins; both are lost when the server ends.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._known: OrderedDict[str, _Login] = OrderedDict()

    def new_code(self) -> str:
        """Return a code that admits one browser within 60 s."""
        code = secrets.token_urlsafe(32)
        self._codes[_digest(code)] = self._clock() + CODE_SECONDS
        return code

    def redeem(self, code: str, origin: str) -> Credentials | None:
        """Exchange a code for a new login. Return None if the code is unknown, used or expired.

        Args:
            code: The code from the login URL.
            origin: Origin of the page that logs in; the login is valid only for this origin.
        """
        # Look up by digest, so that the timing of the lookup reveals nothing useful.
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
        """Return the ID of the login that both secrets belong to; None if they do not match or the login has expired.

        Args:
            secret: Value of the cookie.
            key: The page's own secret.
            origin: Origin of the page, if the browser sent one.
        """
        found = self._known.get(_digest(secret))
        if found is None or self._clock() > found.until or origin not in (None, found.origin):
            return None
        return found.name if hmac.compare_digest(_digest(key), found.key) else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


AGENT: Final = "http"
"""Actor ID of every agent: names given by clients cannot be trusted."""
MOST_CALLERS: Final = 1000


class Caller(Struct, frozen=True, kw_only=True):
    """One calling party and everything bound to it."""

    files: FileToolsFacade
    """The workspace, as this caller's actor; replacing a file needs no version."""
    registry: ToolRegistry
    """Its tools; an agent's replace a file only if they name its version."""
    descriptors: DescriptorCalls
    """Its long results, under unguessable IDs."""


class Callers:
    """The callers of one server.

    Args:
        files: The open workspace.
        person: Name of the person who logs in.
        log: Log of the tool calls.
        keeps_results: If True, long results of agents' calls become descriptors.
    """

    def __init__(self, files: FileToolsFacade, *, person: str, log: CallLog, keeps_results: bool = False) -> None:
        self._keeps_results = keeps_results
        self._files = files
        self._person = person
        self._log = log
        self._process = f"process-{secrets.token_hex(4)}"
        self._made = lru_cache(MOST_CALLERS)(self._make)

    def caller(self, login: str | None, session: str | None = None) -> Caller:
        """Return an admitted caller, in the session that it names, else in that of its login or of this process.

        Args:
            login: ID of a person's login, who may edit and approve; None for other callers.
            session: Session name given by the caller.
        """
        return self._made(login is not None, (session or "").strip() or login)

    def _make(self, is_person: bool, session: str | None) -> Caller:
        kind: Literal["editor", "agent"] = "editor" if is_person else "agent"
        actor = Actor(kind=kind, id=self._person if is_person else AGENT, session=session or self._process)
        # If an agent's text conflicts with unsaved text, the person at the editor decides.
        files = self._files.for_actor(
            actor,
            require_version=False,
            on_conflict="merge" if is_person else "ask_if_attended",
            ephemeral=not session,
        )
        # Excludes the process, so that a client without a session finds its results again after a restart.
        owner = json.dumps(["http", actor.kind, actor.id, session])
        descriptors = files.descriptors(owner=owner, is_opaque=True)
        # Agents may share a session unknowingly: a version that one has read must not let another overwrite the file.
        registry = ToolRegistry(
            files,
            require_version=not is_person,
            log=self._log,
            descriptors=descriptors if self._keeps_results and not is_person else None,
        )
        return Caller(files=files, registry=registry, descriptors=descriptors)


SESSION_HEADER: Final = "filetools-session"
LOGIN: Final = "filetools.login"
"""Key of the ASGI scope under which the guard stores the login ID of an admitted request."""


class Shared(Struct, frozen=True, kw_only=True):
    """Objects that all routes of one server share."""

    files: FileToolsFacade
    """The open workspace, as the server's own actor."""
    options: HttpOptions
    callers: Callers
    log: CallLog
    """The tool calls of all callers; lists and stops running ones."""
    hub: Hub
    """Shared by all live connections."""
    logins: Logins
    metrics: Metrics
    agents: AgentRuns | None = None
    """Runs the agent, if one is configured."""
    page: EditorPage | None = None
    """The editor page, if the extra `editor` is installed."""
    registration: Registration | None = None
    """Records that calls happen."""
    large_bodies: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, 2))
    """Held while a large body is in memory."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server stops; streams and other long responses end then."""

    def note_call(self, tool: str | None = None) -> None:
        """Record that a call begins, optionally with the tool's name."""
        if self.registration is not None:
            self.registration.note_call(tool)


def shared_of(connection: HTTPConnection) -> Shared:
    """Return the shared objects of a request's server."""
    found = connection.app.state.shared
    assert isinstance(found, Shared)
    return found


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller of a request, or of a WebSocket, in the session that its header names."""
    callers = shared_of(connection).callers
    return callers.caller(connection.scope.get(LOGIN), connection.headers.get(SESSION_HEADER))


SharedParts = Annotated[Shared, Depends(shared_of)]
"""Route parameter: the shared objects."""
Calling = Annotated[Caller, Depends(caller_of)]
"""Route parameter: the caller."""
