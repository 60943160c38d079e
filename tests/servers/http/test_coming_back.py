"""Editors that come back to a real server: after it was killed, after their login has ended, after their file has moved."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import httpx2
import pytest

from tests.support.http_servers import HttpServer, http_server
from tests.support.live_clients import live

NO_BROWSER = {"BROWSER": "true"}


@pytest.mark.parametrize("frames_seen", [0, 1, 3])
async def test_what_was_on_its_way_to_a_killed_server_arrives_once(root: Path, frames_seen: int) -> None:
    (root / "text.txt").write_text("text\n")
    words = []
    with http_server(root) as server:
        async with live(server.address, session="s") as client, live(server.address, session="t") as other:
            editor, busy = await client.edit("text.txt"), await other.edit("text.txt")
            editor.type(0, 0, "first ")
            await editor.settled()
            for number in range(5):
                words += [f"mine{number} ", f"theirs{number} "]
                editor.type(0, 0, f"mine{number} ")
                busy.type(0, 0, f"theirs{number} ")
            seen = len(client.heard) + frames_seen
            await client.until(lambda: len(client.heard) >= seen)
            server.stop(signal.SIGKILL)
            await client.pump
            await other.pump
            editor.leave()
            busy.leave()
            editor.type(0, 0, "offline ")
    with http_server(root) as server:
        async with live(server.address, session="s") as client, live(server.address, session="t") as other:
            for back, connection in ((editor, client), (busy, other)):
                assert (await back.come_back(connection))["resumed"]
                await back.settled()
            newest = max(editor.version, busy.version)  # nothing more is on its way to the server
            await client.until(lambda: editor.version == newest)
            await other.until(lambda: busy.version == newest)
            assert editor.text == busy.text
            assert sorted(editor.text.split()) == sorted([*"".join(words).split(), "first", "offline", "text"])
            await client.do("save", handle=editor.handle)
            assert (root / "text.txt").read_text() == editor.text


async def test_a_new_login_of_the_same_person_goes_on_with_the_handle(root: Path) -> None:
    (root / "text.txt").write_text("text\n")
    with http_server(root, "--open", environment=NO_BROWSER) as server:
        async with live(server.address, headers=person(server), session="window") as page:
            editor = await page.edit("text.txt")
            editor.type(0, 0, "typed ")
            await editor.settled()
            editor.type(0, 0, "late ")
            server.stop(signal.SIGKILL)  # logins end with the server
            editor.leave()
    with http_server(root, "--open", environment=NO_BROWSER) as server:
        async with live(server.address, headers=person(server), session="window") as page:
            assert (await editor.come_back(page))["resumed"]
            await editor.settled()
            assert editor.text == "late typed text\n"
            await page.do("save", handle=editor.handle)
    assert (root / "text.txt").read_text() == "late typed text\n"


async def test_what_has_become_of_an_open_file_is_told_and_the_document_stays(server: HttpServer) -> None:
    for name in ("goes.txt", "moves.txt"):
        (server.root / name).write_text("text\n")
    async with live(server.address) as client, httpx2.AsyncClient() as agent:
        goes, moves = await client.edit("goes.txt"), await client.edit("moves.txt")
        for operation in (
            {"op": "delete", "path": "goes.txt"},
            {"op": "move", "source": "moves.txt", "destination": "moved.txt"},
        ):
            answer = await agent.post(f"{server.address}/v1/transactions", json={"operations": [operation]})
            assert answer.status_code == 200, answer.text
        await client.frame("event", event="file:deleted", path="goes.txt")
        await client.frame("event", event="file:renamed", path="moved.txt", old_path="moves.txt")
        told = await client.frame("event", event="buffer:moved", path="moved.txt", old_path="moves.txt")
        assert "position" not in told
        for editor in (goes, moves):
            editor.type(0, 0, "still ")
            await editor.settled()
            await client.do("save", handle=editor.handle)
    for name in ("goes.txt", "moved.txt"):
        assert (server.root / name).read_text() == "still text\n"
    assert not (server.root / "moves.txt").exists()


def person(server: HttpServer) -> dict[str, str]:
    """Log in, and return the headers of the person's browser."""
    found = re.search(r"/login#code=(\S+)", server.line())
    assert found is not None
    headers = {"Origin": server.address}
    answer = httpx2.post(f"{server.address}/login", json={"code": found[1]}, headers=headers)
    cookie = str(answer.headers["set-cookie"].partition(";")[0])
    return headers | {"Cookie": cookie, "Filetools-Login": answer.json()["key"]}
