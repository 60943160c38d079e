"""An MCP server for several folders: tools only, with absolute paths, like the official filesystem server."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import mcp_types as wire
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from filetools.app.opening import Opening
from filetools.app.registration import Registration
from filetools.distribution import installed_version
from filetools.errors import FileToolsError, InvalidArgumentError, WorkspaceGoneError
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.callers import McpCallers, Request, is_modern, noting
from filetools.servers.mcp.calls import ToolCalls
from filetools.servers.mcp.elicitation import Elicitation
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.server import sealing
from filetools.tools.answers.seen import TextLimits
from filetools.tools.roots import Root, Roots


class Folder(Struct, frozen=True):
    """An existing folder."""

    given: Path
    """Absolute path, as given."""
    real: Path
    """With symbolic links resolved."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Its distinct absolute paths."""
        return tuple(dict.fromkeys((self.given.as_posix(), self.real.as_posix())))


def folder_at(name: str | os.PathLike[str]) -> Folder | None:
    """Return the folder at a path, or None if it does not exist."""
    try:
        given = Path(os.path.abspath(Path(name).expanduser()))
        real = Path(os.path.realpath(given, strict=True))
        return Folder(given, real) if real.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # no such home folder, too long, or a NUL
        return None


def outermost(folders: Sequence[Folder]) -> list[Folder]:
    """Return the folders that lie in none of the others, each once, in the given order."""
    reals = {folder.real: folder for folder in reversed(folders)}
    return [
        folder for folder in folders if reals[folder.real] is folder and reals.keys().isdisjoint(folder.real.parents)
    ]


logger = logging.getLogger(__name__)

MOST_ROOTS: Final = 50
"""Maximum number of roots of one client; each has its own journal and locks."""
ANSWER_SECONDS: Final = 30.0
"""Time limit for a client to report its roots."""


OpenFolder = Callable[[Path], Opening]


@asynccontextmanager
async def roots_server(
    opener: OpenFolder, folders: Sequence[Folder], options: McpOptions
) -> AsyncIterator[Server[Any]]:
    """Open folders for one MCP client, in a dialect that supports several.

    Args:
        opener: Opens the workspace of a folder.
        folders: Folders served to a client that reports no roots.
        options: What the client may do.

    Raises:
        InvalidArgumentError: The dialect does not support several roots, or the options name an unknown tool.
        FileToolsError: None of the folders can be opened.
    """
    dialect = options.dialect
    if dialect is None or not dialect.takes_several_roots:
        raise InvalidArgumentError("Several roots require a dialect that supports them")
    tools = options.selected()
    async with aclosing(Workspaces(opener, folders)) as workspaces:
        # Open these before a client reports roots: a root inside one of them then shares its journal and its mirror.
        await workspaces.roots(folders)
        callers = McpCallers(workspaces.served, options, tools)
        elicitation = Elicitation(workspaces.all, options)
        calls = ToolCalls(callers.registry, tools, elicitation, options, TextLimits())
        async with Registration(workspaces.all) as registration, aclosing(calls):
            server: Server[Any] = Server(
                "filetools",
                version=installed_version() or "0",  # from a checkout that was never installed
                title="filetools",
                instructions=dialect.instructions,
                on_list_tools=calls.list_tools,
                on_call_tool=calls.call_tool,
                get_tool_input_schema=calls.schemas.get,
            )
            server.add_notification_handler(
                "notifications/roots/list_changed", wire.NotificationParams, workspaces.forget_roots
            )
            server.middleware.append(noting(registration))
            # The folders can change with the client, so the key belongs to the process and not to a folder.
            server.middleware.append(sealing(secrets.token_hex(32), callers.principal, server.name))
            yield server


async def _client_roots(request: Request) -> list[str]:
    """Return the URIs of the client's roots; empty if it reports none or does not support roots."""
    capabilities = request.session.client_capabilities
    # Modern revisions have no roots, and no requests from servers.
    if is_modern(request) or capabilities is None or capabilities.roots is None:
        return []
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            listed = await request.session.send_request(wire.ListRootsRequest(), wire.ListRootsResult)
    except (MCPError, TimeoutError, ValueError) as error:  # it refuses, does not respond, or sends an invalid response
        logger.warning("The client did not report its roots: %s", error)
        return []
    return [str(root.uri) for root in listed.roots]


def _folder_of(uri: str) -> Folder | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        logger.warning("The client's root %s is not served: it is not a folder on this machine", uri)
        return None
    folder = folder_at(unquote(parts.path))
    if folder is None:
        logger.warning("The client's root %s is not served: the folder does not exist", uri)
    return folder


class Workspaces:
    """The open workspaces of one server, and the folders served to its client.

    As in the official server, the client's roots are served; if it reports none that exists, the folders of the command
    line are.

    Args:
        opener: Opens the workspace of a folder.
        usual: The folders of the command line.
    """

    def __init__(self, opener: OpenFolder, usual: Sequence[Folder]) -> None:
        self._opener = opener
        self._usual = usual
        self._open: dict[Path, FileToolsFacade] = {}
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()
        self._served: asyncio.Task[Roots] | None = None

    def all(self) -> Sequence[FileToolsFacade]:
        """Return the open workspaces."""
        return list(self._open.values())

    async def served(self, request: Request) -> Roots:
        """Return the folders currently served to the client.

        Raises:
            FileToolsError: No folder is served.
        """
        if self._served is None or (self._served.done() and self._served.exception() is not None):
            self._served = asyncio.create_task(self._find(request))
        served = await asyncio.shield(self._served)
        if not served.folders:
            error = WorkspaceGoneError("no folder is served")
            error.suggested_action = "Start the server with a folder, or from a client that names its roots."
            raise error
        return served

    async def forget_roots(self, request: Request, given: wire.NotificationParams) -> None:
        """Ask the client for its roots again, at the next call."""
        self._served = None

    async def _find(self, request: Request) -> Roots:
        uris = await _client_roots(request)
        folders = [folder for uri in uris[:MOST_ROOTS] if (folder := _folder_of(uri)) is not None]
        return await self.roots(folders or self._usual)

    async def roots(self, folders: Sequence[Folder]) -> Roots:
        """Return folders as roots. Folders inside one another, or inside an open workspace, share that workspace.

        A folder that cannot be opened is left out and logged.

        Raises:
            FileToolsError: None of them can be opened.
        """
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
        """Return the key of the workspace that contains a folder, opening one if necessary."""
        for real in self._open:
            if folder.real.is_relative_to(real):
                return real
        self._open[folder.real] = await self._stack.enter_async_context(self._opener(folder.given))
        return folder.real

    async def aclose(self) -> None:
        """Close all workspaces."""
        async with self._turn:
            await self._stack.aclose()
