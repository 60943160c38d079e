"""The door for several folders: tools only, over absolute paths, as the official file server has it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import mcp_types as wire
from mcp.server import Server

from filetools.app.folders import Folder
from filetools.app.registration import Registration
from filetools.errors import InvalidArgumentError
from filetools.servers.mcp.asking import Asking
from filetools.servers.mcp.callers import noting
from filetools.servers.mcp.calls import Calls
from filetools.servers.mcp.door import product_version
from filetools.servers.mcp.options import DoorOptions
from filetools.servers.mcp.rooted import RootedCallers
from filetools.servers.mcp.sealing import Sealing
from filetools.servers.mcp.workspaces import OpenFolder, Workspaces


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
            calls = Calls(callers, self._tools, Asking(self._workspaces.all, self._options))
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
