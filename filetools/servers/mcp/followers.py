"""Clients of the handshake revisions that follow addresses, each over the connection on which it asked."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import mcp_types as wire
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from filetools.servers.mcp.callers import Request

MOST_FOLLOWED: Final = 10_000
_Follower = tuple[str, str]


class Followers:
    """Who follows which address; lives as long as the door."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[_Follower, ServerSession] = OrderedDict()

    def add(self, uri: str, request: Request) -> None:
        """Have the client of a request told of an address."""
        self._sessions[uri, _connection_of(request)] = request.session
        if len(self._sessions) > MOST_FOLLOWED:
            self._sessions.popitem(last=False)

    def remove(self, uri: str, request: Request) -> bool:
        """Have it told no more; returns whether it was told."""
        return self._sessions.pop((uri, _connection_of(request)), None) is not None

    async def tell(self, event: ServerEvent) -> None:
        """Tell an event to those who follow its address. A client that has gone hears nothing, and is no failure."""
        if isinstance(event, ResourceUpdated):
            for uri, session in [(uri, session) for (uri, _), session in self._sessions.items() if uri == event.uri]:
                await session.send_resource_updated(uri)
            return
        for session in {id(session): session for session in self._sessions.values()}.values():
            await session.send_notification(wire.ResourceListChangedNotification())


def _connection_of(request: Request) -> str:
    headers = getattr(request.request, "headers", None) or {}
    return str(headers.get("mcp-session-id", ""))
