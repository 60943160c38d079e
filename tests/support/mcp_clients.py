"""The official client before our door: in memory, or before a process of its own; and what results say."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.server import McpServer
from tests.support import command_client
from tests.support.declared import REPOSITORY
from tests.support.terminal import shared_server

ERAS: Final = ("auto", "legacy")
"""The present revision of the protocol, and those that begin with a handshake."""
RELAXED: Final[dict[str, Any]] = {"durability": "relaxed", "watch": False}


@asynccontextmanager
async def opened_door(
    root: Path, mode: str = "auto", *, settings: dict[str, Any] | None = None, client: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Client, FileToolsFacade]]:  # fmt: skip
    """Open a root and connect a client to its door in memory."""
    async with (
        filetools.open(root, settings={**RELAXED, **(settings or {})}) as files,
        McpServer(files, McpOptions(**options)) as door,
        Client(door.server, mode=mode, **client or {}) as calling,
    ):
        yield calling, files


def process(root: Path, *arguments: str) -> StdioServerParameters:
    """Return what starts `filetools mcp ROOT` as a process, forked from one that has everything loaded."""
    return forked(root, "mcp", str(root), *arguments)


def command(*arguments: str) -> list[str]:
    """Return a command that runs `filetools mcp`, forked likewise."""
    server = f"{command_client.VARIABLE}={shared_server().address}"
    return ["env", server, sys.executable, "-IS", command_client.__file__, "mcp", *arguments]


def forked(folder: Path, *arguments: str, **environment: str) -> StdioServerParameters:
    """Return what runs `filetools` in a folder, forked likewise."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-IS", command_client.__file__, *arguments],
        env={
            command_client.VARIABLE: shared_server().address,
            "PYTHONPATH": str(REPOSITORY),
            "XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"],
            **environment,
        },
        cwd=folder,
    )


def text_of(result: CallToolResult) -> str:
    """Return the text that a model reads."""
    assert isinstance(result.content[0], TextContent)
    return str(result.content[0].text)


async def text(client: Client, name: str, **arguments: Any) -> str:
    """Call a tool that must succeed, and return its text."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def facts(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed, and return what programs get."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def failure(client: Client, name: str, **arguments: Any) -> str:
    """Call a tool that must fail, and return what the model reads of it."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)


async def refused(code: int, call: Any) -> MCPError:
    """Await a request that must be an error of the protocol with this code."""
    with pytest.raises(MCPError) as caught:
        await call
    assert caught.value.code == code, caught.value
    return caught.value
