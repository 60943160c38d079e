"""Progress of one call: told by the work without waiting, sent to the client in order."""

from __future__ import annotations

import asyncio
from types import TracebackType

from mcp.server.session import ServerSession

_Step = tuple[int, int | None, str | None]


class ProgressLane:
    """Carries the progress of one call to its client; used once, as `async with lane`.

    Args:
        session: Where to send it.
    """

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._steps: asyncio.Queue[_Step | None] = asyncio.Queue()
        self._last = -1
        self._sender: asyncio.Task[None] | None = None

    def report(self, current: int, total: int | None, message: str | None) -> None:
        """Tell how far the call is; what goes back or stands still is not sent, as the protocol demands."""
        if current > self._last:
            self._last = current
            self._steps.put_nowait((current, total, message))
            if self._sender is None:
                self._sender = asyncio.create_task(self._send())

    async def __aenter__(self) -> ProgressLane:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            # What worker threads told last is still on its way through the loop, and after the result it counts no more.
            await asyncio.sleep(0)
        if self._sender is None:
            return
        if kind is not None:
            self._sender.cancel()
            return
        self._steps.put_nowait(None)
        await self._sender

    async def _send(self) -> None:
        while (step := await self._steps.get()) is not None:
            await self._session.report_progress(*step)
