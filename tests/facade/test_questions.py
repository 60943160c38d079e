"""A question shows everything that would happen, or says what is left out; one question covers a call, in every process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import Actor, ApprovalDecision, ApprovalRequest
from filetools.content.editing.text_edits import TextEdit
from filetools.facade.facade import FileToolsFacade
from filetools.permissions.policy import Rule
from tests.support import inside
from tests.support.crashing import QUIET
from tests.support.facade_worker import RELAXED
from tests.support.opened import outcome_of, refused
from tests.support.peers import peer
from tests.support.people import ALICE, EDITOR, Person

Call = Callable[[FileToolsFacade], Awaitable[Any]]
ASK = {**QUIET, "permissions": "ask", "approval_wait_seconds": 60.0}
BIG = "calm text\n" * 300_000
DELETION = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"


async def asked(files: FileToolsFacade, call: Call) -> list[ApprovalRequest]:
    """Make a call for an agent, deny its question, and return the question."""
    person = Person("deny", "deny", "deny")
    attendance = files.answer_approvals(person)
    await outcome_of(call(files.for_actor(ALICE)))
    attendance.close()
    return person.asked


WHOLE: dict[str, tuple[Call, str]] = {
    "put over a file": (lambda files: files.replace_file("a.txt", b"TEXT\n"), "-old text\n+TEXT\n"),
    "put a new file": (lambda files: files.replace_file("new.txt", b"TEXT\n"), "+TEXT\n"),
    "an empty file": (lambda files: files.write_file("new.txt", ""), "new.txt would be a new, empty file\n"),
    "bytes": (lambda files: files.write_file("a.txt", b"\x00\x01\x02\x03\x04"), "would become 5 bytes, sha256:"),
    "text over bytes": (lambda files: files.write_file("bin", "TEXT\n"), "+TEXT\n"),
    "base64": (lambda files: files.write_file("a.txt", "VEVYVAo=", encoding="base64"), "+TEXT\n"),
    "append": (lambda files: files.append_file("a.txt", b"TEXT\n"), "+TEXT\n"),
    "a batch": (lambda files: files.write_multiple([{"path": "a.txt", "content": "TEXT\n"}]), "+TEXT\n"),
    "copy over a file": (lambda files: files.copy_file("b.txt", "a.txt", overwrite=True), "-old text\n+other\n"),
    "copy bytes": (lambda files: files.copy_file("bin", "c"), "Binary file c: nothing would become 3 bytes"),
    "move over a file": (lambda files: files.move_file("b.txt", "a.txt", overwrite=True), "-old text\n"),
    "delete": (lambda files: files.delete_file("a.txt"), "-old text\n"),
    "delete bytes": (lambda files: files.delete_file("bin"), "Binary file bin, 3 bytes, sha256:"),
    "delete several": (lambda files: files.delete_multiple(["b.txt", "a.txt"]), "-old text\n"),
    "delete a folder": (lambda files: files.delete_directory("d", recursive=True), "-deep\n"),
    "a patch that deletes": (lambda files: files.apply_patch(DELETION), "-old text\n"),
    "a large new file": (lambda files: files.write_file("new.txt", BIG + "LAST\n"), "+LAST\n"),
    "a large file": (lambda files: files.append_file("big.txt", "LAST\n"), "+LAST\n"),
}


@pytest.mark.parametrize("name", WHOLE)
async def test_a_question_shows_what_would_happen(tmp_path: Path, name: str) -> None:
    for path, content in {"a.txt": "old text\n", "b.txt": "other\n", "big.txt": BIG, "d/e": "deep\n"}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    (tmp_path / "bin").write_bytes(b"\x00\x01\x02")
    call, shown = WHOLE[name]
    async with filetools.open(tmp_path, settings=ASK) as files:
        [request] = await asked(files, call)
    assert shown in (request.diff or "")


OTHER = "sha256:" + "0" * 64
HUNK = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old text\n+TEXT\n"
STALE: dict[str, Call] = {
    "write_file": lambda files: files.write_file("a.txt", "TEXT\n", expected_version=OTHER),
    "append_file": lambda files: files.append_file("a.txt", "TEXT\n", expected_version=OTHER),
    "edit_file": lambda files: files.edit_file("a.txt", old="old", new="new", expected_version=OTHER),
    "insert_lines": lambda files: files.insert_lines("a.txt", 0, "TEXT\n", expected_version=OTHER),
    "replace_file": lambda files: files.replace_file("a.txt", b"TEXT\n", expected_version=OTHER),
    "patch_file": lambda files: files.patch_file("a.txt", HUNK, expected_version=OTHER),
    "delete_file": lambda files: files.delete_file("a.txt", expected_version=OTHER),
}
OUTDATED: dict[str, Call] = {
    "delete_file": lambda files: files.delete_file("a.txt"),
    "move_file": lambda files: files.move_file("a.txt", "c.txt"),
    "copy_file": lambda files: files.copy_file("b.txt", "a.txt", overwrite=True),
}


BATCHES: dict[str, Call] = {
    "write_multiple": lambda files: files.write_multiple(
        [{"path": "new.txt", "content": ""}, {"path": "a.txt", "content": "TEXT\n", "expected_version": OTHER}]
    ),
    "delete_multiple": lambda files: files.delete_multiple(["b.txt", "a.txt"]),
}


@pytest.mark.parametrize("name", STALE)
async def test_nobody_is_asked_about_a_version_that_is_gone(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_bytes(b"old text\n")
    person = Person("allow")
    async with filetools.open(tmp_path, settings=ASK) as files:
        files.answer_approvals(person)
        await refused("VERSION_MISMATCH", STALE[name](files.for_actor(ALICE)))
    assert (person.asked, (tmp_path / "a.txt").read_bytes()) == ([], b"old text\n")


@pytest.mark.parametrize("name", [*OUTDATED, *BATCHES])
async def test_nobody_is_asked_about_what_others_changed_since_it_was_read(tmp_path: Path, name: str) -> None:
    for path in ("a.txt", "b.txt"):
        (tmp_path / path).write_bytes(b"old text\n")
    person = Person("allow")
    async with filetools.open(tmp_path, settings=ASK) as files:
        files.answer_approvals(person)
        await files.for_actor(ALICE).read_file("a.txt")
        (tmp_path / "a.txt").write_bytes(b"saved meanwhile\n")
        code = "BATCH_FAILED" if name in BATCHES else "VERSION_MISMATCH"
        error = await refused(code, {**OUTDATED, **BATCHES}[name](files.for_actor(ALICE)))
    assert (error.path, person.asked) == ("a.txt", [])
    assert (tmp_path / "a.txt").read_bytes() == b"saved meanwhile\n"


async def test_nobody_is_asked_about_an_edit_that_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"old text\n")
    person = Person("allow", "allow")
    async with filetools.open(tmp_path, settings=ASK) as files:
        files.answer_approvals(person)
        await refused("EDIT_NOT_FOUND", files.for_actor(ALICE).edit_file("a.txt", old="missing", new=""))
        await refused("FILE_NOT_FOUND", files.for_actor(ALICE).edit_file("missing", old="old", new=""))
    assert person.asked == []


async def test_a_refusal_shows_nothing_of_a_file_that_must_not_be_read(tmp_path: Path) -> None:
    for path in ("a.txt", "b.txt"):
        (tmp_path / path).write_bytes(b"old text\n")
    person = Person("deny", "deny")
    async with filetools.open(tmp_path, settings=ASK) as files:
        await files.for_actor(ALICE).read_file("b.txt")
        inside.parts(files).gatekeeper.policy.use("ask", [Rule(tool="read_file", path="b.txt", level="block")])
        files.answer_approvals(person)
        await refused("APPROVAL_DENIED", files.for_actor(ALICE).edit_file("b.txt", old="missing", new=""))
        (tmp_path / "b.txt").write_bytes(b"saved meanwhile\n")
        await refused("APPROVAL_DENIED", files.for_actor(ALICE).move_file("a.txt", "b.txt", overwrite=True))
    assert len(person.asked) == 2


async def test_a_text_made_from_an_older_one_is_shown_as_it_would_be_merged(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n5\n")
    async with filetools.open(tmp_path, settings=ASK) as files:
        await files.for_actor(ALICE).read_file("a.txt")
        (tmp_path / "a.txt").write_text("one\n2\n3\n4\n5\n")
        [request] = await asked(files, lambda agent: agent.write_file("a.txt", "1\n2\n3\n4\nfive\n"))
    assert (request.old_text, request.new_text) == ("one\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n")


async def test_what_is_too_long_to_be_shown_is_counted_and_a_risk(tmp_path: Path) -> None:
    text = "calm text\n" * 600_000
    async with filetools.open(tmp_path, settings=ASK) as files:
        [request] = await asked(files, lambda agent: agent.write_file("new.txt", text))
    assert request.risk == "high"
    end = (request.diff or "")[-200:]
    left = int(end.partition("… ")[2].partition(" more characters are not shown")[0].replace(",", ""))
    assert abs((request.diff or "").count("+calm text\n") * 11 + left - 600_000 * 11) < 200


async def test_a_change_inside_a_long_line_is_shown(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(",".join(f'"name {number}"' for number in range(40_000)))
    async with filetools.open(tmp_path, settings=ASK) as files:
        [request] = await asked(files, lambda agent: agent.edit_file("m.json", old='"name 7777"', new='"DANGER"'))
    assert "DANGER" in (request.diff or "")
    assert len(request.diff or "") < 2000


@pytest.mark.parametrize(
    ("call", "risk"),
    [
        (lambda files: files.apply_patch("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old text\n+new\n"), "medium"),
        (lambda files: files.move_file("a.txt", "c.txt"), "medium"),
        (lambda files: files.apply_patch(DELETION), "high"),
        (lambda files: files.move_file("b.txt", "a.txt", overwrite=True), "high"),
        (lambda files: files.delete_file("a.txt"), "high"),
    ],
)
async def test_the_risk_is_that_of_the_worst_step(tmp_path: Path, call: Call, risk: str) -> None:
    (tmp_path / "a.txt").write_text("old text\n")
    (tmp_path / "b.txt").write_text("other\n")
    async with filetools.open(tmp_path, settings=ASK) as files:
        assert [request.risk for request in await asked(files, call)] == [risk]


async def test_a_patch_that_deletes_is_asked_about_once_and_a_block_still_holds(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old text\n")
    async with filetools.open(tmp_path, settings={**ASK, "permissions": "guarded"}) as files:
        files.answer_approvals(Person("allow"))
        await refused("TOOL_BLOCKED", files.for_actor(ALICE).apply_patch(DELETION))
    async with filetools.open(tmp_path, settings=ASK) as files:
        person = Person("allow")
        files.answer_approvals(person)
        await files.for_actor(ALICE).apply_patch(DELETION)
    assert len(person.asked) == 1
    assert not (tmp_path / "a.txt").exists()


# Text that is not saved


async def typed(files: FileToolsFacade, text: str = "one TYPED\ntwo\n", actor: Actor = EDITOR) -> str:
    """Type into a file as a person, without saving; returns the handle."""
    person = files.for_actor(actor)
    document = await person.buffers.open("a.txt")
    await person.buffers.change(document.handle, text=text, buffer_version=document.buffer_version)
    return document.handle


DROPPED = "one of the agent\ntwo\n"


@pytest.mark.parametrize(
    ("answer", "on_disk"),
    [
        ("deny", "one\ntwo\n"),
        ("allow", DROPPED),
        (ApprovalDecision(answer="merge", edited_text="both\n"), "both\n"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda agent: agent.write_file("a.txt", DROPPED),
        lambda agent: agent.edit_file("a.txt", old="one\n", new="one of the agent\n"),
        lambda agent: agent.replace_file("a.txt", DROPPED.encode()),
    ],
    ids=["write", "edit", "put"],
)
async def test_a_write_that_drops_unsaved_text_is_asked_about_once(
    tmp_path: Path, call: Call, answer: Any, on_disk: str
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with filetools.open(tmp_path, settings=ASK) as files:
        handle = await typed(files)
        person = Person(answer)
        files.answer_approvals(person)
        await outcome_of(call(files.for_actor(ALICE, on_conflict="merge_or_ask")))
        [request] = person.asked
        assert (request.reason, request.base_text, request.old_text) == (
            "conflict", "one\ntwo\n", "one TYPED\ntwo\n",
        )  # fmt: skip
        assert (request.new_text, request.can_merge) == (DROPPED, True)
        assert request.description.endswith("a.txt; unsaved text in a.txt")
        unsaved = (await files.for_actor(EDITOR).buffers.read(handle)).text
    assert (tmp_path / "a.txt").read_text() == on_disk
    assert unsaved == ("one TYPED\ntwo\n" if answer == "deny" else on_disk)


async def test_who_has_read_unsaved_text_and_drops_it_is_asked_about_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with filetools.open(tmp_path, settings=ASK) as files:
        await typed(files)
        agent = files.for_actor(ALICE)
        version = (await agent.read_file("a.txt")).version
        [request] = await asked(files, lambda agent: agent.write_file("a.txt", "new\n", expected_version=version))
    assert (request.reason, request.old_text) == ("conflict", "one TYPED\ntwo\n")
    assert "-one TYPED\n" in (request.diff or "")


@pytest.mark.parametrize(
    "call",
    [
        lambda agent: agent.write_file("a.txt", "1\n2\n3\n4\nfive\n"),
        lambda agent: agent.edit_file("a.txt", old="5", new="five"),
        lambda agent: agent.write_multiple([{"path": "a.txt", "content": "1\n2\n3\n4\nfive\n"}]),
    ],
)
async def test_what_a_person_has_typed_is_no_change_of_the_agent(tmp_path: Path, call: Call) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n5\n")
    async with filetools.open(tmp_path, settings=ASK) as files:
        await typed(files, "1 TYPED\n2\n3\n4\n5\n")
        [request] = await asked(files, call)
    assert request.reason == "prompt"
    assert request.diff == "--- a/a.txt\n+++ b/a.txt\n@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+five\n"


async def test_a_save_shows_what_it_changes_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with filetools.open(tmp_path, settings={**ASK, "protected_paths": ["a.txt"]}) as files:
        handle = await typed(files)
        person = Person("deny")
        files.answer_approvals(person)
        await refused("APPROVAL_DENIED", files.for_actor(EDITOR).buffers.save(handle))
    assert "-one\n+one TYPED\n" in (person.asked[0].diff or "")


@pytest.mark.parametrize(("who", "outcome"), [("eve", "APPROVAL_DENIED"), ("ann", "done")])
async def test_a_save_writes_no_text_that_others_typed_while_a_person_was_asked(
    tmp_path: Path, who: str, outcome: str
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with filetools.open(tmp_path, settings={**ASK, "protected_paths": ["a.txt"]}) as files:
        handle = await typed(files, "one TYPED\n")
        shown: list[str | None] = []

        async def decide(request: ApprovalRequest) -> ApprovalDecision:
            shown.append(request.diff)
            if len(shown) == 1:
                await typed(files, "LATER\n", Actor(kind="editor", id=who))
            return ApprovalDecision(answer="allow" if len(shown) == 1 else "deny")

        files.answer_approvals(decide)
        assert await outcome_of(files.for_actor(EDITOR).buffers.save(handle)) == outcome
    assert ["+LATER" in (diff or "") for diff in shown] == [False, True][: 1 if outcome == "done" else 2]
    assert (tmp_path / "a.txt").read_text() == ("LATER\n" if outcome == "done" else "one\n")


async def test_what_an_agent_types_into_a_document_is_shown_and_bound(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    async with filetools.open(tmp_path, settings=ASK) as files:
        agent = files.for_actor(ALICE)
        document = await agent.buffers.open("a.txt")
        handle, version = document.handle, document.buffer_version
        edits = [TextEdit(4, 7, "TWO")]
        await refused("APPROVAL_REQUIRED", agent.buffers.change(handle, buffer_version=version, edits=edits))
        [request] = await files.approvals()
        assert (request.diff or "").endswith(" one\r\n-two\r\n+TWO\r\n")
        await files.for_actor(EDITOR).answer_approval(request.id, "allow")
        await refused("APPROVAL_REQUIRED", agent.buffers.change(handle, buffer_version=version, text="EVIL"))
        await agent.buffers.change(handle, buffer_version=version, edits=edits)


@pytest.mark.parametrize("call", [lambda agent: agent.undo(), lambda agent: agent.restore("before")])
async def test_what_is_taken_back_is_shown(tmp_path: Path, call: Call) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.checkpoint("before")
        await files.for_actor(ALICE).write_file(
            "a.txt", "two\n", expected_version=(await files.read_file("a.txt")).version
        )
    async with filetools.open(tmp_path, settings=ASK) as files:
        [request] = await asked(files, call)
    assert "-two\n+one\n" in (request.diff or "")


# Every agent of the root


async def test_while_a_person_wants_it_agents_of_all_processes_ask(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, settings=RELAXED) as files,
        peer(tmp_path, "alice", "1", "allow", task="asks") as agent,
    ):
        await agent.ask("a.txt")
        assert (await agent.hear())["done"] == "a.txt"
        required = await files.require_approvals()
        await agent.ask("b.txt")
        assert (await agent.hear())["done"] == "APPROVAL_REQUIRED"
        assert await outcome_of(files.for_actor(ALICE).write_file("c.txt", "")) == "APPROVAL_REQUIRED"
        assert await outcome_of(files.for_actor(EDITOR).write_file("d.txt", "")) == "done"
        required.close()
        assert await outcome_of(files.for_actor(ALICE).write_file("c.txt", "")) == "done"
