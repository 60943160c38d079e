"""That this process lives: said again and again while it asks or answers, so that nobody waits for the dead."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from filetools.errors import FileToolsError

logger = logging.getLogger(__name__)

RENEW_SECONDS: Final = 2.0
"""How often a process that asks or answers says that it lives, and looks whether the others still do."""


class Presence:
    """A task that exists only while there is something to be present for. Belongs to one loop.

    Args:
        renew: Says that the process lives, and looks at the others.
        next_end: Whether there is something to be present for, and in how many seconds the next of it ends: None if not.
    """

    def __init__(self, renew: Callable[[], Awaitable[None]], next_end: Callable[[], float | None]) -> None:
        self._renew = renew
        self._next_end = next_end
        self._stirred = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def stir(self) -> None:
        """Renew soon: something began, or has ended."""
        self._stirred.set()
        if not self._is_closed and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._be_present(), name="filetools approvals")

    async def aclose(self) -> bool:
        """End the task; returns whether there ever was one. May be called twice."""
        self._is_closed = True
        if self._task is None:
            return False
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return True

    async def _be_present(self) -> None:
        while self._next_end() is not None or self._stirred.is_set():
            self._stirred.clear()
            try:
                await self._renew()
            except FileToolsError as exc:
                logger.warning("approvals of other processes are not seen now: %s", exc)
            end = self._next_end()
            if end is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(RENEW_SECONDS, max(0.001, end))):
                        await self._stirred.wait()
