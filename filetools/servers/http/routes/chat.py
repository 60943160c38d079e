"""OpenAI's chat interface: routes that run the configured agent, with their requests and responses."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from filetools.app.agent_runs import AgentRuns
from filetools.errors import AgentFailedError, FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.paths.patterns import compile_patterns
from filetools.servers.http.event_stream import EVENT_STREAM, EventStream, event_text, joined, while_connected
from filetools.servers.http.openapi import Described
from filetools.servers.http.problems import Refusal, problem_of
from filetools.servers.http.routes.changes import with_urls
from filetools.servers.http.shared import Calling, SharedParts
from filetools.sessions.agent_messages import AgentText
from filetools.sessions.discovery import DISCOVERY_HEADER, attach, is_enabled, sse
from filetools.tools.arguments import Parameters, place_of, reason_of

router: Final = APIRouter(tags=["chat"])
_DONE: Final = "data: [DONE]\n\n"
_LISTS: Final = ("files_created", "files_modified", "files_deleted", "files_unchanged")
_ERROR: Final = {"application/json": {"schema": {"type": "object", "required": ["error"]}}}
_FAILURES: Final[Described] = {"default": {"description": "An error in OpenAI's format.", "content": _ERROR}}
_ANSWERS: Final[Described] = _FAILURES | {
    200: {"description": "The response, or its parts.", "content": {EVENT_STREAM: {"schema": {"type": "string"}}}}
}
MOST_MESSAGES: Final = 10_000
_SYSTEM: Final = ("system", "developer")
_IGNORED: Final = {
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "presence_penalty", "frequency_penalty", "seed", "stop",
    "user", "metadata", "store", "name", "reasoning_effort", "verbosity", "service_tier", "safety_identifier",
    "prompt_cache_key", "include_obfuscation",
}  # fmt: skip
"""Fields that clients commonly send and the agent ignores."""
_NOTHING: Final[tuple[object, ...]] = (None, [], {})


class _ChatModel(Parameters):
    """Base of request models. Unknown fields are accepted if they are empty: clients send back all they received."""

    @model_validator(mode="before")
    @classmethod
    def _without_ignored(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if name not in _IGNORED and value not in _NOTHING}


class _TextPart(_ChatModel):
    type: Literal["text"]
    text: str


def _parts(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class _Message(_ChatModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[list[_TextPart], BeforeValidator(_parts)]

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content)


class _StreamOptions(_ChatModel):
    include_usage: bool = False


def _checked(patterns: list[str]) -> list[str]:
    compile_patterns(patterns)
    return patterns


class ChatOrder(_ChatModel):
    """A request for the agent."""

    model: str = Field(pattern="^[!-~]{1,200}$")
    """Any name; a name other than the agent's own is passed to it in its environment."""
    messages: list[_Message] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream: bool = False
    stream_options: _StreamOptions = _StreamOptions()
    file_discovery_patterns: Annotated[list[str], AfterValidator(_checked)] = Field(default=[], max_length=100)
    """Patterns of the files to report, in the syntax of exclude patterns; an empty list selects all files."""
    output_dirs: list[Annotated[str, Field(max_length=4096)]] = Field(default=["claudedocs"], max_length=100)
    """Output folders of this run, relative to the root; `{run}` is replaced by its ID."""
    n: Literal[1] = 1

    @classmethod
    def read(cls, body: bytes) -> ChatOrder:
        """Parse a request body.

        Raises:
            Refusal: 400, with the invalid or unsupported field as `param`.
        """
        try:
            order = cls.model_validate_json(body)
        except ValidationError as error:
            fault = error.errors()[0]
            reason = "It is not supported" if fault["type"] == "extra_forbidden" else reason_of(fault)
            raise refused_field(place_of(fault["loc"]), reason) from None
        if not order._dialogue or order._dialogue[-1].role != "user":
            raise refused_field("messages", "The last message that is not a system message must be from the user")
        return order

    @property
    def _dialogue(self) -> list[_Message]:
        return [each for each in self.messages if each.role not in _SYSTEM]

    @property
    def question(self) -> str:
        """The newest message of the user."""
        return self._dialogue[-1].text

    @property
    def prompt(self) -> str:
        """The agent's prompt: system messages, the dialogue, and last the user's newest message, unchanged."""
        systems = [each.text for each in self.messages if each.role in _SYSTEM]
        dialogue = [f"{each.role.capitalize()}: {each.text}" for each in self._dialogue[:-1]]
        return "\n\n".join([*systems, *dialogue, self.question])


