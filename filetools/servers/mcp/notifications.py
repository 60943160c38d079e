"""Change notifications: maps workspace events to the resource URIs that clients follow, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import mcp_types as wire
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
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
        self._listening: dict[object, Sequence[str]] = {}
        self._followers: dict[Connection, _Follower] = {}
        self._documents: dict[str, str] = {}
        self._held: dict[ServerEvent, bool] = {}
        self._tasks = {asyncio.create_task(self._renew())}
        self._subscriptions = [files.on(pattern, self._note) for pattern in ("file:*", "directory:*", "buffer:*")]

    @property
    def followed(self) -> int:
        """Number of URIs followed by clients of handshake revisions."""
        return sum(len(each.followed) for each in self._followers.values())

    async def listen(
        self, request: Request, given: wire.SubscriptionsListenRequestParams
    ) -> wire.SubscriptionsListenResult:
        """Serve one stream of notifications until its client ends it; followed documents stay open meanwhile."""
        uris = given.notifications.resource_subscriptions or ()
        stream = object()
        self._listening[stream] = uris
        try:
            for uri in uris:
                with suppress(FileToolsError):  # following an unknown URI is allowed and sends nothing
                    await self._note_document(uri)
            return await self._streams(request, given)
        finally:
            del self._listening[stream]

    async def subscribe(self, request: Request, given: wire.SubscribeRequestParams) -> wire.EmptyResult:
        """Notify a client of a handshake revision of changes to a URI, until its connection ends."""
        if self.followed >= MOST_FOLLOWED:
            # Dropping another client's subscription instead would silently lose its notifications.
            raise MCPError(wire.INTERNAL_ERROR, f"{MOST_FOLLOWED} URIs are already followed; follow folders instead")
        with protocol_errors(request.protocol_version, given.uri):
            parse_address(given.uri, self._root)
            await self._note_document(given.uri)
        connection = _connection_of(request)
        follower = self._followers.get(connection)
        if follower is None:
            follower = self._followers[connection] = _Follower(request.session)
            connection.exit_stack.push_async_callback(self._forget, connection)
        follower.followed.add(given.uri)
        return wire.EmptyResult()

    async def unsubscribe(self, request: Request, given: wire.UnsubscribeRequestParams) -> wire.EmptyResult:
        """Stop notifying a client of changes to a URI."""
        follower = self._followers.get(_connection_of(request))
        if follower is not None:
            follower.followed.discard(given.uri)
        return wire.EmptyResult()

    async def aclose(self) -> None:
        """End all streams and notifications."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()
        self._streams.close()
        for follower in self._followers.values():
            await follower.aclose()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _forget(self, connection: Connection) -> None:
        await self._followers.pop(connection).aclose()

    async def _note_document(self, uri: str) -> None:
        if uri.startswith(BUFFERS):
            self._documents[uri] = (await self._files.buffers.read(uri.removeprefix(BUFFERS))).document

    def _followed_documents(self) -> list[str]:
        """Forget the documents that nobody follows any more, and return the URIs of the others."""
        followed = {uri for uris in self._listening.values() for uri in uris}
        followed.update(*(each.followed for each in self._followers.values()))
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
        """Notify at once, so that an editor reacts quickly; repetitions within 100 ms are sent as one, at their end."""
        if event in self._held:
            self._held[event] = True
            return
        self._held[event] = False
        task = asyncio.create_task(self._send(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, event: ServerEvent) -> None:
        is_due = True
        while is_due:
            self._held[event] = False
            for follower in self._followers.values():
                if not isinstance(event, ResourceUpdated) or event.uri in follower.followed:
                    follower.put(event)
            await self._bus.publish(event)
            await asyncio.sleep(QUIET_SECONDS)
            is_due = self._held.pop(event)


class _Follower:
    """A connection of a handshake revision; a separate task sends its notifications one by one.

    A client that does not read does not delay the others. Pending notifications of the same URI are merged.
    """

    def __init__(self, session: ServerSession) -> None:
        self.followed: set[str] = set()
        self._session = session
        self._waiting: dict[ServerEvent, None] = {}
        self._sender: asyncio.Task[None] | None = None

    def put(self, event: ServerEvent) -> None:
        self._waiting[event] = None
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def aclose(self) -> None:
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)

    async def _send(self) -> None:
        while self._waiting:
            event = next(iter(self._waiting))
            del self._waiting[event]
            if isinstance(event, ResourceUpdated):
                await self._session.send_resource_updated(event.uri)
            else:
                await self._session.send_notification(wire.ResourceListChangedNotification())


def _connection_of(request: Request) -> Connection:
    # The SDK has no public access to the connection, whose `exit_stack` is meant for such cleanup.
    return request.session._connection
