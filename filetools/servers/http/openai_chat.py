"""The chat interface of OpenAI, as far as an agent can serve it: what is asked, the prompt made of it, and errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from filetools.paths.patterns import compile_patterns
from filetools.servers.http.asgi import Message, Send
from filetools.servers.http.problems import MEDIA_TYPE, Refusal

MOST_MESSAGES: Final = 10_000
_SYSTEM: Final = ("system", "developer")
_UNHEARD: Final = {
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "presence_penalty", "frequency_penalty", "seed", "stop",
    "user", "metadata", "store", "name", "reasoning_effort", "verbosity", "service_tier", "safety_identifier",
    "prompt_cache_key", "include_obfuscation",
}  # fmt: skip
"""What clients send as a matter of course, and an agent takes no notice of."""
_NOTHING: Final[tuple[object, ...]] = (None, [], {})


class _Sent(BaseModel):
    """Base of what is sent. A field that is unknown may stand there if it says nothing: clients send back all they got."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _heard(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if name not in _UNHEARD and value not in _NOTHING}


class _Part(_Sent):
    type: Literal["text"]
    text: str


def _parts(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class _Message(_Sent):
    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[list[_Part], BeforeValidator(_parts)]

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content)


class _Streaming(_Sent):
    include_usage: bool = False


def _checked(patterns: list[str]) -> list[str]:
    compile_patterns(patterns)
    return patterns


class ChatOrder(_Sent):
    """What is asked of an agent."""

    model: str
    messages: list[_Message] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream: bool = False
    stream_options: _Streaming = _Streaming()
    file_discovery_patterns: Annotated[list[str], AfterValidator(_checked)] = Field(default=[], max_length=100)
    """Of which files it is told, as in exclude patterns; none stands for all."""
    output_dirs: list[Annotated[str, Field(max_length=4096)]] = Field(default=["claudedocs"], max_length=100)
    """Folders relative to the root that are this run's; `{run}` stands for its id."""
    n: Literal[1] = 1

    @classmethod
    def read(cls, body: bytes) -> ChatOrder:
        """Return what a body asks for.

        Raises:
            Refusal: 400, with the field that is wrong or not supported as `param`.
        """
        try:
            order = cls.model_validate_json(body)
        except ValidationError as error:
            fault = error.errors()[0]
            field = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in fault["loc"])
            said = "It is not supported" if fault["type"] == "extra_forbidden" else fault["msg"]
            raise refused_field(field.lstrip("."), said) from None
        if not order._dialogue or order._dialogue[-1].role != "user":
            raise refused_field("messages", "The last one but system messages is the user's")
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
        """What the agent is told: system messages, the dialogue, and last the newest message of the user as it is."""
        systems = [each.text for each in self.messages if each.role in _SYSTEM]
        dialogue = [f"{each.role.capitalize()}: {each.text}" for each in self._dialogue[:-1]]
        return "\n\n".join([*systems, *dialogue, self.question])


def refused_field(field: str, why: str) -> Refusal:
    """Return the refusal of a body because of one field."""
    return Refusal(400, "INVALID_ARGUMENT", f"{field or 'The body'}: {why}", details={"param": field or None})


def openai_error(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem as OpenAI tells of errors."""
    status = problem["status"]
    kind = "rate_limit_error" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
    param = problem.get("details", {}).get("param")
    return {"error": {"message": problem["detail"], "type": kind, "param": param, "code": problem["code"].lower()}}


def with_openai_errors(send: Send) -> Send:
    """Return what sends every problem as an error of OpenAI."""
    held: list[Message] = []

    async def translated(message: Message) -> None:
        if (b"content-type", MEDIA_TYPE.encode()) in message.get("headers", ()):
            held.append(message)
        elif not held:
            await send(message)
        else:  # a problem is one part
            start, body = held.pop(), json.dumps(openai_error(json.loads(message["body"]))).encode("ascii")
            headers = dict(start["headers"]) | {
                b"content-type": b"application/json",
                b"content-length": b"%d" % len(body),
            }
            if start["status"] >= 500:
                # Clients try again by themselves, and an agent that failed would do its work twice.
                headers[b"x-should-retry"] = b"false"
            await send({**start, "headers": list(headers.items())})
            await send({**message, "body": body})

    return translated
