"""Frames on their way to one client: bounded, so that a client that never reads costs no memory."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

MOST_FRAMES: Final = 1000
MOST_CHARACTERS: Final = 512 * 1024


class Outbox:
    """The queue between a session and its sender; lives as long as the connection, belongs to one loop.

    What was asked for waits for room and is never dropped. What nobody asked for is offered: if there is no room, all that
    was offered and still waits goes, and whoever offered it has to bring the client up to date once it reads again.

    Args:
        most_frames: Frames after which there is no room.
        most_characters: Characters after which there is no room; the one frame that exceeds it still goes in.
    """

    def __init__(self, most_frames: int = MOST_FRAMES, most_characters: int = MOST_CHARACTERS) -> None:
        self._most_frames = most_frames
        self._most_characters = most_characters
        self._waiting: deque[tuple[str, bool]] = deque()
        self._characters = 0
        self._is_closed = False
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def characters(self) -> int:
        """Characters of all frames that wait."""
        return self._characters

    @property
    def has_room(self) -> bool:
        """Whether another frame may go in now."""
        return len(self._waiting) < self._most_frames and self._characters < self._most_characters

    def offer(self, text: str) -> bool:
        """Add a frame that may be dropped; False if there was no room, and everything offered that waited is dropped."""
        if self._is_closed:
            return True
        if self.has_room:
            self._add(text, is_offer=True)
            return True
        self._waiting = deque(entry for entry in self._waiting if not entry[1])
        self._characters = sum(len(text) for text, _ in self._waiting)
        self._wake()
        return False

    def put_now(self, text: str) -> None:
        """Add a frame that must arrive, after `room`."""
        if not self._is_closed:
            self._add(text, is_offer=False)

    async def put(self, text: str) -> None:
        """Add a frame that must arrive, as soon as there is room."""
        await self.room()
        self.put_now(text)

    async def room(self) -> None:
        """Wait until there is room, or the outbox is closed."""
        while not (self.has_room or self._is_closed):
            await self._changed.wait()

    async def drained(self) -> None:
        """Wait until nothing waits any more, or the outbox is closed."""
        while self._waiting and not self._is_closed:
            await self._changed.wait()

    async def take(self) -> str | None:
        """Return the next frame to send, waiting for one; None after `close`."""
        while not self._waiting:
            if self._is_closed:
                return None
            await self._changed.wait()
        text, _ = self._waiting.popleft()
        self._characters -= len(text)
        self._wake()
        return text

    def close(self) -> None:
        """Take nothing more; what waits may still be sent. May be called twice."""
        self._is_closed = True
        self._wake()

    def _add(self, text: str, *, is_offer: bool) -> None:
        self._waiting.append((text, is_offer))
        self._characters += len(text)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
