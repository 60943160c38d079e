"""The live protocol over real sockets, before a real process: who is refused, and who sees whose changes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from functools import partial
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from websockets.exceptions import InvalidStatus

from tests.support.http_servers import HttpServer, http_server
from tests.support.live_clients import (
    PATIENCE_SECONDS,
    Editor,
    Frame,
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


async def test_two_editors_cross_their_edits_and_end_with_one_text(server: HttpServer) -> None:
    (server.root / "crossing.txt").write_text("start\n")
    async with (
        live(server.address, session="one") as one,
        live(server.address, session="two") as two,
    ):
        left, right = await one.edit("crossing.txt"), await two.edit("crossing.txt")
        for number in range(60):
            left.type(0, 0, f"l{number} ")
            right.type(len(right.text) - 1, len(right.text) - 1, f" r{number}")
            if number % 7 == 0:
                await asyncio.sleep(0)
        await left.settled()
        await right.settled()
        newest = max(left.version, right.version)
        await one.until(lambda: left.version == newest)
        await two.until(lambda: right.version == newest)
        assert left.text == right.text
        words = left.text.split()
        assert sorted(words) == sorted([*(f"l{n}" for n in range(60)), *(f"r{n}" for n in range(60)), "start"])
        assert (left.resyncs, right.resyncs) == (0, 0)
        await one.do("save", handle=left.handle)
        assert (server.root / "crossing.txt").read_text() == left.text


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_an_agent_over_mcp_and_an_editor_see_each_others_changes(server: HttpServer, way: str) -> None:
    name = f"shared-{way}.txt"
    rounds = 10
    (server.root / name).write_text("".join(f"line {number}\n" for number in range(rounds)))
    address = f"{server.address}/mcp" if way == "http" else process(server.root)
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
    async with live(server.address) as one, live(server.address) as two, Client(f"{server.address}/mcp") as agent:
        names = [f"burst/{number}.txt" for number in range(30)]
        await asyncio.gather(*(text(agent, "write_file", path=name, content="") for name in names))

        def seen(client: LiveClient) -> list[str]:
            return [each["path"] for each in client.events("file:created") if each["path"].startswith("burst/")]

        await one.until(lambda: len(seen(one)) == len(names))
        await two.until(lambda: len(seen(two)) == len(names))
        assert seen(one) == seen(two)
        assert sorted(seen(one)) == sorted(names)


async def test_reconnecting_with_a_position_misses_nothing_and_repeats_nothing(server: HttpServer) -> None:
    paths: list[str] = []
    position = None
    async with Client(f"{server.address}/mcp") as agent:
        async with live(server.address) as first:
            position = first.heard[0]["position"]
        for part in range(4):
            async with live(server.address, since=position) as client:
                await text(agent, "write_file", path=f"again/{part}-a.txt", content="")
                await text(agent, "write_file", path=f"again/{part}-b.txt", content="")
                # Cut off in the middle: what was read last decides where to go on.
                got = await some_events(client)
            position = got[-1]["position"]
            paths += [each["path"] for each in got if each["event"] == "file:created"]
        async with live(server.address, since=position) as client:
            await client.until(lambda: len(paths) + len(client.events("file:")) >= 8)
            paths += [each["path"] for each in client.events("file:created")]
    assert paths == [f"again/{part}-{which}.txt" for part in range(4) for which in "ab"]


async def some_events(client: LiveClient) -> list[Frame]:
    """Return what has come of the events, once there are some."""
    await client.until(lambda: client.events("file:"))
    return client.events()


async def test_a_vanished_editor_finds_its_unsaved_text_again(server: HttpServer) -> None:
    (server.root / "draft.txt").write_text("draft\n")
    async with socket_of(server.address) as connection:
        client = LiveClient(SocketWire(connection))
        await client.do("hello", session="vanishing")
        editor = await client.edit("draft.txt")
        editor.type(0, 0, "unsaved ")
        await editor.settled()
        connection.transport.abort()
        await client.aclose()
    async with live(server.address, session="vanishing") as client:
        again = await client.edit("draft.txt", handle=editor.handle)
        assert (again.handle, again.text) == (editor.handle, "unsaved draft\n")
        await client.do("save", handle=again.handle)
    assert (server.root / "draft.txt").read_text() == "unsaved draft\n"


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


async def write(server: HttpServer, path: str) -> None:
    """Have an agent write an empty file."""
    async with httpx2.AsyncClient() as agent:
        answer = await agent.post(f"{server.address}/v1/tools/write_file", json={"path": path, "content": ""})
    assert answer.json()["success"], answer.text


async def test_after_a_kill_the_next_server_goes_on(root: Path) -> None:
    (root / "text.txt").write_text("text\n")
    with http_server(root) as server:
        async with live(server.address, session="s") as client:
            editor = await client.edit("text.txt")
            editor.type(0, 0, "unsaved ")
            await editor.settled()
            await write(server, "one.txt")
            await client.until(lambda: client.events("file:created"))
            position = client.events()[-1]["position"]
            await write(server, "two.txt")
            os.kill(server.process.pid, signal.SIGKILL)
            await client.pump
    with http_server(root) as server:
        async with live(server.address, session="s", since=position) as client:
            await client.until(lambda: client.events("file:created"))
            assert [each["path"] for each in client.events("file:")] == ["two.txt"]
            again = await client.edit("text.txt", handle=editor.handle)
            assert again.text == "unsaved text\n"
            again.type(0, 0, "still ")
            await again.settled()
            await client.do("save", handle=again.handle)
    assert (root / "text.txt").read_text() == "still unsaved text\n"
