"""Writes that meet an editor's unsaved text: merged where that can be, else a question to the person at the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, InputRequiredResult

from filetools.content.editing.text_edits import TextEdit
from filetools.content.version import version_of
from filetools.facade.facade import FileToolsFacade
from filetools.models.buffers import BufferResult
from filetools.models.records import Actor
from tests.support.mcp_clients import ERAS, failure, opened_door, text
from tests.support.mcp_people import Person, one_round, shown_to, state_of

ANN = Actor(kind="editor", id="ann", session="window")
SAVED = "one\ntwo\nthree\n"
TYPED = "one\ntwo, says Ann\nthree\n"
KNOWN = {"path": "src/app.py", "expected_version": version_of(SAVED.encode())}
WRITE: dict[str, Any] = {**KNOWN, "content": "ONE\ntwo, says the agent\nthree\n"}
EDIT: dict[str, Any] = {"path": "src/app.py", "old_string": "two\n", "new_string": "two, says the agent\n"}
BOTH = "two, says Ann\ntwo, says the agent\n"


@asynccontextmanager
async def typed_into(
    root: Path, mode: str = "auto", person: Person | None = None, typed: str = ", says Ann"
) -> AsyncIterator[tuple[Client, FileToolsFacade, BufferResult]]:
    """A client, and an editor that has typed into the second line of src/app.py without saving."""
    client: dict[str, Any] = {} if person is None else shown_to(person)
    async with opened_door(root, mode, client=client) as (calling, files):
        ann = files.for_actor(ANN)
        opened = await ann.buffers.open("src/app.py")
        await ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(7, 7, typed)])
        yield calling, ann, opened


async def unsaved(ann: FileToolsFacade, opened: BufferResult) -> str:
    return (await ann.buffers.read(opened.handle)).text


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(("name", "arguments"), [("write_file", WRITE), ("edit_file", EDIT)])
async def test_a_client_without_forms_is_told_of_the_conflict(
    root: Path, mode: str, name: str, arguments: dict[str, Any]
) -> None:
    async with typed_into(root, mode) as (client, ann, opened):
        assert (await failure(client, name, **arguments)).startswith("EDIT_CONFLICT: ")
        assert await ann.approvals() == ()
        assert await unsaved(ann, opened) == TYPED
    assert (root / "src/app.py").read_text() == SAVED


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(("name", "arguments"), [("write_file", WRITE), ("edit_file", EDIT)])
@pytest.mark.parametrize(
    ("person", "code", "still_open"),
    [
        (Person("accept", "cancel"), "EDIT_CONFLICT", 0),
        (Person("decline"), "EDIT_CONFLICT", 0),
        (Person("cancel"), "APPROVAL_REQUIRED", 1),
        (Person("accept", "whatever"), "APPROVAL_REQUIRED", 1),
    ],
)
async def test_without_a_yes_both_texts_stay(
    root: Path, mode: str, name: str, arguments: dict[str, Any], person: Person, code: str, still_open: int
) -> None:
    async with typed_into(root, mode, person) as (client, ann, opened):
        assert (await failure(client, name, **arguments)).startswith(f"{code}: ")
        assert len(await ann.approvals()) == still_open
        assert await unsaved(ann, opened) == TYPED
    assert (root / "src/app.py").read_text() == SAVED


async def test_what_can_be_merged_is_not_asked_about(root: Path) -> None:
    person = Person("accept", "cancel")
    (root / "src/app.py").write_text("one\ntwo\n\nthree\n\nfour\n")
    async with typed_into(root, person=person) as (client, ann, opened):
        known = version_of((root / "src/app.py").read_bytes())
        changed = "one\ntwo\n\nthree\n\nFOUR\n"
        await text(client, "write_file", path="src/app.py", content=changed, expected_version=known)
        await text(client, "edit_file", path="src/app.py", old_string="three\n", new_string="3\n")
        assert await unsaved(ann, opened) == "one\ntwo, says Ann\n\n3\n\nFOUR\n"
    assert person.asked == []
    assert (root / "src/app.py").read_text() == "one\ntwo\n\n3\n\nFOUR\n"


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("name", "arguments", "answer", "more", "expected"),
    [
        ("write_file", WRITE, "allow", {}, WRITE["content"]),
        ("write_file", WRITE, "merge", {}, "one\ntwo, says Ann\nONE\ntwo, says the agent\nthree\n"),
        ("write_file", WRITE, "merge", {"text": "mine\n"}, "mine\n"),
        ("edit_file", EDIT, "allow", {}, "one\ntwo, says the agent\nthree\n"),
        ("edit_file", EDIT, "merge", {}, f"one\n{BOTH}three\n"),
        ("edit_file", EDIT, "merge", {"text": "mine\n"}, "mine\n"),
    ],
)
async def test_a_person_decides_and_no_text_is_lost(
    root: Path, mode: str, name: str, arguments: dict[str, Any], answer: str, more: dict[str, Any], expected: str
) -> None:
    person = Person("accept", answer, **more)
    async with typed_into(root, mode, person) as (client, ann, opened):
        await text(client, name, **arguments)
        assert await unsaved(ann, opened) == expected
        kept = [each.version for each in (await ann.versions("src/app.py")).versions]
        assert version_of(TYPED.encode()) in kept
        assert await ann.approvals() == ()
    assert (root / "src/app.py").read_text() == expected
    assert len(person.asked) == 1
    assert "-two, says Ann" in person.asked[0]
    assert "+two, says the agent" in person.asked[0]
    assert person.forms[0]["properties"]["answer"]["enum"] == ["allow", "merge", "cancel"]


async def test_an_edit_takes_only_what_it_overlaps_with(root: Path) -> None:
    async with typed_into(root, person=Person("accept", "allow")) as (client, ann, opened):
        await ann.buffers.change(opened.handle, buffer_version=2, edits=[TextEdit(0, 0, "typed first\n")])
        await text(client, "edit_file", **EDIT)
        assert await unsaved(ann, opened) == "typed first\none\ntwo, says the agent\nthree\n"


@pytest.mark.parametrize(("name", "arguments"), [("write_file", WRITE), ("edit_file", EDIT)])
async def test_no_lock_is_held_and_what_was_typed_between_the_rounds_is_asked_about_anew(
    root: Path, name: str, arguments: dict[str, Any]
) -> None:
    async with typed_into(root, person=Person("cancel")) as (client, ann, opened):
        state = await state_of(client, name, arguments)
        assert not await ann.is_locked("src/app.py")
        await ann.buffers.change(opened.handle, buffer_version=2, edits=[TextEdit(17, 17, " again")])
        asked = await one_round(client, name, arguments, state, "allow")
        assert isinstance(asked, InputRequiredResult)
        assert await unsaved(ann, opened) == "one\ntwo, says Ann again\nthree\n"
        await one_round(client, name, arguments, asked.request_state, "merge", text="settled\n")
        assert await unsaved(ann, opened) == "settled\n"


async def test_a_file_saved_between_the_rounds_is_no_longer_what_was_asked_about(root: Path) -> None:
    async with typed_into(root, person=Person("cancel")) as (client, ann, opened):
        state = await state_of(client, "write_file", WRITE)
        await ann.buffers.save(opened.handle, buffer_version=2)
        told = await one_round(client, "write_file", WRITE, state, "allow")
        assert isinstance(told, CallToolResult)
        assert told.is_error
    assert (root / "src/app.py").read_text() == TYPED


@pytest.mark.parametrize("mode", ERAS)
async def test_many_agents_at_one_text_ask_and_none_waits_for_anothers_answer(root: Path, mode: str) -> None:
    release = asyncio.Event()

    async def slow(context: Any, params: Any) -> Any:
        await asyncio.wait_for(release.wait(), 60)
        return await Person("accept", "cancel")(context, params)

    async with typed_into(root, mode, slow) as (client, ann, opened):  # type: ignore[arg-type]
        calls = [
            asyncio.create_task(client.call_tool("write_file", {**WRITE, "content": f"{number}\n"}))
            for number in range(5)
        ]
        async with asyncio.timeout(60):
            while len(await ann.approvals()) < 5:
                await asyncio.sleep(0.01)
        await text(client, "write_file", path="other.txt", content="other\n")
        assert not await ann.is_locked("src/app.py")
        release.set()
        assert all(result.is_error for result in await asyncio.gather(*calls))
        assert await unsaved(ann, opened) == TYPED
