"""The door for several folders: tools only, over absolute paths, as the official file server has it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import mcp_types as wire
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from filetools.app.folders import Folder, folder_at, outermost
from filetools.app.opening import Opening
from filetools.app.registration import Registration
from filetools.errors import FileToolsError, InvalidArgumentError, WorkspaceGoneError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.servers.mcp.asking import Asking
from filetools.servers.mcp.callers import (
    MOST_CALLERS,
    Request,
    client_of,
    is_modern,
    new_session,
    noting,
    session_of,
    usual_conflict,
)
from filetools.servers.mcp.calls import ToolCalls
from filetools.servers.mcp.door import Sealing, product_version
from filetools.servers.mcp.options import DoorOptions
from filetools.tools.call_log import CallLog
from filetools.tools.dialects import Dialect
from filetools.tools.registry import ToolRegistry
from filetools.tools.roots import Root, Roots
from filetools.tools.seen import TextLimits
from filetools.tools.tool import AnyTool

logger = logging.getLogger(__name__)

MOST_ROOTS: Final = 50
"""Of one client; each has a journal and locks of its own."""
ANSWER_SECONDS: Final = 30.0
"""How long a client may take to tell its roots."""
_NONE_SERVED: Final = "no folder is served"
_SERVE_ONE: Final = "Start the server with a folder, or from a client that names its roots."


OpenFolder = Callable[[Path], Opening]


class RootsDoor:
    """Folders for one MCP client, in a dialect that takes several; used as `async with door`.

    Args:
        opener: Opens the workspace of a folder.
        folders: What is served to a client that tells no roots of its own.
        options: What the client may do.

    Raises:
        InvalidArgumentError: The options name no dialect of several roots, or a tool that there is none of.
    """

    def __init__(self, opener: OpenFolder, folders: Sequence[Folder], options: DoorOptions) -> None:
        if options.dialect is None or not options.dialect.takes_several_roots:
            raise InvalidArgumentError("Only a dialect that takes several roots can be served over several")
        self._dialect = options.dialect
        self._folders = folders
        self._options = options
        self._tools = options.selected()
        self._workspaces = Workspaces(opener)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Server[Any]:
        """Open the folders.

        Raises:
            FileToolsError: None of them can be opened.
        """
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(self._workspaces)
            # Before any client tells roots: one inside these folders shares their journal then, and their mirror.
            usual = await self._workspaces.roots(self._folders)
            callers = RootedCallers(self._workspaces, usual, self._dialect, self._options, self._tools)
            registration = await opened.enter_async_context(Registration(self._workspaces.all))
            asking = Asking(self._workspaces.all, self._options)
            calls = ToolCalls(callers, self._tools, asking, is_deferred=self._options.is_deferred)
            opened.push_async_callback(calls.aclose)
            self._stack = opened.pop_all()
        server: Server[Any] = Server(
            "filetools",
            version=product_version(),
            title="filetools",
            instructions=self._dialect.instructions,
            on_list_tools=calls.list_tools,
            on_call_tool=calls.call_tool,
            get_tool_input_schema=calls.input_schema,
        )
        server.add_notification_handler(
            "notifications/roots/list_changed", wire.NotificationParams, callers.roots_changed
        )
        server.middleware.append(noting(registration))
        # Over which folders a client works changes with it, so this key is no folder's: the process's own.
        server.middleware.append(Sealing(secrets.token_hex(32), callers.session, server.name))
        return server

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()


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
        logger.warning("The client's root %s is not served: it is not a folder of this machine", uri)
        return None
    folder = folder_at(unquote(parts.path))
    if folder is None:
        logger.warning("The client's root %s is not served: there is no such folder", uri)
    return folder


class Workspaces:
    """The opened workspaces of one door; used as `async with workspaces`.

    Args:
        opener: Opens the workspace of a folder.
    """

    def __init__(self, opener: OpenFolder) -> None:
        self._opener = opener
        self._open: dict[Path, FileToolsFacade] = {}
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()

    def all(self) -> Sequence[FileToolsFacade]:
        """Return those that are open."""
        return list(self._open.values())

    async def roots(self, folders: Sequence[Folder]) -> Roots:
        """Return folders as roots; those that lie in one another, or in what is open, are parts of one workspace.

        A folder that cannot be opened is left out, and the log tells.

        Raises:
            FileToolsError: None of them can be opened.
        """
        # Whoever is cancelled while it waits must not leave a workspace half open.
        return await asyncio.shield(asyncio.create_task(self._roots(folders)))

    async def _roots(self, folders: Sequence[Folder]) -> Roots:
        whole: dict[Path, Root] = {}
        failed: list[FileToolsError] = []
        async with self._turn:
            for folder in outermost(folders):
                try:
                    holder = await self._holder(folder)
                except FileToolsError as error:
                    failed.append(error)
                    logger.warning("%s is not served: %s", folder.given, error.message)
                else:
                    whole[holder] = Root.of(self._open[holder])
        if failed and not whole:
            raise failed[0]
        return Roots(list(whole.values())).narrowed(folder.spellings for folder in folders)

    async def _holder(self, folder: Folder) -> Path:
        """Return the key of the workspace that holds a folder."""
        for real in self._open:
            if folder.real.is_relative_to(real):
                return real
        self._open[folder.real] = await self._stack.enter_async_context(self._opener(folder.given))
        return folder.real

    async def __aenter__(self) -> Workspaces:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            await self._stack.aclose()
