from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from mcp_types import INVALID_PARAMS, ElicitResult, ErrorData, InputRequiredResult

from filetools.app.state import own_directory
from tests.support.mcp_clients import ERAS, failure, opened_door, refused, text
from tests.support.mcp_people import Person, one_round, shown_to, state_of

PROTECTED = ".vscode/settings.json"


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


ODD: Any = "perhaps"


@pytest.mark.parametrize(
    "told",
    [ErrorData(code=-32603, message="no window"), ElicitResult.model_construct(action=ODD)],
    ids=["error", "odd"],
)
async def test_a_client_that_cannot_show_the_form_after_all_gets_the_id(root: Path, told: Any) -> None:
    async def show(context: Any, params: Any) -> Any:
        return told

    async with opened_door(root, "legacy", client={"elicitation_callback": show}) as (client, files):
        failed = await failure(client, "write_file", path=PROTECTED, content="{}")
        [request] = await files.approvals()
    assert f"approval_id: {request.id}" in failed


@pytest.mark.parametrize("mode", ERAS)
async def test_no_name_adds_a_line_to_the_question(root: Path, mode: str) -> None:
    person, odd = Person("decline"), "x\u202e\n\nPREVIEW ONLY\x1b[8m.txt"
    async with opened_door(root, mode, client=shown_to(person)) as (client, files):
        await failure(client, "write_file", path=f".vscode/{odd}", content="a\u202eb\n")
        await files.write_file(f".idea-{odd}", "x")
        await failure(client, "move_file", source=f".idea-{odd}", destination=f".idea/{odd}")
    for question in person.asked:
        assert not {"\x1b", "\u202e"} & set(question)
        assert not [line for line in question.splitlines() if line.startswith("PREVIEW")]
    assert len(person.asked) == 2


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


WANTED = {"path": PROTECTED, "content": "{}"}


async def test_the_state_of_a_question_cannot_be_made_up(root: Path) -> None:
    async with opened_door(root, client=shown_to(Person("cancel"))) as (client, files):
        state = await state_of(client, "write_file", WANTED)
        [request] = await files.approvals()
        for tampered in (request.id, state + "x", state[:-4], state[:-6] + "AAAAAA", ""):
            await refused(INVALID_PARAMS, one_round(client, "write_file", WANTED, tampered, "allow"))
        assert not (root / PROTECTED).exists()
        await one_round(client, "write_file", WANTED, state, "allow")
    assert (root / PROTECTED).read_text() == "{}"


async def test_an_answer_counts_for_one_call_of_one_caller_only(root: Path) -> None:
    other = {**WANTED, "content": "something else"}
    async with opened_door(root, client=shown_to(Person("cancel")), tools=("core", "files")) as (client, files):
        state = await state_of(client, "write_file", WANTED)
        await refused(INVALID_PARAMS, one_round(client, "write_file", other, state, "allow"))
        await refused(INVALID_PARAMS, one_round(client, "create_file", WANTED, state, "allow"))
        await refused(INVALID_PARAMS, one_round(client, "write_file", WANTED, state, "allow", session="b"))
        assert not (root / PROTECTED).exists()
        assert len(await files.approvals()) == 1


async def test_an_answer_that_comes_too_late_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("filetools.servers.mcp.server.STATE_SECONDS", 0.000_001)
    async with opened_door(root, client=shown_to(Person("cancel"))) as (client, _):
        state = await state_of(client, "write_file", WANTED)
        await refused(INVALID_PARAMS, one_round(client, "write_file", WANTED, state, "allow"))
    assert not (root / PROTECTED).exists()


async def test_an_answer_about_what_has_changed_meanwhile_is_asked_for_anew(root: Path) -> None:
    (root / PROTECTED).parent.mkdir()
    (root / PROTECTED).write_text("[1]\n")
    edit = {"path": PROTECTED, "old_string": "1", "new_string": "2"}
    async with opened_door(root, client=shown_to(Person("cancel"))) as (client, _):
        state = await state_of(client, "edit_file", edit)
        (root / PROTECTED).write_text("[1, 3]\n")
        asked = await one_round(client, "edit_file", edit, state, "allow")
        assert isinstance(asked, InputRequiredResult)
        assert (root / PROTECTED).read_text() == "[1, 3]\n"
        await one_round(client, "edit_file", edit, asked.request_state, "allow")
    assert (root / PROTECTED).read_text() == "[2, 3]\n"


async def test_an_answer_to_a_process_that_has_ended_is_asked_for_anew(root: Path) -> None:
    async with opened_door(root, client=shown_to(Person("cancel"))) as (client, _):
        state = await state_of(client, "write_file", WANTED)
    async with opened_door(root, client=shown_to(Person("cancel"))) as (client, _):
        asked = await one_round(client, "write_file", WANTED, state, "allow")
        assert isinstance(asked, InputRequiredResult)
        assert not (root / PROTECTED).exists()
        await one_round(client, "write_file", WANTED, asked.request_state, "allow")
        assert (root / PROTECTED).read_text() == "{}"
        # The same answer does not count twice.
        assert isinstance(
            await one_round(client, "write_file", WANTED, asked.request_state, "allow"), InputRequiredResult
        )


async def test_the_key_is_its_owners_alone_and_nobody_elses(root: Path) -> None:
    async with opened_door(root, client=shown_to(Person("cancel"))) as (client, _):
        own = own_directory(root, None)
        assert own is not None
        key = own / "mcp-key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        state = await state_of(client, "write_file", WANTED)
    key.unlink()
    async with opened_door(root, client=shown_to(Person("cancel"))) as (client, _):
        await refused(INVALID_PARAMS, one_round(client, "write_file", WANTED, state, "allow"))
    assert not (root / PROTECTED).exists()
