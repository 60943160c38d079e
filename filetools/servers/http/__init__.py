"""The HTTP server: files as resources, tools, documents and changes of one workspace, for programs and the editor page."""

from filetools.distribution import require_extra

require_extra("server", "filetools.servers.http", "fastapi", "starlette", "uvicorn", "mcp", "mcp_types", "anyio")
