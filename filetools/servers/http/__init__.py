"""The HTTP server: files as resources, tools, documents and changes of one workspace, for programs and the editor page."""

from filetools.distribution import require_extra

require_extra("server", "The HTTP server", "fastapi", "starlette", "uvicorn", "mcp", "mcp_types", "anyio")
