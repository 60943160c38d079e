"""Other processes on the root of a test, that work as they are told and say what they hear; see `facade_worker`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.forked import Forked, forked


class Peer:
    """A process that works as it is told, in a line each, and says what came of it."""

    def __init__(self, process: Forked) -> None:
        self.process = process

    async def ask(self, line: str) -> None:
        self.process.ask(line)

    async def hear(self) -> dict[str, Any]:
        return await asyncio.to_thread(self.process.hear)

    async def end(self) -> None:
        """Wait until it has ended."""
        await asyncio.to_thread(self.process.wait)


@asynccontextmanager
async def peer(root: Path, *arguments: str, task: str = "events") -> AsyncIterator[Peer]:
    """Start a process on a root; it is killed at the end."""
    with forked("tests.support.facade_worker", task, root, *arguments) as process:
        try:
            other = Peer(process)
            assert await other.hear() == {"ready": True}
            yield other
        finally:
            process.send_signal(signal.SIGCONT)
