"""Editors that come back to a real server: after it was killed, after their login has ended, after their file has moved."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.http_servers import http_server, logged_in
from tests.support.live_clients import live

NO_BROWSER = {"BROWSER": "true"}


# Two are sure to come: what is typed goes in two changes, and an acknowledgement may carry all that others have typed.
@pytest.mark.parametrize("frames_seen", [0, 2])
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
        async with live(server.address, headers=logged_in(server), session="window") as page:
            editor = await page.edit("text.txt")
            editor.type(0, 0, "typed ")
            await editor.settled()
            editor.type(0, 0, "late ")
            server.stop(signal.SIGKILL)  # logins end with the server
            editor.leave()
    with http_server(root, "--open", environment=NO_BROWSER) as server:
        async with live(server.address, headers=logged_in(server), session="window") as page:
            assert (await editor.come_back(page))["resumed"]
            await editor.settled()
            assert editor.text == "late typed text\n"
            await page.do("save", handle=editor.handle)
    assert (root / "text.txt").read_text() == "late typed text\n"
