"""Notices of changes: from the events of the workspace to the addresses that clients follow, in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import mcp_types as wire
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError

from filetools.errors import FileToolsError
from filetools.events.buffers import BufferEvent
from filetools.events.types import Event, TreeEvent
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.addresses import BUFFERS, file_address, local_address, parse_address
from filetools.servers.mcp.callers import Request
from filetools.servers.mcp.failures import protocol_error
from filetools.servers.mcp.followers import MOST_FOLLOWED, Followers
from filetools.servers.mcp.leases import Leases
from filetools.servers.mcp.options import DoorOptions

QUIET_SECONDS: Final = 0.1
"""After a notice of an address, further changes of it are told together."""
_LISTED: Final = frozenset(
    (
        "file:created", "file:deleted", "file:renamed", "directory:created", "directory:deleted", "directory:renamed",
    )
)  # fmt: skip
_SILENT: Final = frozenset(("file:read",))


class Notices:
    """Tells clients what has changed; lives as long as the door, and is closed with `aclose`.

    Args:
        files: The opened workspace.
        options: Which addresses are understood.
    """

    def __init__(self, files: FileToolsFacade, options: DoorOptions) -> None:
        self._files = files
        self._root = options.file_root
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._leases = Leases(files)
        self._followers = Followers(self._let_go)
        self._held: dict[ServerEvent, bool] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._subscriptions = [files.on(pattern, self._note) for pattern in ("file:*", "directory:*", "buffer:*")]

    async def listen(
        self, request: Request, given: wire.SubscriptionsListenRequestParams
    ) -> wire.SubscriptionsListenResult:
        """Serve one stream of notices until its client ends it; documents it follows stay open meanwhile."""
        handles = [handle for uri in given.notifications.resource_subscriptions or () if (handle := _handle_of(uri))]
        for handle in handles:
            with suppress(FileToolsError):  # an address that names nothing may be followed, and is silent
                await self._leases.hold(handle)
        try:
            return await self._streams(request, given)
        finally:
            for handle in handles:
                self._leases.release(handle)

    async def subscribe(self, request: Request, given: wire.SubscribeRequestParams) -> wire.EmptyResult:
        """Have a client of a handshake revision told of an address."""
        if len(self._followers) >= MOST_FOLLOWED:
            # Dropping what another client follows would leave that one in the dark.
            raise MCPError(
                wire.INTERNAL_ERROR, f"{MOST_FOLLOWED} addresses are followed already; follow folders instead"
            )
        handle = _handle_of(given.uri)
        try:
            parse_address(given.uri, self._root)
            if handle is not None:
                await self._leases.hold(handle)
        except FileToolsError as error:
            raise protocol_error(error, request.protocol_version, given.uri) from error
        if not self._followers.add(given.uri, request):
            self._let_go(given.uri)
        return wire.EmptyResult()

    async def unsubscribe(self, request: Request, given: wire.UnsubscribeRequestParams) -> wire.EmptyResult:
        """Have it told no more."""
        if self._followers.remove(given.uri, request):
            self._let_go(given.uri)
        return wire.EmptyResult()

    async def aclose(self) -> None:
        """End all streams and tell nothing more."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()
        self._streams.close()
        await self._leases.aclose()
        await self._followers.aclose()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _note(self, event: Event) -> None:
        if event.name in _SILENT:
            return
        for uri in self._addresses(event):
            self._tell(ResourceUpdated(uri=uri))
        if event.name in _LISTED:
            self._tell(ResourcesListChanged())

    def _addresses(self, event: Event) -> Iterator[str]:
        """The addresses that an event is about: its paths, the folders that hold them, the handles of a document."""
        if not isinstance(event, TreeEvent | BufferEvent):
            return
        for path in dict.fromkeys((event.path, getattr(event, "old_path", None) or event.path)):
            yield from self._forms(path)
            if isinstance(event, TreeEvent):
                yield from self._forms(path.rpartition("/")[0])
        for handle in self._leases.handles_of(event.path, getattr(event, "old_path", None)):
            yield BUFFERS + handle

    def _forms(self, path: str) -> Iterator[str]:
        yield file_address(path)
        if self._root is not None:
            yield local_address(self._root, path)

    def _tell(self, event: ServerEvent) -> None:
        """Tell at once, so that an editor wakes quickly; what follows within 100 ms is told once, at their end."""
        if event in self._held:
            self._held[event] = True
            return
        self._held[event] = False
        task = self._loop.create_task(self._send(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, event: ServerEvent) -> None:
        is_due = True
        while is_due:
            self._held[event] = False
            self._followers.tell(event)
            await self._bus.publish(event)
            await asyncio.sleep(QUIET_SECONDS)
            is_due = self._held.pop(event)

    def _let_go(self, uri: str) -> None:
        """Note that one client less follows an address."""
        if handle := _handle_of(uri):
            self._leases.release(handle)


def _handle_of(uri: Any) -> str | None:
    text = str(uri)
    return text.removeprefix(BUFFERS) if text.startswith(BUFFERS) else None
