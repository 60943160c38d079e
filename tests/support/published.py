"""What the door tells of itself, as it answers before it is loaded: made by asking the door itself."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

import filetools
from filetools.servers.mcp import Door, DoorOptions, RootsDoor
from filetools.servers.mcp_start import NATIVE, PRESENT_VERSION
from filetools.tools.dialects import DIALECTS, Dialect
from filetools.tools.registry import FILE_TOOLS

CLIENT: Final = {"name": "test", "version": "1"}
META: Final = {
    "io.modelcontextprotocol/protocolVersion": PRESENT_VERSION,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
READY: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    """Return a request of the protocol."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def greeting(version: str = "2025-11-25") -> dict[str, Any]:
    """Return the request that begins a handshake."""
    return request(1, "initialize", protocolVersion=version, capabilities={}, clientInfo=CLIENT)


@asynccontextmanager
async def door(options: DoorOptions) -> AsyncIterator[tuple[Server[Any], Any]]:
    """Open the door of some options on an empty folder."""
    with tempfile.TemporaryDirectory() as place:
        opening = filetools.open(place, settings={"watch": False, "durability": "relaxed"})
        if options.dialect is not None and options.dialect.takes_several_roots:
            async with RootsDoor(lambda _: opening, [], options) as server:
                yield server, server.create_initialization_options()
            return
        async with opening as files, Door(files, options) as single:
            yield single.server, single.initialization


async def answers(options: DoorOptions, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results with which the door of some options answers requests."""
    to_server, incoming = anyio.create_memory_object_stream[Any](10)
    outgoing, from_server = anyio.create_memory_object_stream[Any](10)
    async with (
        to_server, incoming, outgoing, from_server,
        door(options) as (server, initialization),
        anyio.create_task_group() as tasks,
    ):  # fmt: skip
        tasks.start_soon(server.run, incoming, outgoing, initialization)
        told = []
        for message in messages:
            await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            if "id" in message:
                answer = (await from_server.receive()).message
                told.append(json.loads(jsonrpc_message_adapter.dump_json(answer, by_alias=True, exclude_unset=True)))
        tasks.cancel_scope.cancel()
    return [each["result"] for each in told]


async def published() -> dict[str, Any]:
    """Return what the door tells, in our own words and in every dialect."""
    return {each.name if each else NATIVE: await _of(each) for each in (None, *DIALECTS)}


async def _of(dialect: Dialect | None) -> dict[str, Any]:
    tools = FILE_TOOLS if dialect is None else dialect.tools
    names = tuple(tool.name for tool in tools)
    options = DoorOptions(dialect=dialect, tools=names)
    hello, listed = await answers(options, [greeting(), READY, request(2, "tools/list")])
    found, present = await answers(
        options, [request(1, "server/discover", _meta=META), request(2, "tools/list", _meta=META)]
    )
    assert present.pop("tools") == listed["tools"]
    rows = [
        {"group": tool.group, "reads": tool.effect == "read", "tool": told}
        for tool, told in zip(tools, listed["tools"], strict=True)
    ]
    if dialect is None:
        full = DoorOptions(tools=names, structured=True)
        _, more = await answers(full, [greeting(), READY, request(2, "tools/list")])
        for row, told in zip(rows, more["tools"], strict=True):
            row |= {"structured": told} if told != row["tool"] else {}
    del hello["protocolVersion"], found["_meta"], present["_meta"]
    hello["serverInfo"].pop("version")
    return {"initialize": hello, "discover": found, "list": present, "tools": rows}


def text() -> str:
    """Return the file of it, a tool a line."""
    parts = []
    for name, told in asyncio.run(published()).items():
        rows = ",\n".join(json.dumps(row, ensure_ascii=True) for row in told.pop("tools"))
        head = "".join(f"{json.dumps(key)}: {json.dumps(each)},\n" for key, each in told.items())
        parts.append(f'{json.dumps(name)}: {{\n{head}"tools": [\n{rows}\n]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write(place: Path) -> None:
    """Write the file."""
    place.write_text(text(), encoding="ascii")
