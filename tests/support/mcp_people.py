"""People at MCP clients: what they answer, and calls made round by round as a client makes them."""

from __future__ import annotations

from typing import Any

from mcp import Client
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult


class Person:
    """Answers what the client shows; keeps what was asked, and the forms."""

    def __init__(self, action: Any, answer: str | None = None, **more: Any) -> None:
        self._told = ElicitResult(action=action, content=None if answer is None else {"answer": answer, **more})
        self.asked: list[str] = []
        self.forms: list[dict[str, Any]] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        self.forms.append(params.requested_schema)
        return self._told


def shown_to(person: Person) -> dict[str, Any]:
    """Return what makes a client show forms to a person."""
    return {"elicitation_callback": person}


async def one_round(
    client: Client, name: str, arguments: dict[str, Any], state: str | None = None, answer: str | None = None,
    session: str | None = None, **content: Any,
) -> CallToolResult | InputRequiredResult:  # fmt: skip
    """Make one round of a call by hand."""
    told = None if answer is None else ElicitResult(action="accept", content={"answer": answer, **content})
    named: Any = None if session is None else {"filetools/session": session}
    responses: dict[str, Any] | None = None if told is None else {"approval": told}
    return await client.session.call_tool(
        name, arguments, input_responses=responses, request_state=state, allow_input_required=True,
        meta=named,
    )  # fmt: skip


async def state_of(client: Client, name: str, arguments: dict[str, Any], **options: Any) -> str:
    """Make a call that asks, and return the state that the client shall bring back."""
    asked = await one_round(client, name, arguments, **options)
    assert isinstance(asked, InputRequiredResult)
    assert asked.request_state is not None
    return str(asked.request_state)
