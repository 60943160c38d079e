"""A process and a server over HTTP on one root, and calls that are cancelled at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import uvicorn
from mcp import Client
from mcp.shared.exceptions import MCPError

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.door import Door
from filetools.servers.mcp.options import DoorOptions
from filetools.servers.mcp.transports import application_of
from tests.support.dose import dose
from tests.support.mcp_clients import RELAXED, process, text
from tests.support.opened import assert_at_rest, steps_until

CALLS = dose(12)
LARGE = 10_000
"""Lines of a file that is written."""
LONGEST_SECONDS = 0.03
"""After which a call is cancelled."""

pytestmark = pytest.mark.timeout(7200)


@asynccontextmanager
async def served(root: Path) -> AsyncIterator[tuple[str, Door, FileToolsFacade]]:
    """Serve a root over HTTP on a free port."""
    async with (
        filetools.open(root, settings={**RELAXED, "watch": True}) as files,
        Door(files, DoorOptions()) as door,
        application_of(door) as application,
    ):
        config = uvicorn.Config(application, port=0, lifespan="off", log_level="error", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        await steps_until(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp", door, files
        finally:
            server.should_exit = True
            await serving


def ours() -> set[asyncio.Task[Any]]:
    """All tasks of this loop, but the one that the package for server-sent events keeps for the life of the process."""
    return {task for task in asyncio.all_tasks() if "_shutdown_watcher" not in repr(task)}


class Storm:
    """What one client does: calls, of which about half are cancelled at some moment."""

    def __init__(self, client: Client, name: str, seed: int) -> None:
        self._client = client
        self._chance = Random(seed)
        self.name = name
        self.surely_done: list[int] = []

    async def rage(self) -> None:
        """Make all calls, a few at a time."""
        numbers = list(range(CALLS))
        while numbers:
            now, numbers = numbers[:4], numbers[4:]
            await asyncio.gather(*(self._one(number) for number in now))

    async def _one(self, number: int) -> None:
        line = f"{self.name} {number}"
        edit = {"path": "log.txt", "old_string": f"{line} open\n", "new_string": f"{line} done\n"}
        is_done = await self._called("edit_file", edit)
        await self._called("write_file", {"path": f"{self.name}/{number}.txt", "content": f"{line}\n" * LARGE})
        if is_done:
            self.surely_done.append(number)

    async def _called(self, name: str, arguments: dict[str, Any]) -> bool:
        """Make a call; whether it was told to have succeeded."""
        call = asyncio.create_task(self._client.call_tool(name, arguments))
        if self._chance.random() < 0.5:
            await asyncio.wait([call], timeout=self._chance.random() * LONGEST_SECONDS)
            call.cancel()
        with suppress(asyncio.CancelledError, MCPError):
            result = await call
            assert not result.is_error, result
            return True
        return False


async def test_calls_cancelled_in_storms_are_done_or_not_and_leave_nothing(root: Path) -> None:
    names = ("process", "http", "older")
    (root / "log.txt").write_text("".join(f"{name} {number} open\n" for number in range(CALLS) for name in names))
    async with served(root) as (url, door, files):
        before = ours()
        async with AsyncExitStack() as stack:
            ways: list[tuple[Any, str]] = [(process(root), "auto"), (url, "auto"), (url, "legacy")]
            clients = [await stack.enter_async_context(Client(way, mode=mode)) for way, mode in ways]
            storms = [Storm(client, name, seed) for seed, (client, name) in enumerate(zip(clients, names, strict=True))]
            await asyncio.gather(*(storm.rage() for storm in storms))
            for client, name in zip(clients, names, strict=True):
                await text(client, "write_file", path=f"{name}.end", content="end\n")
        await steps_until(lambda: not door._calls._running)
        await steps_until(lambda: ours() <= before)
        assert not await files.is_locked("log.txt")
    _check(root, storms)
    async with filetools.open(root, settings=RELAXED) as files:
        await assert_at_rest(files, root)


def _check(root: Path, storms: list[Storm]) -> None:
    found: dict[str, str] = {}
    for line in (root / "log.txt").read_text().splitlines():
        key, _, state = line.rpartition(" ")
        assert key not in found, line
        found[key] = state
    assert len(found) == len(storms) * CALLS
    assert set(found.values()) <= {"open", "done"}
    for storm in storms:
        assert {found[f"{storm.name} {number}"] for number in storm.surely_done} <= {"done"}
        for file in (root / storm.name).glob("*.txt"):
            assert file.read_text() == f"{storm.name} {file.stem}\n" * LARGE, file
