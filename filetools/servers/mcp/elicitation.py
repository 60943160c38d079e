"""Elicitation: asks the person at the client about calls that need a decision, in both eras of the protocol.

A call does not wait for the answer: it fails first, holding nothing, and is repeated when the answer arrives. The repeated
call checks everything again, so an answer never covers more than the person saw.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import mcp_types as wire
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.permissions.requests import ApprovalRequest, short_diff
from filetools.printable import printable, printable_text
from filetools.servers.mcp.callers import Request, can_ask, is_modern
from filetools.servers.mcp.options import McpOptions

QUESTION: Final = "approval"
MOST_QUESTIONS: Final = 3
"""Maximum number of questions about one call, over one connection of a handshake revision."""
_MAY_IT: Final = {"allow": "Allow", "allow_for_run": "Allow for this run", "deny": "Deny"}
_UNSAVED: Final = {
    "allow": "Replace the unsaved text, which is kept as a version",
    "merge": "Merge both; where they overlap, keep the unsaved text followed by the new text",
    "cancel": "Keep the unsaved text, and do not write",
}
_TEXT: Final[dict[str, Any]] = {
    "type": "string",
    "title": "The whole text to write instead",
    "description": "Only with merge; without it, both texts are kept.",
}
Perform = Callable[[], Awaitable[dict[str, Any]]]
"""Makes the call and returns its envelope."""


PersonAnswer = tuple[str, str | None]
"""A person's answer and, with "merge", the whole text."""


class Elicitation:
    """Sends questions to the clients of one server, and passes their answers on.

    Args:
        workspaces: Returns the open workspaces.
        options: Determine whether clients get questions.
    """

    def __init__(self, workspaces: Callable[[], Sequence[FileToolsFacade]], options: McpOptions) -> None:
        self._workspaces = workspaces
        self._options = options

    async def lead(
        self, request: Request, given: wire.CallToolRequestParams, perform: Perform
    ) -> dict[str, Any] | wire.InputRequiredResult:
        """Make a call, and ask the person at its client if the call needs a decision.

        Returns:
            The call's envelope, or a question whose answer the client sends with its next request.
        """
        if not can_ask(request, self._options):
            return await perform()
        if is_modern(request):
            return await self._over_rounds(given, perform)
        return await self._at_once(request, perform)

    async def _over_rounds(
        self, given: wire.CallToolRequestParams, perform: Perform
    ) -> dict[str, Any] | wire.InputRequiredResult:
        # Only a state sealed by this server gets here: the ID of a request, which is bound to what the person saw.
        answer = _answer_in((given.input_responses or {}).get(QUESTION))
        if given.request_state is not None and answer is not None:
            await self._pass_on(given.request_state, answer)
        envelope = await perform()
        asked = await self._asked(envelope)
        if asked is None or (given.request_state is not None and answer is None):  # the person did not answer
            return envelope
        questions: wire.InputRequests = {QUESTION: wire.ElicitRequest(params=_form_of(asked))}
        return wire.InputRequiredResult(input_requests=questions, request_state=asked.id)

    async def _at_once(self, request: Request, perform: Perform) -> dict[str, Any]:
        for _ in range(MOST_QUESTIONS):
            envelope = await perform()
            asked = await self._asked(envelope)
            if asked is None:
                return envelope
            form = _form_of(asked)
            try:
                result = await request.session.elicit_form(form.message, form.requested_schema, request.request_id)
            except (MCPError, ValidationError):
                # The client cannot show the form after all; the call's failure says what else can be done.
                return envelope
            answer = _answer_in(result)
            if answer is None:
                return envelope
            await self._pass_on(asked.id, answer)
        return await perform()

    async def _asked(self, envelope: Mapping[str, Any]) -> ApprovalRequest | None:
        """Return the open request for the decision that a failed call needs, or None."""
        if envelope["success"] or envelope["error_code"] != "APPROVAL_REQUIRED":
            return None
        found = await self._open_request(envelope["details"].get("approval_id"))
        return None if found is None else found[0]

    async def _pass_on(self, approval_id: str, answer: PersonAnswer) -> None:
        found = await self._open_request(approval_id)
        if found is not None:
            # A wrong or late answer changes nothing; the repeated call reports the current state.
            with suppress(FileToolsError):
                await found[1].answer_approval(approval_id, answer[0], edited_text=answer[1])

    async def _open_request(self, approval_id: str) -> tuple[ApprovalRequest, FileToolsFacade] | None:
        """Return an open request, and the facade of a person who may answer it."""
        for files in self._workspaces():
            # The operator trusts the client to show the question to a person.
            person = files.for_actor(Actor(kind="editor", id="mcp-elicitation"))
            for each in await person.approvals():
                if each.id == approval_id:
                    return each, person
        return None


def _form_of(asked: ApprovalRequest) -> wire.ElicitRequestFormParams:
    """Return the form for a request."""
    if asked.reason == "conflict":
        # Without the common base text, a merge is not possible.
        answers = {name: title for name, title in _UNSAVED.items() if name != "merge" or asked.base_text is not None}
        properties = {"answer": _choice("What should happen to the unsaved text?", answers)}
        if "merge" in answers:
            properties["text"] = _TEXT
    else:
        properties = {"answer": _choice("Allow this?", _MAY_IT)}
    schema = {"type": "object", "properties": properties, "required": ["answer"]}
    return wire.ElicitRequestFormParams(message=_message(asked), requested_schema=schema)


def _message(asked: ApprovalRequest) -> str:
    head = printable(f"{asked.actor.id} asks: {asked.description} (risk: {asked.risk})")
    return f"{head}\n{printable_text(short_diff(asked))}".rstrip()


def _choice(title: str, answers: dict[str, str]) -> dict[str, Any]:
    return {"type": "string", "title": title, "enum": list(answers), "enumNames": list(answers.values())}


def _answer_in(result: object) -> PersonAnswer | None:
    """Return a person's answer; None if the result contains none."""
    if not isinstance(result, wire.ElicitResult) or result.action == "cancel":
        return None
    if result.action == "decline":
        return "deny", None
    content = result.content or {}
    chosen, text = content.get("answer"), content.get("text")
    if chosen not in ("allow", "allow_for_run", "deny", "cancel", "merge"):
        return None
    return str(chosen), text if chosen == "merge" and isinstance(text, str) and text else None
