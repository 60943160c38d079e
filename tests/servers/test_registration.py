"""Servers among the instances of their workspace: as long as they run, by the name of their client, while they are called."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as wire
import pytest
from mcp import Client

import filetools
from filetools.app import registration
from filetools.app.registration import Registration
from filetools.facade.facade import FileToolsFacade
from filetools.project.registry import Registry
from filetools.servers.http.application import http_application
from filetools.servers.http.options import HttpOptions
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.server import McpServer
from tests.support import bearer, inside
from tests.support.crashing import QUIET
from tests.support.http_servers import http_server
from tests.support.mcp_clients import ERAS, process, text

Told = list[dict[str, Any]]
ALICE, BOB = (wire.Implementation(name=name, version="1") for name in ("alice's client", "bob's client"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    (place / "notes.md").write_text("notes\n")
    return place


async def look(files: FileToolsFacade) -> Told:
    return await files.projects.run(Registry.instances)


async def once(files: FileToolsFacade, is_so: Callable[[Told], bool]) -> Told:
    """Return the instances as soon as they are as expected; what servers note, they note in the background."""
    async with asyncio.timeout(60):
        while not is_so(told := await look(files)):
            await asyncio.sleep(0.05)
    return told


@pytest.mark.parametrize("mode", ERAS)
async def test_two_servers_on_one_root_are_both_told_until_they_end(root: Path, mode: str) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        assert await look(files) == []
        async with Client(process(root), mode=mode, client_info=ALICE) as alice:
            await text(alice, "read_file", path="notes.md")
            (told,) = await once(files, lambda told: [each["status"] for each in told] == ["working"])
            shown = {"id": told["id"], "name": "alice's client", "dir": str(root), "status": "working"}
            assert told == shown
            async with Client(process(root), mode=mode, client_info=BOB) as bob:
                await text(bob, "read_file", path="notes.md")
                both = await once(files, lambda told: len(told) == 2)
                assert [each["name"] for each in both] == ["alice's client", "bob's client"]
            assert [each["id"] for each in await once(files, lambda told: len(told) == 1)] == [told["id"]]
        assert files._parts.journal.registry.scan("instance/") == []  # before anybody has looked


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_server_that_is_ended_is_told_no_more(root: Path, number: signal.Signals) -> None:
    async with (
        filetools.open(root, settings=QUIET) as files,
        Client(process(root), client_info=ALICE) as alice,
        Client(process(root), client_info=BOB) as bob,
    ):
        for client in (alice, bob):
            await text(client, "read_file", path="notes.md")
        await once(files, lambda told: len(told) == 2)
        table = files._parts.journal.registry
        (row,) = [row for row in table.scan("instance/") if row.value["name"] == "alice's client"]
        os.kill(row.value["pid"], number)
        async with asyncio.timeout(60):
            # Nobody looks meanwhile: a server that can do so says itself that it has ended.
            while number == signal.SIGTERM and table.get(row.key) is not None:
                await asyncio.sleep(0.05)
        (left,) = await once(files, lambda told: len(told) == 1)
        assert left["name"] == "bob's client"
        await text(bob, "read_file", path="notes.md")


async def test_a_server_for_several_roots_is_told_in_each(tmp_path: Path, root: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    started = process(root, str(second), "--dialect", "mcp-filesystem")
    async with (
        filetools.open(root, settings=QUIET) as one,
        filetools.open(second, settings=QUIET) as two,
        Client(started, client_info=ALICE) as client,
    ):
        await text(client, "list_allowed_directories")
        for files, place in ((one, root), (two, second)):
            (told,) = await once(files, lambda told: len(told) == 1)
            assert (told["name"], told["dir"]) == ("alice's client", str(place))


async def test_a_server_over_http_works_while_it_is_called(root: Path) -> None:
    with http_server(root) as serving:
        async with (
            filetools.open(root, settings=QUIET) as files,
            bearer.AsyncClient(base_url=serving.address) as client,
        ):
            (told,) = await once(files, lambda told: len(told) == 1)
            assert (told["name"], told["status"], told["dir"]) == ("filetools serve", "idle", str(root))
            assert (await client.get("/healthz")).status_code < 500
            assert (await client.get("/v1/files/notes.md")).status_code == 200
            await once(files, lambda told: told[0]["status"] == "working")
            serving.process.send_signal(signal.SIGTERM)
            await once(files, lambda told: told == [])


async def test_who_asks_for_the_status_gives_no_work(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "NOTED_SECONDS", 0.0)
    door = McpOptions(tools=("core", "context"))
    async with (
        filetools.open(root, settings=QUIET) as files,
        Registration(lambda: [files], "server") as noted,
        http_application(files, HttpOptions(mcp=door, token=bearer.TOKEN), registration=noted) as application,
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(application), base_url="http://127.0.0.1:8765", headers=bearer.HEADERS
        ) as client,
        McpServer(files, door, registration=noted) as served,
        Client(served.server) as agent,
    ):
        asked = {"tool": "get_instance_status", "input": {}}
        events = {"Accept": "text/event-stream"}
        for name, body, headers in (
            ("tools/get_instance_status", {}, {}),
            ("execute", asked, {}),
            ("execute", asked, events),
        ):
            assert '"success":true' in (await client.post(f"/v1/{name}", json=body, headers=headers)).text
        await text(agent, "get_instance_status")
        await inside.written_notes(noted)
        assert [each["status"] for each in await look(files)] == ["idle"]
        assert (await client.post("/v1/tools/list_files", json={})).json()["success"]
        await once(files, lambda told: [each["status"] for each in told] == ["working"])
