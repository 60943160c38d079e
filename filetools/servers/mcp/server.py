"""One workspace as a server of the official SDK, which supports all revisions of the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import mcp_types as wire
from anyio.abc import AsyncResource
from mcp.server import Server
from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateBoundary, RequestStateSecurity

from filetools.app.registration import Registration
from filetools.app.state import own_token
from filetools.app.trust import own_folder
from filetools.distribution import installed_version
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.callers import McpCallers, Request, noting
from filetools.servers.mcp.calls import ToolCalls
from filetools.servers.mcp.elicitation import Elicitation
from filetools.servers.mcp.notifications import Notifications
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.resources import SKILLS, DirectoryParams, Resources
from filetools.tools.call_log import CallLog

INSTRUCTIONS: Final = (
    "Files of one workspace, shared with people and other agents. Paths are relative to its root. Reading gives a version;"
    " replacing a file needs that version as expected_version, and edits need only that the old text still exists."
    " A read includes a person's unsaved text. Every change can be undone."
)

KEY_FILE: Final = "mcp-key"
"""File name of the key in the state directory; every process on the root uses the same key, also after a restart."""
STATE_SECONDS: Final = 600.0
"""Time for which an answer is valid: as long as an approval request is open."""


class FixedToolsServer(Server[Any]):
    """The SDK's server, for a list of tools that never changes."""

    def get_capabilities(self, *args: Any, **options: Any) -> wire.ServerCapabilities:
        """Return the capabilities; the SDK announces changes of every list if it serves `subscriptions/listen`."""
        found = super().get_capabilities(*args, **options)
        found.tools = wire.ToolsCapability(list_changed=False)
        return found


class McpServer(AsyncResource):
    """One workspace for MCP clients. Create it on the event loop and close it with `async with`.

    Args:
        files: The open workspace.
        options: What its clients may do.
        log: Log of their calls; by default a new one.
        registration: Records that calls happen; None records nothing.

    Raises:
        InvalidArgumentError: The options name an unknown tool or group, or the settings enable descriptors but no selected
            tool reads them.
        AccessDeniedError: The key that seals questions cannot be created.
    """

    def __init__(
        self, files: FileToolsFacade, options: McpOptions, *, log: CallLog | None = None,
        registration: Registration | None = None,
    ) -> None:  # fmt: skip
        tools = options.selected()
        # Invalid options are reported here, not by every call.
        limits = options.registry(files, tools, CallLog(), owner="").limits

        async def find(_: Request) -> FileToolsFacade:
            return files

        callers = McpCallers(find, options, tools, log)
        elicitation = Elicitation(lambda: [files], options)
        self._calls = ToolCalls(callers.registry, tools, elicitation, options, limits)
        self._notifications = Notifications(files, options)
        resources = Resources(callers, options)
        self.server = FixedToolsServer(
            "filetools",
            version=installed_version() or "0",  # a checkout that was never installed
            title="filetools",
            instructions=INSTRUCTIONS if options.dialect is None else options.dialect.instructions,
            on_list_tools=self._calls.list_tools,
            on_call_tool=self._calls.call_tool,
            on_list_resources=resources.list_resources,
            on_list_resource_templates=resources.list_templates,
            on_read_resource=resources.read_resource,
            on_completion=resources.complete,
            on_subscribe_resource=self._notifications.subscribe,
            on_unsubscribe_resource=self._notifications.unsubscribe,
            on_subscriptions_listen=self._notifications.listen,
            get_tool_input_schema=self._calls.schemas.get,
        )
        self.server.extensions[SKILLS] = {"directoryRead": True}
        self.server.add_request_handler("resources/directory/read", DirectoryParams, resources.read_directory)
        self.server.add_request_handler("skills/list", wire.PaginatedRequestParams, resources.list_skills)
        self.server.add_request_handler("skills/get", DirectoryParams, resources.get_skill)
        key = own_token(own_folder(files.state_directory) or files.state_directory, KEY_FILE)
        self.server.middleware.append(sealing(key, callers.principal, self.server.name))
        if registration is not None:
            self.server.middleware.append(noting(registration))

    async def aclose(self) -> None:
        """End all notifications, and wait until cancelled calls have ended."""
        await self._notifications.aclose()
        await self._calls.aclose()


def sealing(key: str, principal: Callable[[Request], str], audience: str) -> RequestStateBoundary:
    """Return middleware that seals outgoing request states, and opens them when they return.

    A state is valid only for the same caller, tool and arguments, and for `STATE_SECONDS`; others are refused.

    Args:
        key: At least 32 characters; processes with the same key can open each other's states.
        principal: Returns a string that identifies the caller.
        audience: Name of the server.
    """
    codec = AESGCMRequestStateCodec([key])
    security = RequestStateSecurity(codec=codec, ttl=STATE_SECONDS, bind_principal=principal)
    return RequestStateBoundary(security, default_audience=audience)
