"""Many connections at once, some of which never read: the server goes on answering, and its memory stays bounded."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server
from tests.support.live_clients import LiveClient, SocketWire, deaf_client, live, socket_of

DOSE: Final = float(os.environ.get("FILETOOLS_DOSE", "1"))
SPARE_FILES: Final = 300
_, MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
CONNECTIONS: Final = min(1000, MOST_FILES - SPARE_FILES) if DOSE > 1 else 20
"""1,000 with FILETOOLS_DOSE=2 and more."""
DEAF: Final = CONNECTIONS // 10
CHANGES: Final = 60 if DOSE > 1 else 10
TYPED: Final = 64 * 1024
ANSWER_SECONDS: Final = 30.0
"""Generous, for loaded machines: what is tested is that it answers at all."""
MOST_GROWTH_BYTES: Final = 80 * 1024 * 1024 + CONNECTIONS * 100 * 1024 + DEAF * 1024 * 1024


@pytest.fixture(autouse=True)
def enough_files() -> None:
    """Let this process, and the server that it starts, have so many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CONNECTIONS + SPARE_FILES), hard))


def resident_bytes(server: HttpServer) -> int:
    fields = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize()


@asynccontextmanager
async def crowd(server: HttpServer) -> AsyncIterator[list[LiveClient]]:
    """Connect all of them; those that never read have the document open in which much is typed."""
    async with AsyncExitStack() as stack:
        for _ in range(DEAF):
            deaf = await asyncio.to_thread(deaf_client, server.port, {"type": "open", "path": "busy.txt"})
            stack.callback(deaf.close)
        readers = []
        for _ in range(CONNECTIONS - DEAF):
            connection = await stack.enter_async_context(socket_of(server.address))
            client = LiveClient(SocketWire(connection))
            stack.push_async_callback(client.aclose)
            await client.do("hello")
            readers.append(client)
        yield readers


async def answer_seconds(server: HttpServer, path: str) -> float:
    """Have a file made, and return how long that took."""
    began = time.perf_counter()
    async with bearer.AsyncClient(timeout=ANSWER_SECONDS) as client:
        answer = await client.post(f"{server.address}/v1/tools/write_file", json={"path": path, "content": ""})
    assert answer.json()["success"]
    return time.perf_counter() - began


@pytest.mark.timeout(600)
async def test_a_crowd_of_which_some_never_read(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "busy.txt").write_text("")
    with http_server(root, is_fresh=DOSE > 1) as server:
        before = resident_bytes(server)
        seconds = []
        async with crowd(server) as readers, live(server.address) as typist:
            editor = await typist.edit("busy.txt")
            for number in range(CHANGES):
                editor.type(0, len(editor.text), str(number % 10) * TYPED)
                await editor.settled()
                seconds.append(await answer_seconds(server, f"{number}.txt"))
            for reader in readers:
                await everything_seen(reader)
            grown = resident_bytes(server) - before
        assert grown < MOST_GROWTH_BYTES
        server.stop()
        assert server.errors.read_text() == ""
    with capsys.disabled():
        print(  # noqa: T201 - what a longer check is run for
            f"\n{CONNECTIONS} connections, {DEAF} of them deaf: {grown / 1e6:.0f} MB more,"
            f" answers in {1000 * sorted(seconds)[CHANGES // 2]:.0f} ms (median), {1000 * max(seconds):.0f} ms (longest)"
        )


async def everything_seen(reader: LiveClient) -> None:
    await reader.until(lambda: len(reader.events("file:created")) == CHANGES)
    assert [each["path"] for each in reader.events("file:created")] == [f"{number}.txt" for number in range(CHANGES)]
