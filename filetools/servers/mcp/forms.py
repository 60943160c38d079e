"""The forms that a person at a client fills in."""

from __future__ import annotations

from typing import Any, Final

import mcp_types as wire

from filetools.permissions.requests import ApprovalRequest

MOST_SHOWN_CHARACTERS: Final = 4000
"""Of the change that a question shows."""
_MAY_IT: Final = {"allow": "Allow", "allow_for_run": "Allow for this run", "deny": "Deny"}
_UNSAVED: Final = {
    "allow": "Write it over the unsaved text, which is kept as a version",
    "merge": "Keep both: where they overlap, the unsaved text and behind it the new one",
    "cancel": "Leave the unsaved text alone",
}
_TEXT: Final[dict[str, Any]] = {
    "type": "string",
    "title": "The whole text to be written instead",
    "description": "Only with merge; left out, both texts are kept.",
}


def form_of(asked: ApprovalRequest) -> wire.ElicitRequestFormParams:
    """Return the form for a request."""
    if asked.reason == "conflict":
        # Without the text that both sides started from, nothing can be put together.
        answers = {name: title for name, title in _UNSAVED.items() if name != "merge" or asked.base_text is not None}
        properties = {"answer": _choice("What shall become of it?", answers)}
        if "merge" in answers:
            properties["text"] = _TEXT
    else:
        properties = {"answer": _choice("May it?", _MAY_IT)}
    schema = {"type": "object", "properties": properties, "required": ["answer"]}
    return wire.ElicitRequestFormParams(message=_message(asked), requested_schema=schema)


def _message(asked: ApprovalRequest) -> str:
    change = asked.diff or ""
    if len(change) > MOST_SHOWN_CHARACTERS:
        change = f"{change[:MOST_SHOWN_CHARACTERS]}\n… {len(change) - MOST_SHOWN_CHARACTERS} more characters"
    return f"{asked.actor.id} asks: {asked.description} (risk: {asked.risk})\n{change}".rstrip()


def _choice(title: str, answers: dict[str, str]) -> dict[str, Any]:
    return {"type": "string", "title": title, "enum": list(answers), "enumNames": list(answers.values())}
