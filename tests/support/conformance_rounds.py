"""Tools and prompts of the conformance suite's fixture that ask their client over several rounds (2026-07-28)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as wire

from filetools.servers.mcp.callers import Request
from tests.support.conformance_tools import NO_ARGUMENTS, PNG, Answer, Play, embedded, said, sampling, text_of_sampling

NAME: Final[dict[str, Any]] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
COLOUR: Final[dict[str, Any]] = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
CONFIRM: Final[dict[str, Any]] = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
CONTEXT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"context": {"type": "string"}},
    "required": ["context"],
}
_Told = Mapping[str, object]


def form(message: str, schema: dict[str, Any]) -> wire.ElicitRequest:
    """Return a question to the client's person."""
    return wire.ElicitRequest(params=wire.ElicitRequestFormParams(message=message, requested_schema=schema))


def asked(state: str | None = None, **questions: Any) -> wire.InputRequiredResult:
    """Return a result that asks."""
    return wire.InputRequiredResult(input_requests=questions, request_state=state)


def filled(told: _Told, key: str, field: str) -> str | None:
    """Return what a person filled in, or None if they did not."""
    answer = told.get(key)
    if not isinstance(answer, wire.ElicitResult) or answer.action != "accept":
        return None
    value = (answer.content or {}).get(field)
    return None if value is None else str(value)


async def elicitation(request: Request, given: wire.CallToolRequestParams) -> Answer:
    name = filled(given.input_responses or {}, "user_name", "name")
    return said(f"Hello, {name}!") if name else asked(user_name=form("What is your name?", NAME))


async def sampled(request: Request, given: wire.CallToolRequestParams) -> Answer:
    answer = text_of_sampling((given.input_responses or {}).get("capital_question"))
    return said(answer) if answer else asked(capital_question=sampling("What is the capital of France?", 100))


async def listed_roots(request: Request, given: wire.CallToolRequestParams) -> Answer:
    told = (given.input_responses or {}).get("client_roots")
    if not isinstance(told, wire.ListRootsResult):
        return asked(client_roots=wire.ListRootsRequest())
    return said(", ".join(str(root.uri) for root in told.roots))


async def stateful(request: Request, given: wire.CallToolRequestParams) -> Answer:
    if given.request_state == "confirming" and filled(given.input_responses or {}, "confirm", "ok"):
        return said("state-ok")
    return asked("confirming", confirm=form("Please confirm", CONFIRM))


async def several(request: Request, given: wire.CallToolRequestParams) -> Answer:
    questions: dict[str, Any] = {
        "user_name": form("What is your name?", NAME),
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": wire.ListRootsRequest(),
    }
    if given.request_state and questions.keys() <= (given.input_responses or {}).keys():
        return said("all answered")
    return asked("several", **questions)


async def two_rounds(request: Request, given: wire.CallToolRequestParams) -> Answer:
    told = given.input_responses or {}
    if given.request_state and given.request_state.startswith("named ") and (colour := filled(told, "step2", "color")):
        return said(f"{given.request_state.removeprefix('named ')} likes {colour}")
    if given.request_state == "begun" and (name := filled(told, "step1", "name")):
        return asked(f"named {name}", step2=form("Step 2: What is your favorite color?", COLOUR))
    return asked("begun", step1=form("Step 1: What is your name?", NAME))


async def by_capability(request: Request, given: wire.CallToolRequestParams) -> Answer:
    offered = request.session.client_capabilities
    questions: dict[str, Any] = {}
    if offered is not None and offered.sampling is not None:
        questions["capital_question"] = sampling("What is the capital of France?", 100)
    if offered is not None and offered.elicitation is not None:
        questions["user_name"] = form("What is your name?", NAME)
    return asked(**questions) if questions else said("nobody to ask")


ROUNDS: Final[dict[str, tuple[dict[str, Any], Play]]] = {
    "test_input_required_result_elicitation": (NO_ARGUMENTS, elicitation),
    "test_input_required_result_sampling": (NO_ARGUMENTS, sampled),
    "test_input_required_result_list_roots": (NO_ARGUMENTS, listed_roots),
    "test_input_required_result_request_state": (NO_ARGUMENTS, stateful),
    "test_input_required_result_multiple_inputs": (NO_ARGUMENTS, several),
    "test_input_required_result_multi_round": (NO_ARGUMENTS, two_rounds),
    "test_input_required_result_tampered_state": (NO_ARGUMENTS, stateful),
    "test_input_required_result_capabilities": (NO_ARGUMENTS, by_capability),
    "test_streaming_elicitation": (NO_ARGUMENTS, elicitation),
}

PROMPTS: Final[dict[str, list[wire.PromptArgument]]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": [
        wire.PromptArgument(name=name, description="A test argument", required=True) for name in ("arg1", "arg2")
    ],
    "test_prompt_with_embedded_resource": [
        wire.PromptArgument(name="resourceUri", description="What to embed", required=True)
    ],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


async def list_prompts(request: Request, given: wire.PaginatedRequestParams | None) -> wire.ListPromptsResult:
    """Return all prompts."""
    prompts = [
        wire.Prompt(name=name, description="For the suite", arguments=list(asks)) for name, asks in PROMPTS.items()
    ]
    return wire.ListPromptsResult(prompts=prompts)


async def get_prompt(
    request: Request, given: wire.GetPromptRequestParams
) -> wire.GetPromptResult | wire.InputRequiredResult:
    """Return a prompt, or ask for its context first."""
    arguments = given.arguments or {}
    match given.name:
        case "test_prompt_with_arguments":
            text = f"Prompt with arguments: arg1='{arguments.get('arg1')}', arg2='{arguments.get('arg2')}'"
            return _prompt(text)
        case "test_prompt_with_embedded_resource":
            uri = arguments.get("resourceUri", "test://example")
            found = embedded(uri, "text/plain", "Embedded resource content for testing.")
            return _prompt("Please process the embedded resource above.", found)
        case "test_prompt_with_image":
            return _prompt("Please analyze the image above.", wire.ImageContent(data=PNG, mime_type="image/png"))
        case "test_input_required_result_prompt":
            context = filled(given.input_responses or {}, "user_context", "context")
            if context is None:
                return asked(user_context=form("What context should the prompt use?", CONTEXT))
            return _prompt(f"Use this context: {context}")
        case _:
            return _prompt("This is a simple prompt for testing.")


def _prompt(text: str, first: Any = None) -> wire.GetPromptResult:
    blocks = [first, wire.TextContent(text=text)] if first is not None else [wire.TextContent(text=text)]
    return wire.GetPromptResult(messages=[wire.PromptMessage(role="user", content=block) for block in blocks])
