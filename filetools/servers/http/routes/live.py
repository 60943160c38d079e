"""The route of the live protocol: a WebSocket, and the session behind it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from filetools.facade.facade import FileToolsFacade
from filetools.servers.http.event_stream import first_of
from filetools.servers.http.live.session import Ending, LiveSession
from filetools.servers.http.security import LIVE_PROTOCOL
from filetools.servers.http.shared import LOGIN, Shared, shared_of

router: Final = APIRouter()
_CLOSE_SECONDS: Final = 1.0
_GOING_AWAY: Final = 1001


@router.websocket("/v1/live")
async def live(websocket: WebSocket) -> None:
    """Serve one client until it leaves, reads no more (then it does not answer the server's pings), or the server stops."""
    shared = shared_of(websocket)

    def open_files(session: str | None) -> FileToolsFacade:
        return shared.callers.caller(websocket.scope.get(LOGIN), session).files

    offered = websocket.scope.get("subprotocols", ())
    await websocket.accept(LIVE_PROTOCOL if LIVE_PROTOCOL in offered else None)
    async with LiveSession(open_files, shared.hub, limits=shared.options.limits) as session:
        ending = await first_of(_receive(websocket, session), _send(websocket, session), _stopped(shared))
    if ending is not None:
        with suppress(TimeoutError, RuntimeError, WebSocketDisconnect):  # it has disconnected, or reads nothing
            async with asyncio.timeout(_CLOSE_SECONDS):
                await websocket.close(ending.code, ending.reason)


async def _receive(websocket: WebSocket, session: LiveSession) -> None:
    # A separate task: uvicorn reports the end of a connection only to a pending receive().
    while (message := await websocket.receive())["type"] == "websocket.receive":
        await session.take(message.get("text") or "")  # bytes are refused as an empty frame


async def _send(websocket: WebSocket, session: LiveSession) -> Ending | None:
    while (text := await session.outbox.take()) is not None:
        try:
            await websocket.send_text(text)
        except WebSocketDisconnect:
            return None
    return session.ending


async def _stopped(shared: Shared) -> Ending:
    await shared.closing.wait()
    return Ending(_GOING_AWAY, "the server stops")
