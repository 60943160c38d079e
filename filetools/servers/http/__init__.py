"""The door over HTTP: files as resources, tools, documents and changes of one workspace, for programs and one page."""

from __future__ import annotations

from filetools.distribution import require_extra

require_extra("server", "filetools.servers.http", "fastapi", "starlette", "uvicorn", "mcp", "mcp_types", "anyio")

# ruff: noqa: E402 - without the extra nothing below can be imported
from filetools.servers.http.application import ServerApplication, http_application
from filetools.servers.http.hosts import is_host_name, is_loopback
from filetools.servers.http.options import AgentOptions, HttpOptions, Limits
from filetools.servers.http.serving import Listener, listen, serve

__all__ = [
    "AgentOptions",
    "HttpOptions",
    "Limits",
    "Listener",
    "ServerApplication",
    "http_application",
    "is_host_name",
    "is_loopback",
    "listen",
    "serve",
]
