"""The door for MCP: tools, resources and notices of one workspace, over standard input and output or over HTTP."""

from __future__ import annotations

from filetools.distribution import require_extra

require_extra("mcp", "filetools.servers.mcp", "mcp", "mcp_types", "anyio")

# ruff: noqa: E402 - without the extra nothing below can be imported
from filetools.servers.mcp.door import Door
from filetools.servers.mcp.options import DEFAULT_GROUP, DoorOptions
from filetools.servers.mcp.roots_door import RootsDoor
from filetools.servers.mcp.transports import http_application, serve_roots_stdio, serve_stdio, until_signal

__all__ = [
    "DEFAULT_GROUP",
    "Door",
    "DoorOptions",
    "RootsDoor",
    "http_application",
    "serve_roots_stdio",
    "serve_stdio",
    "until_signal",
]
