"""Clients of the handshake revisions that follow addresses, each over the connection on which it asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import mcp_types as wire
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from filetools.servers.mcp.callers import Request

MOST_FOLLOWED: Final = 10_000
"""Addresses, counted for each connection that follows them."""


class Outbox:
    """The notices for one connection: sent one after the other by a task of their own; lives as long as the connection.

    A client that does not read holds nobody else up, and waiting notices of one address are one.

    Args:
        session: Where to send them.
    """

    def __init__(self, session: ServerSession) -> None:
        self.followed: set[str] = set()
        self._session = session
        self._waiting: dict[ServerEvent, None] = {}
        self._sender: asyncio.Task[None] | None = None

    def put(self, event: ServerEvent) -> None:
        """Send a notice as soon as the client takes it."""
        self._waiting[event] = None
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def aclose(self) -> None:
        """Send nothing more."""
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


class Followers:
    """Who follows which address; lives as long as the door.

    Args:
        gone: Called with each address that a client follows no more because its connection has ended.
    """

    def __init__(self, gone: Callable[[str], None]) -> None:
        self._gone = gone
        self._outboxes: dict[Connection, Outbox] = {}
        self._by_uri: dict[str, dict[Outbox, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, uri: str, request: Request) -> bool:
        """Have the client of a request told of an address, until its connection ends; returns whether it was not yet."""
        connection = _connection_of(request)
        outbox = self._outboxes.get(connection)
        if outbox is None:
            outbox = self._outboxes[connection] = Outbox(request.session)
            connection.exit_stack.push_async_callback(self._forget, connection)
        if uri in outbox.followed:
            return False
        outbox.followed.add(uri)
        self._by_uri.setdefault(uri, {})[outbox] = None
        self._count += 1
        return True

    def remove(self, uri: str, request: Request) -> bool:
        """Have it told no more; returns whether it was told."""
        outbox = self._outboxes.get(_connection_of(request))
        if outbox is None or uri not in outbox.followed:
            return False
        self._drop(uri, outbox)
        return True

    def tell(self, event: ServerEvent) -> None:
        """Tell an event to those who follow its address, or that the list has changed to all."""
        told = self._by_uri.get(event.uri, {}) if isinstance(event, ResourceUpdated) else self._outboxes.values()
        for outbox in list(told):
            outbox.put(event)

    async def aclose(self) -> None:
        """Tell nothing more."""
        await asyncio.gather(*(outbox.aclose() for outbox in self._outboxes.values()))

    async def _forget(self, connection: Connection) -> None:
        outbox = self._outboxes.pop(connection)
        for uri in list(outbox.followed):
            self._drop(uri, outbox)
            self._gone(uri)
        await outbox.aclose()

    def _drop(self, uri: str, outbox: Outbox) -> None:
        outbox.followed.remove(uri)
        followers = self._by_uri[uri]
        del followers[outbox]
        if not followers:
            del self._by_uri[uri]
        self._count -= 1


def _connection_of(request: Request) -> Connection:
    # The SDK gives handlers no public way to the connection, whose `exit_stack` is made for such cleaning.
    connection: Connection = request.session._connection
    return connection
