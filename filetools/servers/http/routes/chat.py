"""Routes that run an agent as the chat interface of OpenAI asks for it; they exist only where there is an agent."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from filetools.app.agent_runs import AgentRuns
from filetools.errors import AgentFailedError, FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.paths.patterns import compile_patterns
from filetools.servers.http.described import EVERYWHERE, Described
from filetools.servers.http.event_stream import MEDIA_TYPE, EventStream, event_text, while_there
from filetools.servers.http.openai_chat import ChatOrder, openai_error
from filetools.servers.http.problems import TITLES, Refusal, problem_of
from filetools.servers.http.routes.runs import with_urls
from filetools.servers.http.shared import Calling, SharedParts
from filetools.sessions.agent_messages import AgentText
from filetools.sessions.discovery import attach, is_enabled, sse

router: Final = APIRouter(tags=["chat"])
_DONE: Final = "data: [DONE]\n\n"
_LISTS: Final = ("files_created", "files_modified", "files_deleted")
_ERROR: Final = {"application/json": {"schema": {"type": "object", "required": ["error"]}}}
_FAILURES: Final[Described] = {
    status: {"description": TITLES[status], "content": _ERROR} for status in (404, 502, *EVERYWHERE)
}
_ANSWERS: Final[Described] = _FAILURES | {
    200: {"description": "The answer, or its parts.", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
}


@router.get("/v1/models", responses=_FAILURES)
async def models(shared: SharedParts) -> dict[str, Any]:
    """Return the one model that there is, which is the agent, named after its program."""
    assert shared.options.agent is not None
    model = {"id": shared.options.agent.model, "object": "model", "created": 0, "owned_by": "filetools"}
    return {"object": "list", "data": [model]}


@router.post(
    "/v1/chat/completions",
    response_model=None,
    responses=_ANSWERS,
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/json": {"schema": ChatOrder.model_json_schema()}}}
    },
)
async def complete(request: Request, caller: Calling, shared: SharedParts) -> Response:
    """Run the agent on a dialogue, and return what it says; with `stream` as it says it. Who goes away stops it.

    With the header `X-Claude-File-Discovery: enabled`, or a line of the newest message that starts with `/sc:research`, the
    files that it made come with the answer as `x_claude_metadata`.
    """
    agent, agents = shared.options.agent, shared.agents
    assert agent is not None
    assert agents is not None
    order = ChatOrder.read(await request.body())
    if order.model != agent.model:
        raise Refusal(404, "MODEL_NOT_FOUND", f"There is no model {order.model[:120]!r}", details={"param": "model"})
    answer = _Answer(order, tells_files=is_enabled(request.headers, order.question))
    texts = answer.texts(agents, caller.files)
    if order.stream:
        parts = answer.events(texts)
        # What fails before the agent runs is an answer like any other, with its status.
        return EventStream(parts, shared.closing, first=await anext(parts))
    whole = await while_there(answer.whole(texts), request.receive, shared.closing)
    if whole is None:
        raise Refusal(503, "ABORTED", "The server stops, or the client has gone")
    return Response(json.dumps(whole), media_type="application/json")


class _Answer:
    """One answer on its way."""

    def __init__(self, order: ChatOrder, *, tells_files: bool) -> None:
        self._order = order
        self._tells_files = tells_files
        self._rules = compile_patterns(order.file_discovery_patterns)
        self._said = AgentText()
        self._metadata: dict[str, Any] = {}
        self._same = {"id": "", "object": "chat.completion", "created": int(time.time()), "model": order.model}

    async def texts(self, agents: AgentRuns, files: FileToolsFacade) -> AsyncGenerator[str, None]:
        """Run the agent, and yield what it says as it says it: nothing at first, when it has been started.

        Raises:
            TooManyRunsError: As many run as may.
            AgentFailedError: It cannot be started, or does not end with an answer.
        """
        async with agents.start(files, self._order.prompt, outputs=self._order.output_dirs) as run:
            self._same["id"] = f"chatcmpl-{run.run.id}"
            yield ""
            async for message in run:
                if text := self._said.read(message):
                    yield text
            self._metadata = with_urls(self._chosen(await run.finish()))
        why = run.failure or (None if self._said.has_answered else "it ended without an answer")
        if why is not None:
            raise AgentFailedError(self._order.model, why)

    async def whole(self, texts: AsyncGenerator[str, None]) -> dict[str, Any]:
        """Return the answer as one object."""
        async with aclosing(texts):
            text = "".join([each async for each in texts])
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        told = {**self._same, "choices": [choice], "usage": self._usage()}
        return attach(told, self._metadata) if self._tells_files else told

    async def events(self, texts: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        """Yield the events of a stream; a failure after the first is one of them."""
        self._same["object"] = "chat.completion.chunk"
        delta: dict[str, Any] = {"role": "assistant", "content": ""}
        async with aclosing(texts):
            try:
                async for text in texts:
                    yield self._chunk(delta | {"content": text})
                    delta = {}
            except FileToolsError as error:
                if delta:
                    raise
                yield event_text(None, openai_error(json.loads(problem_of(error).body())))
            else:
                yield self._chunk({}, "stop")
                if self._order.stream_options.include_usage:
                    yield event_text(None, {**self._same, "choices": [], "usage": self._usage()})
                if self._tells_files:
                    yield sse(self._metadata, chunk=self._same)
        yield _DONE

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event_text(None, {**self._same, "choices": [choice]})

    def _usage(self) -> dict[str, int]:
        counts = {name: value for name, value in self._said.usage.items() if type(value) is int}
        asked = sum(counts.get(f"{kind}input_tokens", 0) for kind in ("", "cache_creation_", "cache_read_"))
        answered = counts.get("output_tokens", 0)
        return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}

    def _chosen(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return metadata with those files alone that were asked for."""
        if not self._rules.patterns:
            return metadata
        chosen = {
            name: [file for file in metadata[name] if self._rules.matches(file["relative_path"], False)]
            for name in _LISTS
            if name in metadata
        }
        status = {} if any(chosen.values()) else {"discovery_status": "no_files_found"}
        return metadata | chosen | status
