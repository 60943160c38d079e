"""Routes for tools: their definitions, calling them, and the running calls."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from pydantic_core import from_json

from filetools.errors import InvalidArgumentError
from filetools.servers.http.event_stream import EVENT_STREAM, EventStream, event_text
from filetools.servers.http.openapi import PROBLEM, Described
from filetools.servers.http.problems import Refusal
from filetools.servers.http.shared import Caller, Calling, Shared, SharedParts
from filetools.tools.arguments import Parameters, read_arguments
from filetools.tools.envelope import failure_envelope
from filetools.tools.registry import ToolRegistry
from filetools.tools.tool import AbortSignal

logger = logging.getLogger(__name__)

router: Final = APIRouter(tags=["tools"])
PATHS: Final = ("/v1/tools/", "/v1/execute")
"""Path prefixes of the routes that call tools."""
CALL_HEADER: Final = "Filetools-Call"
"""Header with the ID of a call; the response always carries it, even if the server chose the ID."""
_STATUS: Final = {"UNKNOWN_TOOL": 400, "INVALID_ARGUMENT": 422, "INTERNAL": 500}
_ENVELOPE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["success"],
    "properties": {"success": {"type": "boolean"}},
}
_JSON: Final[dict[str, Any]] = {"application/json": {"schema": _ENVELOPE}}


_ANSWERS: Final[Described] = {
    200: {
        "description": "The envelope, of a success or a failure; or a stream of events that ends with it",
        "content": {**_JSON, EVENT_STREAM: {"schema": {"type": "string"}}},
    },
    "default": {
        "description": "The envelope of bad arguments or of a crash; or a problem, if no tool was called",
        "content": _JSON | PROBLEM,
    },
}
Call = Callable[..., Awaitable[dict[str, Any]]]
"""Calls a tool; takes the options of `ToolRegistry.call`."""
CallName = Annotated[str | None, Header(alias=CALL_HEADER, pattern="^[!-~]{1,120}$")]
Accepted = Annotated[str, Header(alias="Accept", include_in_schema=False)]
_ARGUMENTS: Final[dict[str, Any]] = {
    "requestBody": {"required": False, "content": {"application/json": {"schema": {"type": "object"}}}}
}


Rows = dict[str, list[dict[str, Any]]]
"""One list under its name."""


@router.get("/v1/tools")
async def tools(caller: Calling, groups: Annotated[list[str] | None, Query()] = None) -> Rows:
    """Return the definitions of all tools, or of those in some groups."""
    return {"tools": caller.registry.definitions(groups)}


@router.post("/v1/tools/{name}", responses=_ANSWERS, response_model=None, openapi_extra=_ARGUMENTS)
async def call_tool(
    caller: Calling,
    shared: SharedParts,
    request: Request,
    name: str,
    accept: Accepted = "",
    call_name: CallName = None,
) -> Response:
    """Call a tool with the body as its arguments.

    If the tool fails, the status is 200, too, and the envelope has the error. If the tool crashes, the status is 500.

    With `Accept: text/event-stream`, events `progress` report the progress, and `result` ends the stream; closing the
    stream earlier stops the call.
    """
    arguments = await _json(request)
    if not isinstance(arguments, dict):
        return _bad(InvalidArgumentError("The body must be a JSON object with the arguments of the tool"))
    call = partial(caller.registry.call, name, arguments)
    return await _called(shared, name, call, call_name, is_streamed=_is_streamed(caller, accept, name))


class Execution(Parameters):
    """A call that names its tool."""

    tool: str
    input: dict[str, Any] = Field(default_factory=dict)
    """The arguments."""


@router.post(
    "/v1/execute",
    responses=_ANSWERS,
    response_model=None,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": Execution.model_json_schema()}},
        }
    },
)
async def execute(
    caller: Calling,
    shared: SharedParts,
    request: Request,
    accept: Accepted = "",
    call_name: CallName = None,
) -> Response:
    """Call the tool that the body names; otherwise the same as `/v1/tools/{name}`.

    If the tool crashes, the error is only "Tool execution failed"; the log says why.
    """
    try:
        wanted, _ = read_arguments(Execution, await _json(request))
    except InvalidArgumentError as error:
        return _bad(error)
    call = partial(_executed, caller.registry, wanted)
    is_streamed = _is_streamed(caller, accept, wanted.tool)
    return await _called(shared, wanted.tool, call, call_name, is_streamed=is_streamed)


async def _executed(registry: ToolRegistry, wanted: Execution, **options: Any) -> dict[str, Any]:
    envelope = await registry.call(wanted.tool, wanted.input, **options)
    if envelope.get("error_code") != "INTERNAL":
        return envelope
    logger.error("Tool %s failed: %s", wanted.tool, envelope["error"])
    return envelope | {
        "error": "Tool execution failed",
        "suggested_action": "Continue without it; the log says why it failed.",
        "details": {},
    }


@router.get("/v1/calls")
async def calls(shared: SharedParts) -> Rows:
    """Return the running calls of this server, of all protocols, oldest first."""
    return {"calls": [record.to_dict() for record in shared.log.running()]}


@router.delete("/v1/calls/{call_id}")
async def abort_call(caller: Calling, shared: SharedParts, call_id: str) -> dict[str, Any]:
    """Stop a call, and return how many had that name. People may stop any call, agents only those of their own session."""
    aborted = shared.log.abort(call_id, caller.files.actor)
    if not aborted:
        raise Refusal(404, "NO_SUCH_CALL", f"There is no running call {call_id[:120]!r}")
    return {"id": call_id, "aborted": aborted}


def _is_streamed(caller: Caller, accept: str, name: str) -> bool:
    return EVENT_STREAM in accept and name in caller.registry.names()


async def _called(
    shared: Shared,
    tool: str,
    given: Call,
    call_id: str | None,
    *,
    is_streamed: bool,
) -> Response:
    named = call_id or f"call-{secrets.token_hex(8)}"
    headers = {CALL_HEADER: named}

    async def call(**options: Any) -> dict[str, Any]:
        shared.note_call(tool)
        return await given(tool_call_id=named, **options)

    if is_streamed:
        return EventStream(_streamed(call), shared.closing, headers)
    envelope = await call()
    status = 200 if envelope["success"] else _STATUS.get(envelope["error_code"], 200)
    return JSONResponse(envelope, status, headers)


async def _streamed(begin: Call) -> AsyncGenerator[str, None]:
    steps: asyncio.Queue[str | None] = asyncio.Queue()
    abort = AbortSignal()

    def report(current: int, total: int | None, message: str | None) -> None:
        steps.put_nowait(event_text("progress", {"current": current, "total": total, "message": message}))

    call = asyncio.ensure_future(begin(abort=abort, progress=report))
    call.add_done_callback(lambda _: steps.put_nowait(None))
    try:
        while (step := await steps.get()) is not None:
            yield step
        yield event_text("result", call.result())
    finally:
        abort.abort()
        await asyncio.gather(call, return_exceptions=True)


async def _json(request: Request) -> object:
    body = await request.body()
    try:
        # Unlike `json`, this parser has a depth limit instead of exhausting the stack.
        return from_json(body, allow_inf_nan=False) if body else {}
    except ValueError:  # the caller reports what the body must be
        return None


def _bad(error: InvalidArgumentError) -> Response:
    return JSONResponse(failure_envelope(error), 422)
