"""Other processes on the root of a test, that work as they are told and say what they hear; see `facade_worker`."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


class Peer:
    """A process that works as it is told, in a line each, and says what came of it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ask(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    async def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), 60)
        said: dict[str, Any] = json.loads(line)
        return said


@asynccontextmanager
async def peer(root: Path, *arguments: str, task: str = "events") -> AsyncIterator[Peer]:
    """Start a process on a root; it is killed at the end."""
    command = [sys.executable, "-m", "tests.support.facade_worker", task, str(root), *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        other = Peer(process)
        assert await other.hear() == {"ready": True}
        yield other
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        await process.wait()
