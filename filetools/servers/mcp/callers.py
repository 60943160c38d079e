"""The callers: the actor of each request, and the tools bound to it."""

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
from filetools.servers.mcp.options import McpOptions
from filetools.tools.call_log import CallLog
from filetools.tools.registry import ToolRegistry
from filetools.tools.roots import Roots
from filetools.tools.tool import AnyTool

SESSION_KEY: Final = "filetools/session"
"""Key of the caller's session in the metadata of a request."""
SESSION_HEADERS: Final = ("filetools-session", "mcp-session-id")
MOST_CALLERS: Final = 1000
_CALLS: Final = ("tools/call", "resources/read")
_LONGEST_NAME: Final = 120
Request: TypeAlias = ServerRequestContext[Any, Any]
FindRegistry: TypeAlias = Callable[[Request], Awaitable[ToolRegistry]]
"""Returns the tools of a request's caller."""


class McpCallers:
    """The callers of one server.

    Args:
        find: Returns the open workspace, or the folders currently served to the client.
        options: Determine the kind of their actors.
        tools: The tools they may call.
        log: Log of the calls; by default a new one.
    """

    def __init__(
        self,
        find: Callable[[Request], Awaitable[FileToolsFacade | Roots]],
        options: McpOptions,
        tools: Sequence[AnyTool],
        log: CallLog | None = None,
    ) -> None:
        self._find = find
        self._options = options
        self._tools = tools
        self._log = log or CallLog()
        self._process = options.session or f"process-{secrets.token_hex(4)}"
        self._bound = lru_cache(MOST_CALLERS)(self._bind)

    async def registry(self, request: Request) -> ToolRegistry:
        """Return the tools of a request's caller.

        Raises:
            FileToolsError: No folder is served.
        """
        served = await self._find(request)
        actor = Actor(kind=self._options.kind, id=client_of(request), session=session_of(request, self._process))
        # About unsaved text that cannot be merged, ask the person at the client, or else an attending one.
        on_conflict: OnConflict = "merge_or_ask" if can_ask(request, self._options) else "ask_if_attended"
        return self._bound(served, actor, on_conflict, self.principal(request))

    def _bind(self, served: FileToolsFacade | Roots, actor: Actor, on_conflict: OnConflict, owner: str) -> ToolRegistry:
        is_ephemeral = self._options.session is None and actor.session == self._process
        own = served.for_actor(actor, on_conflict=on_conflict, ephemeral=is_ephemeral)
        return self._options.registry(own, self._tools, self._log, owner=owner)

    def principal(self, request: Request) -> str:
        """Return a string that identifies the caller of a request, equal in every process on the root."""
        # Excludes the process's session: a client without a session may return with its question after a restart.
        return json.dumps([self._options.kind, client_of(request), session_of(request, self._options.session or "")])


def can_ask(request: Request, options: McpOptions) -> bool:
    """Return True if the client can show forms to a person, and is trusted to."""
    if not options.asks:
        return False
    capabilities = request.session.client_capabilities
    offered = None if capabilities is None else capabilities.elicitation
    return offered is not None and (offered.form is not None or offered.url is None)


def noting(registration: Registration) -> ServerMiddleware[Any]:
    """Return middleware that records a client's name and its calls."""

    async def note(ctx: Request, call_next: CallNext) -> HandlerResult:
        if registration.name is None and ctx.session.client_params is not None:
            registration.note_name(client_of(ctx))
        if ctx.method in _CALLS:
            registration.note_call((ctx.params or {}).get("name"))
        return await call_next(ctx)

    return note


def is_modern(request: Request) -> bool:
    """Return True if questions are results that the client answers by calling again."""
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def session_of(request: Request, process: str) -> str:
    """Return the session of a request, from its metadata or a header, else `process`."""
    named = (request.meta or {}).get(SESSION_KEY)
    if isinstance(named, str) and named.strip():
        return _shortened(named)
    headers = getattr(request.request, "headers", None) or {}
    found = (headers.get(name) for name in SESSION_HEADERS)
    return next((_shortened(name) for name in found if name), process)


def _shortened(session: str) -> str:
    """Replace a long name by its digest. Truncation could merge two sessions, and what they have read and may undo."""
    is_long = len(session) > _LONGEST_NAME
    return hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest() if is_long else session


def client_of(request: Request) -> str:
    """Return the client's own name, for people to read; it grants no access."""
    client = request.session.client_params
    name = printable(client.client_info.name.strip()) if client is not None else ""
    return name[:_LONGEST_NAME] or "mcp"
