"""A person who is asked may give another text: it is written instead of the call's own, and replaces only what they saw."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from filetools import ApprovalDecision, Edit
from filetools.changes.requests import View
from filetools.facade.facade import FileToolsFacade
from tests.support import inside
from tests.support.crashing import QUIET
from tests.support.opened import outcome_of, refused, steps_until
from tests.support.people import ALICE, BOB, EDITOR, Person

Call = Callable[[FileToolsFacade], Awaitable[Any]]
OLD = "one\ntwo\nthree\n"
BEFORE, ACTOR = {"a.txt": OLD.encode()}, ALICE
SETTINGS = {**QUIET, "permissions": "ask", "approval_wait_seconds": 60.0}
EDITED = "one\nTWO by hand\nthree\n"
MERGE = ApprovalDecision(answer="merge", edited_text=EDITED)

WRITES: dict[str, tuple[Call, str]] = {
    "write_file": (lambda files: files.write_file("a.txt", "one\ntwo!\nthree\n"), "one\ntwo!\nthree\n"),
    "append_file": (lambda files: files.append_file("a.txt", "four\n"), OLD + "four\n"),
    "edit_file": (lambda files: files.edit_file("a.txt", [Edit(old="two", new="2")]), "one\n2\nthree\n"),
    "insert_lines": (lambda files: files.insert_lines("a.txt", 1, "new\n"), "one\nnew\ntwo\nthree\n"),
}


@pytest.mark.parametrize(
    "answer",
    [
        ApprovalDecision(answer="merge"),
        ApprovalDecision(answer="allow", edited_text=EDITED),
        "merge",
        "cancel",
    ],
)
async def test_what_is_no_whole_answer_is_none(files: FileToolsFacade, tmp_path: Path, answer: Any) -> None:
    files.answer_approvals(Person(answer))
    await refused("APPROVAL_REQUIRED", files.write_file("a.txt", "new"))
    assert (tmp_path / "a.txt").read_text() == OLD


@pytest.mark.parametrize(
    "call",
    [
        lambda files: files.delete_file("a.txt"),
        lambda files: files.move_file("a.txt", "b.txt"),
        lambda files: files.write_file("a.txt", b"\x00\x01\x02"),
        lambda files: files.write_multiple([{"path": "a.txt", "content": "x"}]),
    ],
)
async def test_a_call_that_writes_no_single_text_cannot_be_given_another(
    files: FileToolsFacade, tmp_path: Path, call: Call
) -> None:
    person = Person(MERGE)
    files.answer_approvals(person)
    await refused("APPROVAL_REQUIRED", call(files))
    assert ([request.can_merge for request in person.asked], (tmp_path / "a.txt").read_text()) == ([False], OLD)


@pytest.mark.parametrize("name", WRITES)
async def test_the_text_of_the_person_is_written_instead(files: FileToolsFacade, tmp_path: Path, name: str) -> None:
    call, proposed = WRITES[name]
    person = Person(MERGE)
    files.answer_approvals(person)
    result = await call(files)
    assert (tmp_path / "a.txt").read_text() == EDITED
    (request,) = person.asked
    assert (request.old_text, request.new_text, request.can_merge) == (OLD, proposed, True)
    assert result.version == (await files.read_file("a.txt")).version


async def test_the_caller_is_told_what_became_of_its_text(files: FileToolsFacade) -> None:
    files.answer_approvals(Person(MERGE))
    result = await files.write_file("a.txt", "one\ntwo!\nthree\n")
    assert result.merged
    assert [hunk["lines"] for hunk in result.foreign] == [[" one", "-two!", "+TWO by hand", " three"]]


@pytest.mark.parametrize(
    "call",
    [
        lambda files: files.write_file("a.txt", "0\n1\n2\n3\n4\n"),
        lambda files: files.edit_file("a.txt", old=OLD, new="0\n1\n2\n3\n4\n"),
    ],
)
async def test_the_next_whole_text_of_the_agent_keeps_what_the_person_wrote(
    files: FileToolsFacade, tmp_path: Path, call: Call
) -> None:
    """The agent has never seen the person's text, so its next write is based on its own."""
    await files.read_file("a.txt")
    files.answer_approvals(Person(ApprovalDecision(answer="merge", edited_text="by hand\n1\n2\n3\n4\n"), "allow"))
    await call(files)
    result = await files.write_file("a.txt", "0\n1\n2\n3\nfour\n")
    assert (result.merged, (tmp_path / "a.txt").read_text()) == (True, "by hand\n1\n2\n3\nfour\n")


