"""Asking the person at the client: what needs an approval becomes a question, in both eras of the protocol.

Nobody is asked inside a call: it fails first, holding nothing, and is made again when the answer is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import mcp_types as wire
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from filetools.app import ApprovalRequest, FileToolsFacade
from filetools.errors import FileToolsError
from filetools.models import Actor
from filetools.servers.mcp.callers import Request

Answer = Literal["allow", "allow_for_run", "deny"]
QUESTION: Final = "approval"
MOST_SHOWN_CHARACTERS: Final = 4000
"""Of the change that a question shows."""
_ANSWERS: Final[tuple[Answer, ...]] = ("allow", "allow_for_run", "deny")
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "answer": {
            "type": "string",
            "title": "May it?",
            "enum": list(_ANSWERS),
            "enumNames": ["Allow", "Allow for this run", "Deny"],
        }
    },
    "required": ["answer"],
}


class Asking:
    """Brings questions to the clients of one door, and their answers back; lives as long as the door.

    Args:
        workspaces: Returns the opened workspaces.
    """

    def __init__(self, workspaces: Callable[[], Sequence[FileToolsFacade]]) -> None:
        self._workspaces = workspaces

    async def question(self, approval_id: str) -> wire.ElicitRequestFormParams | None:
        """Return the form for a request that is open, or None if it is not open any more."""
        found = await self._open_request(approval_id)
        if found is None:
            return None
        asked, _ = found
        change = (asked.diff or "")[:MOST_SHOWN_CHARACTERS]
        message = f"{asked.actor.id} asks: {asked.description} (risk: {asked.risk})\n{change}".rstrip()
        return wire.ElicitRequestFormParams(message=message, requested_schema=_FORM)

    async def ask_now(self, request: Request, approval_id: str) -> Answer | None:
        """Ask over a connection of a handshake revision, and return the answer; None if the person gave none."""
        form = await self.question(approval_id)
        if form is None:
            return None
        told = await request.session.elicit_form(form.message, form.requested_schema, request.request_id)
        return await self.take(approval_id, told)

    async def take(self, approval_id: str, told: object) -> Answer | None:
        """Pass an answer on, and return it; None if it is none, or comes too late."""
        answer = _answer_of(told)
        found = None if answer is None else await self._open_request(approval_id)
        if answer is None or found is None:
            return None
        try:
            await found[1].answer_approval(approval_id, answer)
        except FileToolsError:  # answered elsewhere, or over: the call made again tells how it stands
            return None
        return answer

    async def _open_request(self, approval_id: str) -> tuple[ApprovalRequest, FileToolsFacade] | None:
        """Return a request that is open, and who may answer it."""
        for files in self._workspaces():
            # The client shows the question to a person; whoever started the door trusts it with that.
            person = files.for_actor(Actor(kind="editor", id="mcp-elicitation"))
            for each in await person.approvals():
                if each.id == approval_id:
                    return each, person
        return None


def approval_of(envelope: dict[str, Any]) -> str | None:
    """Return the id of the approval that a call failed for, or None."""
    if envelope["success"] or envelope["error_code"] != "APPROVAL_REQUIRED":
        return None
    found = envelope["details"].get("approval_id")
    return found if isinstance(found, str) else None


def can_ask(request: Request) -> bool:
    """Whether the client shows forms to a person."""
    capabilities = request.session.client_capabilities
    offered = None if capabilities is None else capabilities.elicitation
    return offered is not None and (offered.form is not None or offered.url is None)


def is_modern(request: Request) -> bool:
    """Whether questions are results that the client answers by calling again."""
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _answer_of(told: object) -> Answer | None:
    if not isinstance(told, wire.ElicitResult) or told.action == "cancel":
        return None
    if told.action == "decline":
        return "deny"
    chosen = (told.content or {}).get("answer")
    return next((answer for answer in _ANSWERS if answer == chosen), None)
