"""The MCP server: tools, resources and notifications of one workspace, over standard input and output or over HTTP."""

from filetools.distribution import require_extra

require_extra("mcp", "The MCP server", "mcp", "mcp_types", "anyio")
