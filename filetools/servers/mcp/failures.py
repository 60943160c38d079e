"""Errors of filetools as errors of the protocol, where a request is no tool call."""

from __future__ import annotations

from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from filetools.errors import FileToolsError
from filetools.tools.envelope import failure_envelope

RESOURCE_NOT_FOUND: Final = -32002
"""What the handshake revisions of the protocol call a missing resource."""
_MISSING: Final = frozenset(
    (
        "FILE_NOT_FOUND", "DIR_NOT_FOUND", "VERSION_GONE", "BUFFER_CLOSED", "INVALID_PATH", "ABSOLUTE_PATH",
        "PATH_TRAVERSAL", "PATH_TOO_LONG", "SYMLINK_NOT_ALLOWED", "SYMLINK_ESCAPE",
    )
)  # fmt: skip
_ARGUMENTS: Final = frozenset(("INVALID_ARGUMENT", "FILE_TOO_LARGE", "NOT_A_DIRECTORY", "NOT_A_REGULAR_FILE"))


def protocol_error(error: FileToolsError, protocol_version: str, uri: str | None = None) -> MCPError:
    """Return the error that a client of a revision expects; its data is the envelope of the failure."""
    data = failure_envelope(error) | ({} if uri is None else {"uri": uri})
    return MCPError(_code_of(error, protocol_version), error.message, data)


def _code_of(error: FileToolsError, protocol_version: str) -> int:
    code: int = INTERNAL_ERROR
    if error.code in _ARGUMENTS or error.code in _MISSING:
        code = INVALID_PARAMS
    if error.code in _MISSING and protocol_version not in MODERN_PROTOCOL_VERSIONS:
        code = RESOURCE_NOT_FOUND
    return code
