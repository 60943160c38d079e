"""Who calls: the actor of each request, and the tools bound to it."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from filetools.app.registration import Registration
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.models.words import OnConflict
from filetools.printable import printable
from filetools.servers.mcp.options import DoorOptions
from filetools.tools.call_log import CallLog
from filetools.tools.registry import ToolRegistry
from filetools.tools.tool import AnyTool

SESSION_KEY: Final = "filetools/session"
"""Key in the metadata of a request that names the session of its caller."""
SESSION_HEADERS: Final = ("filetools-session", "mcp-session-id")
MOST_CALLERS: Final = 1000
_CALLS: Final = ("tools/call", "resources/read")
_LONGEST_NAME: Final = 120
_DIGEST_DIGITS: Final = 32
Request: TypeAlias = ServerRequestContext[Any, Any]
FindRegistry: TypeAlias = Callable[[Request], Awaitable[ToolRegistry]]
"""Returns the tools of a request's caller."""


class McpCallers:
    """The callers of one door; lives as long as the door.

    Args:
        files: The opened workspace.
        options: What sort of party the callers are.
        tools: What they may call.
        log: Where the calls are logged.
    """

    def __init__(
        self, files: FileToolsFacade, options: DoorOptions, tools: Sequence[AnyTool], log: CallLog | None = None
    ) -> None:
        self._files = files
        self._options = options
        self._tools = tools
        self._log = CallLog() if log is None else log
        self._process = options.session or new_session()
        self._bound = lru_cache(MOST_CALLERS)(self._bind)

    def files(self, request: Request) -> FileToolsFacade:
        """Return the workspace of a request's caller."""
        return self._of(request)[0]

    async def registry(self, request: Request) -> ToolRegistry:
        """Return the tools of a request's caller."""
        return self._of(request)[1]

    def _of(self, request: Request) -> tuple[FileToolsFacade, ToolRegistry]:
        actor = Actor(kind=self._options.kind, id=client_of(request), session=session_of(request, self._process))
        return self._bound(actor, usual_conflict(request, self._options), self.principal(request))

    def _bind(self, actor: Actor, on_conflict: OnConflict, owner: str) -> tuple[FileToolsFacade, ToolRegistry]:
        # Callers may share a session without knowing of each other: what one saw must not justify another's overwrite.
        # The tools of a dialect cannot name a version; there what the session saw must do.
        files = self._files.for_actor(
            actor,
            require_version=self._options.dialect is None,
            on_conflict=on_conflict,
            ephemeral=self._options.session is None and actor.session == self._process,
        )
        return files, self._options.registry(files, self._tools, self._log, owner=owner)

    def principal(self, request: Request) -> str:
        """Return what tells the caller of a request from others, in every process on the root."""
        # Without the process's own: a client that names no session comes back with the same question after a restart.
        return json.dumps([self._options.kind, client_of(request), session_of(request, self._options.session or "")])


def can_ask(request: Request, options: DoorOptions) -> bool:
    """Whether the client shows forms to a person, and is trusted to."""
    if not options.asks:
        return False
    capabilities = request.session.client_capabilities
    offered = None if capabilities is None else capabilities.elicitation
    return offered is not None and (offered.form is not None or offered.url is None)


def usual_conflict(request: Request, options: DoorOptions) -> OnConflict:
    """Return what writes of a client do about unsaved text: what cannot be merged is for its person, else for who attends."""
    return "merge_or_ask" if can_ask(request, options) else "ask_if_attended"


def noting(registration: Registration) -> ServerMiddleware[Any]:
    """Return what notes the name of a client, and its calls, as messages pass."""

    async def note(ctx: Request, call_next: CallNext) -> HandlerResult:
        if registration.name is None and ctx.session.client_params is not None:
            registration.note_name(client_of(ctx))
        if ctx.method not in _CALLS:
            return await call_next(ctx)
        with registration.noted((ctx.params or {}).get("name")):
            return await call_next(ctx)

    return note


def is_modern(request: Request) -> bool:
    """Whether questions are results that the client answers by calling again."""
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def new_session() -> str:
    """Return the name of the session of callers that name none: of one door in one process."""
    return f"process-{secrets.token_hex(4)}"


def session_of(request: Request, process: str) -> str:
    """Return the session of a request: named in its metadata, else in a header, else `process`."""
    named = (request.meta or {}).get(SESSION_KEY)
    if isinstance(named, str) and named.strip():
        return _shortened(named)
    headers = getattr(request.request, "headers", None) or {}
    found = (headers.get(name) for name in SESSION_HEADERS)
    return next((_shortened(name) for name in found if name), process)


def _shortened(session: str) -> str:
    """A name of bounded length; cut off, two sessions could become one, and with it what they know and may undo."""
    if len(session) <= _LONGEST_NAME:
        return session
    digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    return f"{session[: _LONGEST_NAME - _DIGEST_DIGITS - 1]}-{digest}"


def client_of(request: Request) -> str:
    """The name that the client gives itself: for people to read, it opens nothing."""
    client = request.session.client_params
    name = printable(client.client_info.name.strip()) if client is not None else ""
    return name[:_LONGEST_NAME] or "mcp"
