"""The state of a question between two rounds: the client carries it, and can neither read nor make it up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult
from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
)
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from filetools.servers.mcp.callers import Request

KEY_FILE: Final = "mcp-key"
"""Name of the key in the state directory: every process on the root has the same, also after a restart."""
STATE_SECONDS: Final = 600.0
"""How long an answer counts: as long as a request for approval is open."""
_REASON: Final = "invalid_request_state"
_CARRIED: Final = ("requestState", "inputResponses")


class Sealing(RequestStateBoundary):
    """Seals what goes out and opens what comes back; lives as long as its door.

    A state counts for the same caller, tool and arguments only, and for `STATE_SECONDS`.

    Args:
        key: At least 32 characters; whoever has the same key opens what another has sealed.
        principal: Tells callers apart.
        audience: Name of the server.
    """

    def __init__(self, key: str, principal: Callable[[Request], str], audience: str) -> None:
        self._codec = AESGCMRequestStateCodec([key])
        security = RequestStateSecurity(codec=self._codec, ttl=STATE_SECONDS, bind_principal=principal)
        super().__init__(security, default_audience=audience)

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Handle a request; the answer to another question, or one that comes too late, is none: it is asked anew."""
        try:
            return await super().__call__(ctx, call_next)
        except MCPError as error:
            if not isinstance(error.data, dict) or error.data.get("reason") != _REASON:
                raise
            if not self._is_ours(ctx.params or {}):
                message = "requestState is not what this server gave out; call again without it, and it asks anew"
                raise MCPError(INVALID_PARAMS, message, {"reason": _REASON}) from error
        bare = {name: value for name, value in (ctx.params or {}).items() if name not in _CARRIED}
        return await super().__call__(replace(ctx, params=bare), call_next)

    def _is_ours(self, params: Any) -> bool:
        token = params.get("requestState")
        try:
            return isinstance(token, str) and bool(self._codec.unseal(token))
        except InvalidRequestState:
            return False
