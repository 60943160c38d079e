from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ResourceUpdatedNotification

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.transports import http_application
from tests.support.mcp_clients import ERAS, RELAXED, refused
from tests.support.opened import steps_until

NOTES = "filetools:///files/notes.md"


@asynccontextmanager
async def served(root: Path) -> AsyncIterator[tuple[str, FileToolsFacade]]:
    """Serve a root over HTTP on a free port."""
    async with (
        filetools.open(root, settings=RELAXED) as files,
        http_application(files, McpOptions(file_root=root)) as application,
    ):
        config = uvicorn.Config(application, port=0, lifespan="off", log_level="error", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        await steps_until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/mcp", files
        finally:
            server.should_exit = True
            await serving


async def test_addresses_of_the_machine_are_refused_over_http(root: Path) -> None:
    async with served(root) as (url, _), Client(url) as client:
        await refused(-32602, client.read_resource((root / "notes.md").as_uri()))


async def test_other_hosts_and_origins_are_refused(root: Path) -> None:
    async with served(root) as (url, _), httpx2.AsyncClient() as client:
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
            answer = await client.post(url, json={}, headers=headers)
            assert answer.status_code in (403, 421)


async def test_changes_are_told_over_http(root: Path) -> None:
    async with (
        served(root) as (url, files),
        Client(url) as client,
        client.listen(resource_subscriptions=[NOTES]) as stream,
    ):
        await files.append_file("notes.md", "more\n")
        assert await anext(stream) == ResourceUpdated(uri=NOTES)


async def test_closing_the_stream_cancels_the_call(root: Path) -> None:
    ended: list[Any] = []
    async with served(root) as (url, files), Client(url) as client:
        files.on("agent:tool:failed", ended.append)
        started: list[Any] = []
        files.on("agent:tool:started", started.append)
        call = asyncio.create_task(client.call_tool("watch_changes", {"wait_seconds": 50}))
        await steps_until(lambda: started)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await steps_until(lambda: ended)


async def test_a_session_is_named_by_metadata_else_a_header_else_the_connection(root: Path) -> None:
    async with served(root) as (url, files), httpx2.AsyncClient(headers={"Filetools-Session": "header"}) as http:
        named: Any = {"filetools/session": "metadata"}
        for mode in ERAS:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                await client.call_tool("write_file", {"path": f"{mode}1", "content": ""}, meta=named)
                await client.call_tool("write_file", {"path": f"{mode}2", "content": ""})
            async with Client(url, mode=mode) as client, Client(url, mode=mode) as other:
                await client.call_tool("write_file", {"path": f"{mode}3", "content": ""})
                await other.call_tool("write_file", {"path": f"{mode}4", "content": ""})
        sessions = {record.path: record.actor.session or "" for record in (await files.changes()).records}
    for mode in ERAS:
        assert (sessions[f"{mode}1"], sessions[f"{mode}2"]) == ("metadata", "header")
    # Without a name, clients of the present revision share the session of the process; the others have one each.
    assert sessions["auto3"] == sessions["auto4"]
    assert sessions["auto3"].startswith("process-")
    assert len({sessions["auto3"], sessions["legacy3"], sessions["legacy4"], ""}) == 4


async def test_a_client_of_a_handshake_revision_is_told_of_changes_over_http_too(root: Path) -> None:
    told: list[Any] = []

    async def note(message: Any) -> None:
        told.append(message)

    async with served(root) as (url, files), Client(url, mode="legacy", message_handler=note) as client:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await client.subscribe_resource(NOTES)
        async with asyncio.timeout(60):
            while not any(isinstance(each, ResourceUpdatedNotification) for each in told):
                # The stream on which notices come is opened beside the first calls.
                await files.append_file("notes.md", "more\n")
                await asyncio.sleep(0.02)
    assert {str(each.params.uri) for each in told if isinstance(each, ResourceUpdatedNotification)} == {NOTES}