async def test_line_ends_and_byte_order_mark_of_the_persons_text_are_those_they_saw(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffone\r\ntwo\r\n".encode())
    person = Person()
    files.answer_approvals(person)
    call = asyncio.ensure_future(files.write_file("a.txt", "1\n2\n"))
    await steps_until(lambda: person.asked)
    assert person.asked[0].old_text == "one\r\ntwo\r\n"
    person.say(ApprovalDecision(answer="merge", edited_text="one\r\n2\r\n"))
    await call
    assert (tmp_path / "a.txt").read_bytes() == "\ufeffone\r\n2\r\n".encode()


async def test_a_file_that_changes_while_the_person_edits_is_not_overwritten(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    person = Person()
    files.answer_approvals(person)
    call = asyncio.ensure_future(files.write_file("a.txt", "agent\n"))
    await steps_until(lambda: len(person.asked) == 1)
    (tmp_path / "a.txt").write_text("somebody else\n")
    person.say(MERGE)
    await steps_until(lambda: len(person.asked) == 2)
    assert (tmp_path / "a.txt").read_text() == "somebody else\n"
    person.say("deny")
    await refused("APPROVAL_DENIED", call)


@pytest.mark.parametrize("name", ["write_file", "edit_file"])
async def test_a_file_that_changes_before_its_lock_is_taken_is_not_overwritten(
    files: FileToolsFacade, tmp_path: Path, name: str
) -> None:
    files.answer_approvals(Person(MERGE))
    runner = files._runner
    async with inside.at_work(files, "a.txt"):
        call = asyncio.ensure_future(WRITES[name][0](files))
        await steps_until(lambda: runner._changes._count)
        (tmp_path / "a.txt").write_text("somebody else\n")
    await refused("VERSION_MISMATCH", call)
    assert (tmp_path / "a.txt").read_text() == "somebody else\n"


async def test_what_the_call_itself_may_not_do_is_refused_with_any_text(files: FileToolsFacade, tmp_path: Path) -> None:
    files.answer_approvals(Person(MERGE))
    await refused("FILE_EXISTS", files.create_file("a.txt", "x"))
    assert (tmp_path / "a.txt").read_text() == OLD


async def test_a_large_file_is_bound_to_its_version_although_its_text_does_not_travel(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x" * 1_100_000)
    person = Person()
    files.answer_approvals(person)
    call = asyncio.ensure_future(files.write_file("a.txt", "small"))
    await steps_until(lambda: len(person.asked) == 1)
    assert (person.asked[0].old_text, person.asked[0].can_merge) == (None, False)
    (tmp_path / "a.txt").write_text("y" * 1_100_001)
    person.say("allow")
    await steps_until(lambda: len(person.asked) == 2)
    person.say("deny")
    await refused("APPROVAL_DENIED", call)


async def test_the_request_of_a_patch_shows_the_patch(files: FileToolsFacade) -> None:
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    person = Person("allow")
    files.answer_approvals(person)
    await files.apply_patch(patch)
    assert [(request.diff, request.can_merge) for request in person.asked] == [(patch, False)]


async def test_agents_cannot_answer(files: FileToolsFacade) -> None:
    error = await refused("APPROVAL_REQUIRED", files.write_file("a.txt", "new"))
    approval_id = error.details["approval_id"]
    for agent in (files, files.for_actor(BOB)):
        await refused("PERMISSION_DENIED", agent.answer_approval(approval_id, "allow"))
    assert await outcome_of(files.write_file("a.txt", "new")) == "APPROVAL_REQUIRED"


async def test_a_person_sees_what_is_open_and_answers_it_by_its_id(files: FileToolsFacade, tmp_path: Path) -> None:
    await refused("APPROVAL_REQUIRED", files.write_file("a.txt", "new"))
    person = files.for_actor(EDITOR)
    (request,) = await person.approvals()
    assert (request.path, request.new_text) == ("a.txt", "new")
    await person.answer_approval(request.id, "merge", edited_text=EDITED)
    assert await person.approvals() == ()
    await files.write_file("a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == EDITED
    await refused("INVALID_ARGUMENT", person.answer_approval(request.id, "deny"))


async def test_a_persons_text_over_unsaved_text_meets_it_like_any_other(files: FileToolsFacade, tmp_path: Path) -> None:
    """An answer about an agent's call neither overwrites nor saves an editor's unsaved text."""
    ann = files.for_actor(EDITOR)
    document = await ann.buffers.open("a.txt")
    await ann.buffers.change(document.handle, text=OLD + "unsaved\n", buffer_version=document.buffer_version)
    # They see the unsaved text, and include it in their answer.
    files.answer_approvals(Person(ApprovalDecision(answer="merge", edited_text=EDITED + "unsaved\n")))
    await files.write_file("a.txt", "one\ntwo!\nthree\n")
    assert (tmp_path / "a.txt").read_text() == EDITED
    assert (await files.read_file("a.txt")).content == EDITED + "unsaved\n"


async def typed(files: FileToolsFacade) -> tuple[FileToolsFacade, str]:
    """Type a line at the beginning of a.txt in an editor, without saving."""
    ann = files.for_actor(EDITOR)
    document = await ann.buffers.open("a.txt")
    await ann.buffers.change(document.handle, text="typed\n" + OLD, buffer_version=document.buffer_version)
    return ann, document.handle


@pytest.mark.parametrize(
    ("given", "is_dirty"), [("typed\n" + OLD + "by hand\n", True), (OLD + "by hand\n", False)], ids=["kept", "dropped"]
)
async def test_a_text_given_for_an_edit_of_unsaved_text_reaches_the_file_too(
    files: FileToolsFacade, tmp_path: Path, given: str, is_dirty: bool
) -> None:
    """The agent's own edit would change only the document; the person's text has a line that fits the file."""
    ann, handle = await typed(files)
    files.answer_approvals(Person(ApprovalDecision(answer="merge", edited_text=given)))
    result = await files.edit_file("a.txt", old="typed\n", new="typed!\n")
    document = await ann.buffers.read(handle)
    assert (tmp_path / "a.txt").read_text() == OLD + "by hand\n"
    assert (document.text, document.dirty, result.in_buffer) == (given, is_dirty, False)


async def test_an_edit_is_told_the_change_that_a_person_made_in_its_place(files: FileToolsFacade) -> None:
    await typed(files)
    files.answer_approvals(Person(ApprovalDecision(answer="merge", edited_text="typed\n" + EDITED)))
    result = await files.edit_file("a.txt", old="two", new="2")
    (hunk,) = result.structured_patch
    assert (hunk["lines"], result.counts) == ([" typed", " one", "-two", "+TWO by hand", " three"], [])


@pytest.mark.parametrize("view", ["auto", "disk"])
@pytest.mark.parametrize("old", ["typed\n", "line 1\n"])
async def test_the_next_whole_text_keeps_what_the_person_wrote_beside_unsaved_text(
    files: FileToolsFacade, tmp_path: Path, view: View, old: str
) -> None:
    """Whether the agent has read the file or the unsaved text, and whether its edit is for one or for both."""
    lines = "".join(f"line {number}\n" for number in range(10))
    await files.for_actor(EDITOR).write_file("a.txt", "one\n" + lines)
    ann = files.for_actor(EDITOR)
    document = await ann.buffers.open("a.txt")
    await ann.buffers.change(
        document.handle, text="typed\nabove\none\n" + lines, buffer_version=document.buffer_version
    )
    known = (await files.read_file("a.txt", view=view)).content
    by_hand = "typed\nabove\none\n" + lines.replace("line 4", "by hand")
    files.answer_approvals(Person(ApprovalDecision(answer="merge", edited_text=by_hand), "allow"))
    await files.edit_file("a.txt", old=old, new="edited\n")
    assert known is not None
    result = await files.write_file("a.txt", known.replace(old, "edited\n").replace("line 9", "line nine"))
    assert result.merged
    assert "by hand\n" in (tmp_path / "a.txt").read_text()
    shown = (await ann.buffers.read(document.handle)).text
    assert ("by hand\n" in shown, "above\n" in shown, "line nine\n" in shown) == (True, True, True)
