"""Answering with a problem where no route is involved, be it a request or a WebSocket."""

from __future__ import annotations

from typing import Final

from filetools.servers.http.asgi import Receive, Scope, Send
from filetools.servers.http.problems import Problem

_POLICY_VIOLATION: Final = 1008
_WITH_ANSWER: Final = "websocket.http.response"


async def refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or the opening of a WebSocket, with a problem."""
    if scope["type"] == "http":
        await problem.response()(scope, receive, send)
    elif scope["type"] == "websocket":
        await _refuse_socket(problem, scope, receive, send)


async def _refuse_socket(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    await receive()  # websocket.connect
    if _WITH_ANSWER not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": problem.code})
        return
    answer = problem.response()
    await send({"type": f"{_WITH_ANSWER}.start", "status": problem.status, "headers": answer.raw_headers})
    await send({"type": f"{_WITH_ANSWER}.body", "body": bytes(answer.body)})
