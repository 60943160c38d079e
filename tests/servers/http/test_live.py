"""The live protocol over real sockets, before a real process: who is refused, and who sees whose changes."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from pathlib import Path

import pytest
from mcp import Client
from websockets.exceptions import InvalidStatus

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server
from tests.support.live_clients import (
    PATIENCE_SECONDS,
    Editor,
    LiveClient,
    SocketWire,
    deaf_client,
    live,
    socket_of,
)
from tests.support.mcp_clients import process, text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", ""])
async def test_pages_of_strangers_are_refused(server: HttpServer, origin: str) -> None:
    with pytest.raises(InvalidStatus) as caught:
        async with socket_of(server.address, headers={"Origin": origin}):
            pass
    assert caught.value.response.status_code == 403


async def test_a_frame_that_is_too_big_ends_the_connection(server: HttpServer) -> None:
    async with socket_of(server.address) as connection:
        with contextlib.suppress(ConnectionError):
            await connection.send("x" * (5 * 1024 * 1024))
        async with asyncio.timeout(60):
            await connection.wait_closed()
        assert connection.close_code == 1009


async def test_bytes_and_nonsense_are_errors_and_the_connection_lives(server: HttpServer) -> None:
    async with live(server.address) as client:
        assert isinstance(client.wire, SocketWire)
        await client.wire.connection.send(b"\x00\x01")
        await client.wire.send("nonsense")
        await client.wire.send("[" * 100_000 + "]" * 100_000)
        await client.until(lambda: len(client.of("error")) == 3)
        await client.do("ping")


async def test_an_agent_is_an_agent_whatever_it_says(server: HttpServer) -> None:
    async with live(server.address, session="window-1") as client:
        welcome = client.heard[0]
        assert (welcome["actor"]["kind"], welcome["actor"]["session"]) == ("agent", "window-1")
        assert welcome["can_answer"] is False
        await client.refused("PERMISSION_DENIED", "answer", approval_id="approval-1", answer="allow")


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_an_agent_over_mcp_and_an_editor_see_each_others_changes(server: HttpServer, way: str) -> None:
    name = f"shared-{way}.txt"
    rounds = 4
    (server.root / name).write_text("".join(f"line {number}\n" for number in range(rounds)))
    address = bearer.mcp(server.address) if way == "http" else process(server.root)
    async with live(server.address) as client, Client(address) as agent:
        editor = await client.edit(name)
        for number in range(rounds):
            editor.type(0, 0, f"typed {number}\n")
            await editor.settled()
            await read_until(agent, name, f"typed {number}\n")
            await text(agent, "edit_file", path=name, old_string=f"line {number}\n", new_string=f"agent {number}\n")
            await client.until(partial(shows, editor, f"agent {number}\n"))
        expected = [*(f"typed {n}" for n in reversed(range(rounds))), *(f"agent {n}" for n in range(rounds))]
        assert editor.text.splitlines() == expected
        await client.do("save", handle=editor.handle)
        assert (server.root / name).read_text().splitlines() == expected
        await client.do("close", handle=editor.handle)


async def test_what_agents_change_at_once_is_told_to_all_once_and_in_order(server: HttpServer) -> None:
    async with live(server.address) as one, live(server.address) as two, Client(bearer.mcp(server.address)) as agent:
        names = [f"burst/{number}.txt" for number in range(10)]
        await asyncio.gather(*(text(agent, "write_file", path=name, content="") for name in names))

        def seen(client: LiveClient) -> list[str]:
            return [each["path"] for each in client.events("file:created") if each["path"].startswith("burst/")]

        await one.until(lambda: len(seen(one)) == len(names))
        await two.until(lambda: len(seen(two)) == len(names))
        assert seen(one) == seen(two)
        assert sorted(seen(one)) == sorted(names)


async def test_it_stops_soon_with_open_sockets_that_nobody_reads(root: Path) -> None:
    with http_server(root) as server:
        deaf = [await asyncio.to_thread(deaf_client, server.port) for _ in range(5)]
        async with live(server.address) as client:
            stopped = asyncio.create_task(asyncio.to_thread(server.stop))
            await client.pump
            assert isinstance(client.wire, SocketWire)
            assert client.wire.connection.close_code in (1001, 1012)
            await stopped
        for each in deaf:
            each.close()
    assert server.process.returncode == 0
    assert server.errors.read_text() == ""


async def read_until(agent: Client, name: str, wanted: str) -> None:
    """Have an agent read until it sees a text: other processes hear of unsaved text within moments, not at once."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while wanted not in await text(agent, "read_file", path=name):
            pass


def shows(editor: Editor, wanted: str) -> bool:
    return wanted in editor.text
