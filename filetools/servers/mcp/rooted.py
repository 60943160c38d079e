"""Who calls a door that serves several folders, and which of them its client is served."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

import mcp_types as wire
from mcp.shared.exceptions import MCPError

from filetools.app.folders import Folder, folder_at
from filetools.errors import WorkspaceGoneError
from filetools.models.records import Actor
from filetools.servers.mcp.callers import (
    MOST_CALLERS,
    Request,
    client_of,
    is_modern,
    new_session,
    session_of,
    usual_conflict,
)
from filetools.servers.mcp.options import DoorOptions
from filetools.servers.mcp.workspaces import Workspaces
from filetools.tools.call_log import CallLog
from filetools.tools.dialects import Dialect
from filetools.tools.registry import ToolRegistry
from filetools.tools.roots import Roots
from filetools.tools.seen import TextLimits
from filetools.tools.tool import AnyTool

logger = logging.getLogger(__name__)

MOST_ROOTS: Final = 50
"""Of one client; each has a journal and locks of its own."""
ANSWER_SECONDS: Final = 30.0
"""How long a client may take to tell its roots."""
_NONE_SERVED: Final = "no folder is served"
_SERVE_ONE: Final = "Start the server with a folder, or from a client that tells its roots."


class RootedCallers:
    """The callers of one door with several roots, all over one connection; lives as long as the door.

    As with the original, the roots that a client tells count, and the folders of the command line where it tells none
    that is there.

    Args:
        workspaces: What is open.
        usual: The folders of the command line.
        dialect: Whose tools they call.
        options: What sort of party they are.
        tools: What they may call.
    """

    def __init__(
        self,
        workspaces: Workspaces,
        usual: Roots,
        dialect: Dialect,
        options: DoorOptions,
        tools: Sequence[AnyTool],
    ) -> None:
        self._workspaces = workspaces
        self._usual = usual
        self._dialect = dialect
        self._options = options
        self._tools = tools
        self._log = CallLog()
        self._process = options.session or new_session()
        self._served: asyncio.Task[Roots] | None = None
        self._known: OrderedDict[tuple[str, str], tuple[Roots, ToolRegistry]] = OrderedDict()

    @property
    def limits(self) -> TextLimits:
        """Most of an error's text that a caller gets at once."""
        return TextLimits()

    def session(self, request: Request) -> str:
        """Return the session of a request."""
        return session_of(request, self._process)

    async def registry(self, request: Request) -> ToolRegistry:
        """Return the tools of a request's caller, over the folders that its client is served now.

        Raises:
            FileToolsError: There are none.
        """
        if self._served is None or (self._served.done() and self._served.exception() is not None):
            self._served = asyncio.create_task(self._find(request))
        served = await asyncio.shield(self._served)
        if not served.folders:
            error = WorkspaceGoneError(_NONE_SERVED)
            error.suggested_action = _SERVE_ONE
            raise error
        who = (client_of(request), self.session(request))
        if who not in self._known or self._known[who][0] is not served:
            actor = Actor(kind=self._options.kind, id=who[0], session=who[1])
            roots = served.for_actor(
                actor,
                on_conflict=usual_conflict(request, self._options),
                ephemeral=self._options.session is None and who[1] == self._process,
            )
            registry = self._dialect.registry(roots=roots, tools=self._tools, log=self._log)
            self._known[who] = served, registry
        self._known.move_to_end(who)
        if len(self._known) > MOST_CALLERS:
            self._known.popitem(last=False)
        return self._known[who][1]

    async def roots_changed(self, request: Request, given: wire.NotificationParams) -> None:
        """Ask the client for its roots again, at the next call."""
        self._served = None

    async def _find(self, request: Request) -> Roots:
        told = await _told_roots(request)
        folders = [folder for uri in told[:MOST_ROOTS] if (folder := _folder_of(uri)) is not None]
        return await self._workspaces.roots(folders) if folders else self._usual


async def _told_roots(request: Request) -> list[str]:
    """Return the addresses of the client's roots; none where it tells none, or cannot be asked."""
    capabilities = request.session.client_capabilities
    # The present revision has no roots, and its servers ask nothing by themselves.
    if is_modern(request) or capabilities is None or capabilities.roots is None:
        return []
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            told = await request.session.send_request(wire.ListRootsRequest(), wire.ListRootsResult)
    except (MCPError, TimeoutError, ValueError) as error:  # it refuses, is silent, or sends nonsense
        logger.warning("The client did not tell its roots: %s", error)
        return []
    return [str(root.uri) for root in told.roots]


def _folder_of(uri: str) -> Folder | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        logger.warning("The client's root %s is not served: it is no folder of this machine", uri)
        return None
    folder = folder_at(unquote(parts.path))
    if folder is None:
        logger.warning("The client's root %s is not served: there is no such folder", uri)
    return folder
