"""Change notifications: maps workspace events to the resource URIs that clients follow, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Final

import mcp_types as wire
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError

from filetools.errors import FileToolsError
from filetools.events.types import BufferEvent, Event, TreeEvent
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.callers import Request
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.resources import BUFFERS, file_address, local_address, parse_address, protocol_errors

QUIET_SECONDS: Final = 0.1
"""After a notification for a URI, further changes within this time are sent as one."""
MOST_FOLLOWED: Final = 10_000
"""Maximum number of URIs followed by clients of handshake revisions, over all connections."""
RENEW_SECONDS: Final = 20.0
"""A third of the time after which a document's handle lapses."""
_LISTED: Final = frozenset(
    (
        "file:created", "file:deleted", "file:renamed", "directory:created", "directory:deleted", "directory:renamed",
    )
)  # fmt: skip


class Notifications:
    """Notifies clients of changes, until `aclose`.

    Args:
        files: The open workspace.
        options: Determine which URIs are supported.
    """

    def __init__(self, files: FileToolsFacade, options: McpOptions) -> None:
        self._files = files
        self._root = options.file_root
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._listening: list[Sequence[str]] = []
        self._followers: dict[Connection, set[str]] = {}
        self._documents: dict[str, str] = {}
        self._held: dict[tuple[Connection | None, ServerEvent], bool] = {}
        self._tasks = {asyncio.create_task(self._renew())}
        self._subscriptions = [files.on(pattern, self._note) for pattern in ("file:*", "directory:*", "buffer:*")]

    @property
    def followed(self) -> int:
        """Number of URIs followed by clients of handshake revisions."""
        return sum(map(len, self._followers.values()))

    async def listen(
        self, request: Request, given: wire.SubscriptionsListenRequestParams
    ) -> wire.SubscriptionsListenResult:
        """Serve one stream of notifications until its client ends it; followed documents stay open meanwhile."""
        # The SDK's handler acknowledges everything; the lists of tools and prompts never change.
        never = {"tools_list_changed": None, "prompts_list_changed": None}
        given = given.model_copy(update={"notifications": given.notifications.model_copy(update=never)})
        uris = given.notifications.resource_subscriptions or ()
        self._listening.append(uris)
        try:
            for uri in uris:
                with suppress(FileToolsError):  # following an unknown URI is allowed and sends nothing
                    await self._note_document(uri)
            return await self._streams(request, given)
        finally:
            self._listening.remove(uris)

    async def subscribe(self, request: Request, given: wire.SubscribeRequestParams) -> wire.EmptyResult:
        """Notify a client of a handshake revision of changes to a URI, until its connection ends."""
        if self.followed >= MOST_FOLLOWED:
            # Dropping another client's subscription instead would silently lose its notifications.
            raise MCPError(wire.INTERNAL_ERROR, f"{MOST_FOLLOWED} URIs are already followed; follow folders instead")
        with protocol_errors(request.protocol_version, given.uri):
            parse_address(given.uri, self._root)
            await self._note_document(given.uri)
        connection = _connection_of(request)
        if connection not in self._followers:
            self._followers[connection] = set()
            connection.exit_stack.callback(self._followers.pop, connection)
        self._followers[connection].add(given.uri)
        return wire.EmptyResult()

    async def unsubscribe(self, request: Request, given: wire.UnsubscribeRequestParams) -> wire.EmptyResult:
        """Stop notifying a client of changes to a URI."""
        self._followers.get(_connection_of(request), set()).discard(given.uri)
        return wire.EmptyResult()

    async def aclose(self) -> None:
        """End all streams and notifications."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()
        self._streams.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _note_document(self, uri: str) -> None:
        if uri.startswith(BUFFERS):
            self._documents[uri] = (await self._files.buffers.read(uri.removeprefix(BUFFERS))).document

    def _followed_documents(self) -> list[str]:
        """Forget the documents that nobody follows any more, and return the URIs of the others."""
        followed = set(chain(*self._listening, *self._followers.values()))
        self._documents = {uri: document for uri, document in self._documents.items() if uri in followed}
        return list(self._documents)

    async def _renew(self) -> None:
        """Keep the documents open while clients follow them."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            for uri in self._followed_documents():
                with suppress(FileToolsError):  # closed, or the journal is busy: there is time for two more attempts
                    await self._files.buffers.read(uri.removeprefix(BUFFERS))

    def _note(self, event: Event) -> None:
        if event.name == "file:read":
            return
        for uri in self._addresses(event):
            self._notify(ResourceUpdated(uri=uri))
        if event.name in _LISTED:
            self._notify(ResourcesListChanged())

    def _addresses(self, event: Event) -> Iterator[str]:
        """Yield the URIs affected by an event: its paths, their parent folders, and the followed ones of a document."""
        if not isinstance(event, TreeEvent | BufferEvent):
            return
        for path in dict.fromkeys((event.path, getattr(event, "old_path", None) or event.path)):
            for place in (path, path.rpartition("/")[0]) if isinstance(event, TreeEvent) else (path,):
                yield file_address(place)
                if self._root is not None:
                    yield local_address(self._root, place)
        if isinstance(event, BufferEvent):
            yield from [uri for uri, document in self._documents.items() if document == event.document]

    def _notify(self, event: ServerEvent) -> None:
        for connection, followed in self._followers.items():
            if not isinstance(event, ResourceUpdated) or event.uri in followed:
                self._put(connection, event)
        self._put(None, event)

    def _put(self, connection: Connection | None, event: ServerEvent) -> None:
        """Send an event to a connection of a handshake revision, or to all streams.

        It is sent at once, so that an editor reacts quickly; repetitions within 100 ms, or before the client has read the
        first, are sent as one. Each has its own task, so that a client that does not read does not delay the others.
        """
        if (connection, event) in self._held:
            self._held[connection, event] = True
            return
        self._held[connection, event] = False
        task = asyncio.create_task(self._send(connection, event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, connection: Connection | None, event: ServerEvent) -> None:
        is_due = True
        while is_due:
            self._held[connection, event] = False
            if connection is None:
                await self._bus.publish(event)
            elif isinstance(event, ResourceUpdated):
                await connection.send_resource_updated(event.uri)
            else:
                await connection.send_resource_list_changed()
            await asyncio.sleep(QUIET_SECONDS)
            is_due = self._held.pop((connection, event))


def _connection_of(request: Request) -> Connection:
    # The SDK has no public access to the connection, whose `exit_stack` is meant for such cleanup.
    return request.session._connection
