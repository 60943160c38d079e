"""Our door with the fixture of the conformance suite: its tools, prompts and resources stand beside ours.

Run as `python -m tests.support.conformance_server ROOT`: serves `/mcp` on a free port of 127.0.0.1, and says so on its first
line as `filetools serve` does.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import warnings
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import mcp_types as wire
import uvicorn
from mcp.shared.exceptions import MCPDeprecationWarning

import filetools
from filetools.servers.mcp.callers import Request
from filetools.servers.mcp.door import Door
from filetools.servers.mcp.options import DoorOptions
from filetools.servers.mcp.transports import application_of
from tests.support.conformance_rounds import ROUNDS, get_prompt, list_prompts
from tests.support.conformance_tools import PLAYS, PNG, Answer

TOOLS: Final = PLAYS | ROUNDS
WATCHED: Final = "filetools:///files/watched.txt"
"""The address of ours that stands for the suite's `test://watched-resource`."""


def equip(door: Door) -> None:
    """Put the fixture beside what a door serves; what is not the suite's goes to the door as before."""
    server = door.server
    fixture = Fixture(server)
    handlers: dict[str, Any] = {
        "tools/list": fixture.list_tools,
        "tools/call": fixture.call_tool,
        "resources/read": fixture.read_resource,
        "resources/subscribe": fixture.subscribe,
        "resources/unsubscribe": fixture.unsubscribe,
    }
    for method, handle in handlers.items():
        entry = server.get_request_handler(method)
        assert entry is not None
        server.add_request_handler(method, entry.params_type, handle)
    server.add_request_handler("prompts/list", wire.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", wire.GetPromptRequestParams, get_prompt)
    server.add_request_handler("logging/setLevel", wire.SetLevelRequestParams, _set_level)
    server.get_tool_input_schema = None


class Fixture:
    """The suite's tools and resources before those of a door; lives as long as the door's server."""

    def __init__(self, server: Any) -> None:
        self._ours = {
            method: server.get_request_handler(method).handler
            for method in (
                "tools/list", "tools/call", "resources/read", "resources/subscribe", "resources/unsubscribe",
            )
        }  # fmt: skip

    async def list_tools(self, request: Request, given: Any) -> wire.ListToolsResult:
        found = await self._ours["tools/list"](request, given)
        more = [
            wire.Tool(name=name, description="For the suite", input_schema=schema)
            for name, (schema, _) in TOOLS.items()
        ]
        return wire.ListToolsResult(tools=[*found.tools, *more])

    async def call_tool(self, request: Request, given: wire.CallToolRequestParams) -> Answer:
        if given.name in TOOLS:
            return await TOOLS[given.name][1](request, given)
        answer: Answer = await self._ours["tools/call"](request, given)
        return answer

    async def read_resource(self, request: Request, given: wire.ReadResourceRequestParams) -> wire.ReadResourceResult:
        uri = str(given.uri)
        if uri == "test://static-binary":
            return _read(wire.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG))
        if uri == "test://static-text":
            text = "This is the content of the static text resource."
            return _read(wire.TextResourceContents(uri=uri, mime_type="text/plain", text=text))
        if uri.startswith("test://template/") and uri.endswith("/data"):
            name = uri.split("/")[3]
            text = json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})
            return _read(wire.TextResourceContents(uri=uri, mime_type="application/json", text=text))
        found: wire.ReadResourceResult = await self._ours["resources/read"](request, given)
        return found

    async def subscribe(self, request: Request, given: wire.SubscribeRequestParams) -> Any:
        return await self._ours["resources/subscribe"](request, _ours(given))

    async def unsubscribe(self, request: Request, given: wire.UnsubscribeRequestParams) -> Any:
        return await self._ours["resources/unsubscribe"](request, _ours(given))


def _ours(given: Any) -> Any:
    return given.model_copy(update={"uri": WATCHED}) if str(given.uri) == "test://watched-resource" else given


def _read(contents: Any) -> wire.ReadResourceResult:
    return wire.ReadResourceResult(contents=[contents])


async def _set_level(request: Request, given: wire.SetLevelRequestParams) -> wire.EmptyResult:
    return wire.EmptyResult()


async def _serve(root: Path) -> None:
    async with AsyncExitStack() as stack:
        files = await stack.enter_async_context(filetools.open(root, settings={"durability": "relaxed"}))
        door = await stack.enter_async_context(Door(files, DoorOptions()))
        equip(door)
        application = await stack.enter_async_context(application_of(door))
        listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(application, log_level="warning", lifespan="off", timeout_graceful_shutdown=2)
        server = uvicorn.Server(config)
        sys.stdout.write(f"Serving {root} at http://127.0.0.1:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        await server.serve(sockets=[listener])


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # the suite asks for what the newest revision has given up
    asyncio.run(_serve(Path(sys.argv[1])))
