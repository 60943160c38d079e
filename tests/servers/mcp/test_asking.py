from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp_types import INVALID_PARAMS, ElicitResult, InputRequiredResult

from tests.support.mcp_clients import ERAS, failure, opened_door, refused, text

PROTECTED = ".vscode/settings.json"


class Person:
    """Answers what the client shows; keeps what was asked."""

    def __init__(self, action: Any, answer: str | None = None) -> None:
        self._told = ElicitResult(action=action, content=None if answer is None else {"answer": answer})
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return self._told


def shown_to(person: Person) -> dict[str, Any]:
    return {"elicitation_callback": person}


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_without_forms_gets_the_id_of_the_request(root: Path, mode: str) -> None:
    async with opened_door(root, mode) as (client, files):
        told = await failure(client, "write_file", path=PROTECTED, content="{}")
        [request] = await files.approvals()
    assert told.startswith("APPROVAL_REQUIRED: ")
    assert f"approval_id: {request.id}" in told


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("person", "code", "open_requests"),
    [
        (Person("decline"), "APPROVAL_DENIED", 0),
        (Person("accept", "deny"), "APPROVAL_DENIED", 0),
        (Person("cancel"), "APPROVAL_REQUIRED", 1),
        (Person("accept", "whatever"), "APPROVAL_REQUIRED", 1),
    ],
)
async def test_without_a_yes_nothing_is_written(
    root: Path, mode: str, person: Person, code: str, open_requests: int
) -> None:
    async with opened_door(root, mode, client=shown_to(person)) as (client, files):
        assert (await failure(client, "write_file", path=PROTECTED, content="{}")).startswith(f"{code}: ")
        assert len(await files.approvals()) == open_requests
    assert not (root / PROTECTED).exists()


@pytest.mark.parametrize("mode", ERAS)
async def test_a_yes_lets_one_call_pass(root: Path, mode: str) -> None:
    person = Person("accept", "allow")
    async with opened_door(root, mode, client=shown_to(person)) as (client, _):
        await text(client, "write_file", path=PROTECTED, content='{"a": 1}\n')
        await text(client, "edit_file", path=PROTECTED, old_string="1", new_string="2")
    assert (root / PROTECTED).read_text() == '{"a": 2}\n'
    assert len(person.asked) == 2
    assert PROTECTED in person.asked[0]
    assert '+{"a": 1}' in person.asked[0]


async def test_the_state_of_a_question_cannot_be_made_up_or_used_for_another_call(root: Path) -> None:
    yes: dict[str, Any] = {"approval": ElicitResult(action="accept", content={"answer": "allow"})}
    wanted = {"path": PROTECTED, "content": "{}"}
    async with opened_door(root, client=shown_to(Person("cancel"))) as (client, files):
        asked = await client.session.call_tool("write_file", wanted, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        [request] = await files.approvals()
        other = {**wanted, "content": "something else"}
        for arguments, state in ((wanted, request.id), (other, asked.request_state)):
            call = client.session.call_tool("write_file", arguments, input_responses=yes, request_state=state)
            await refused(INVALID_PARAMS, call)
        assert not (root / PROTECTED).exists()
        await client.session.call_tool("write_file", wanted, input_responses=yes, request_state=asked.request_state)
    assert (root / PROTECTED).read_text() == "{}"