@router.get("/v1/models", responses=_FAILURES)
async def models(shared: SharedParts) -> dict[str, Any]:
    """Return the only listed model: the agent, named after its program. Requests may name any model."""
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
    """Run the agent on a dialogue, and return its text; with `stream`, as it arrives. Disconnecting stops the agent.

    The agent gets the model in its environment, as `FILETOOLS_MODEL`, unless that is the name of its program.

    With the header `X-Claude-File-Discovery: enabled`, or a line of the newest message that starts with `/sc:research`, the
    response also lists the files that the agent created, as `x_claude_metadata`.
    """
    agent, agents = shared.options.agent, shared.agents
    assert agent is not None
    assert agents is not None
    for name in request.headers:
        if name.startswith("x-claude-") and name != DISCOVERY_HEADER:
            # Most of them restrict the agent, which is not possible for an arbitrary program.
            raise refused_field(name, "The header is not supported; set options of the agent in --agent")
    order = ChatOrder.read(await request.body())
    answer = _ChatResponse(order, sends_files=is_enabled(request.headers, order.question))
    texts = answer.texts(agents, caller.files, model="" if order.model == agent.model else order.model)
    if order.stream:
        parts = answer.events(texts)
        # A failure before the agent runs is a normal response with its own status.
        return EventStream(joined(await anext(parts), parts), shared.closing)
    whole = await while_connected(answer.whole(texts), request.receive, shared.closing)
    if whole is None:
        raise Refusal(503, "ABORTED", "The server stops, or the client has disconnected")
    return Response(json.dumps(whole), media_type="application/json")


class _ChatResponse:
    """The response to one request, as a stream or as a whole."""

    def __init__(self, order: ChatOrder, *, sends_files: bool) -> None:
        self._order = order
        self._sends_files = sends_files
        self._rules = compile_patterns(order.file_discovery_patterns)
        self._text = AgentText()
        self._metadata: dict[str, Any] = {}
        self._same = {"id": "", "object": "chat.completion", "created": int(time.time()), "model": order.model}

    async def texts(self, agents: AgentRuns, files: FileToolsFacade, *, model: str) -> AsyncGenerator[str, None]:
        """Run the agent and yield its text as it arrives; first an empty text, once the agent has started.

        Raises:
            TooManyRunsError: The limit of concurrent runs is reached.
            AgentFailedError: The agent cannot be started, or ends without an answer.
        """
        async with agents.start(files, self._order.prompt, model=model, outputs=self._order.output_dirs) as run:
            self._same["id"] = f"chatcmpl-{run.run.id}"
            yield ""
            async for message in run:
                if text := self._text.read(message):
                    yield text
            self._metadata = with_urls(self._chosen(await run.finish()))
        why = run.failure or (None if self._text.has_answered else "it ended without an answer")
        if why is not None:
            raise AgentFailedError(self._order.model, why)

    async def whole(self, texts: AsyncGenerator[str, None]) -> dict[str, Any]:
        """Return the response as one object."""
        async with aclosing(texts):
            text = "".join([each async for each in texts])
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        completion = {**self._same, "choices": [choice], "usage": self._usage()}
        return attach(completion, self._metadata) if self._sends_files else completion

    async def events(self, texts: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        """Yield the events of a stream; a failure after the first event is sent as an event."""
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
                yield event_text(None, problem_of(error).openai())
            else:
                yield self._chunk({}, "stop")
                if self._order.stream_options.include_usage:
                    yield event_text(None, {**self._same, "choices": [], "usage": self._usage()})
                if self._sends_files:
                    yield sse(self._metadata, chunk=self._same)
        yield _DONE

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event_text(None, {**self._same, "choices": [choice]})

    def _usage(self) -> dict[str, int]:
        counts = {name: value for name, value in self._text.usage.items() if type(value) is int}
        prompt = sum(counts.get(f"{kind}input_tokens", 0) for kind in ("", "cache_creation_", "cache_read_"))
        completion = counts.get("output_tokens", 0)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    def _chosen(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return metadata with only the requested files."""
        if not self._rules.patterns:
            return metadata
        chosen = {
            name: [file for file in metadata[name] if self._rules.matches(file["relative_path"], False)]
            for name in _LISTS
            if name in metadata
        }
        status = {} if any(chosen.values()) else {"discovery_status": "no_files_found"}
        return metadata | chosen | status


def refused_field(field: str, why: str) -> Refusal:
    """Return the refusal of a request because of one field."""
    return Refusal(400, "INVALID_ARGUMENT", f"{field or 'The body'}: {why}", more={"details": {"param": field or None}})
