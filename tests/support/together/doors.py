"""The processes that serve one root, and a client before each."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
from mcp import Client

from tests.support.http_servers import HttpServer, http_server
from tests.support.mcp_clients import process, text_of

PATIENCE_SECONDS: Final = 60.0
_CODE: Final = re.compile(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a door said to one request."""

    refusal: str | None = None
    """Code of the error, or what was said where no code was found; None after a success."""
    data: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    """What a model reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """One root and a client before each of its processes."""

    root: Path
    server: HttpServer
    web: httpx2.AsyncClient
    native: Client
    """An agent with our own tools."""
    dialect: Client
    """An agent with the tools of another product."""
    editor: Client
    """An editor with tools."""

    async def asked(self, method: str, target: str, **options: Any) -> tuple[Answer, httpx2.Response]:
        """Send a request over HTTP."""
        answer = await self.web.request(method, target, **options)
        is_json = answer.headers.get("content-type", "").partition(";")[0].endswith("json")
        data: dict[str, Any] = answer.json() if is_json else {}
        refusal = None if answer.is_success else f"{data.get('code')}"
        return Answer(refusal=refusal, data=data), answer

    async def posted(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool over HTTP."""
        _, answer = await self.asked("POST", f"/v1/tools/{tool}", json=arguments)
        envelope = answer.json()
        if envelope["success"]:
            return Answer(data=envelope["data"])
        return Answer(refusal=envelope["error_code"], data=envelope)


async def called(client: Client, tool: str, **arguments: Any) -> Answer:
    """Call a tool over MCP."""
    result = await client.call_tool(tool, arguments)
    text = text_of(result)
    if result.is_error:
        found = _CODE.search(text)
        return Answer(refusal=text if found is None else found[0], text=text)
    return Answer(data=result.structured_content or {}, text=text)


@asynccontextmanager
async def opened_doors(root: Path) -> AsyncIterator[Doors]:
    """Start all processes on a root, and connect to each."""
    async with AsyncExitStack() as stack:
        server = stack.enter_context(http_server(root))
        web = await stack.enter_async_context(httpx2.AsyncClient(base_url=server.address, timeout=PATIENCE_SECONDS))
        kinds = (
            ("--tools", "core,files", "--structured"),
            ("--dialect", "claude-code"),
            ("--tools", "editor", "--editor", "--structured"),
        )
        clients = [await stack.enter_async_context(Client(_relaxed(root, *kind))) for kind in kinds]
        native, dialect, editor = clients
        yield Doors(root=root, server=server, web=web, native=native, dialect=dialect, editor=editor)


def _relaxed(root: Path, *arguments: str) -> Any:
    started = process(root, *arguments)
    return started.model_copy(update={"env": {**(started.env or {}), "FILETOOLS_DURABILITY": "relaxed"}})
