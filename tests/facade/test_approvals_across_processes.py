"""Approval requests of one process are answered in another: seen soon, answered once, and no call waits for a dead process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import ApprovalDecision
from filetools.events.types import ApprovalRequired
from filetools.facade.facade import FileToolsFacade
from tests.support.facade_worker import RELAXED
from tests.support.inside import end_leases_of_others, is_told_of
from tests.support.opened import refused, steps_until, told
from tests.support.peers import peer
from tests.support.people import EDITOR, Person

PATIENT = "3600"
"""Seconds that a call waits for an answer: longer than any test, so that a call without an answer fails its test."""
HASTY = "0.05"


async def attended(files: FileToolsFacade, person: Person | None = None) -> None:
    """Attend approvals, have a person answer each request, and wait until other processes can know it."""
    files._parts.gatekeeper.approvals.audience.attend()

    async def asked(event: ApprovalRequired) -> None:
        if person is not None:
            [request] = await files.approvals()
            said = await person(request)
            answer, text = (said.answer, said.edited_text) if isinstance(said, ApprovalDecision) else (said, None)
            await files.for_actor(EDITOR).answer_approval(event.approval_id, answer, edited_text=text)

    files.on("tool:approval_required", asked)
    await is_known(files)


async def is_known(files: FileToolsFacade) -> None:
    """Wait until other processes can know that somebody here answers."""
    await steps_until(lambda: files._parts.workers.run(lambda: is_told_of(files, listens=True)))


async def lease_ended(files: FileToolsFacade) -> None:
    """Let the lease of a killed process expire."""
    await files._parts.workers.run(lambda: end_leases_of_others(files))


async def open_request(files: FileToolsFacade, besides: str = "") -> filetools.ApprovalRequest:
    """Wait until this process has noticed an open request other than a given one, without calling `look`."""

    def found() -> list[filetools.ApprovalRequest]:
        return [request for request in files._parts.gatekeeper.approvals.open_requests() if request.id != besides]

    await steps_until(found)
    return found()[0]


async def test_if_nobody_is_present_in_any_process_the_call_is_refused_at_once(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED), peer(tmp_path, "alice", PATIENT, task="asks") as agent:
        await agent.ask("a.txt")
        said = await agent.hear()
        assert said["done"] == "APPROVAL_REQUIRED"


@pytest.mark.parametrize(
    ("answer", "done", "text"),
    [
        ("deny", "APPROVAL_DENIED", None),
        (ApprovalDecision(answer="merge", edited_text="by hand\n"), "a.txt", "by hand\n"),
    ],
)
async def test_a_person_in_another_process_is_asked(tmp_path: Path, answer: Any, done: str, text: str | None) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        person = Person(answer)
        await attended(files, person)
        async with peer(tmp_path, "alice", PATIENT, task="asks") as agent:
            await agent.ask("a.txt")
            assert (await agent.hear())["done"] == done
        assert [(request.path, request.actor.id) for request in person.asked] == [("a.txt", "alice")]
    assert ((tmp_path / "a.txt").read_text() if (tmp_path / "a.txt").exists() else None) == text


async def test_every_process_sees_questions_and_answers(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files, filetools.open(tmp_path, settings=RELAXED) as page:
        heard, heard_too = told(files, "tool:*"), told(page, "tool:*")
        person = Person()
        await attended(files, person)
        async with peer(tmp_path, "alice", PATIENT, task="asks") as agent:
            await agent.ask("a.txt")
            await steps_until(lambda: len(heard_too) == 1 and len(heard) == 1)
            person.say("allow")
            assert (await agent.hear())["done"] == "a.txt"
            await steps_until(lambda: len(heard_too) == 2 and len(heard) == 2)
        for events in (heard, heard_too):
            assert [event.name for event in events] == ["tool:approval_required", "tool:approved"]


async def test_a_late_answer_lets_the_next_identical_call_pass_once(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await attended(files)
        async with peer(tmp_path, "alice", HASTY, task="asks") as agent:
            await agent.ask("a.txt")
            assert (await agent.hear())["done"] == "APPROVAL_REQUIRED"
            request = await open_request(files)
            await files.for_actor(EDITOR).answer_approval(request.id, "allow")
            await agent.ask("b.txt")
            assert (await agent.hear())["done"] == "APPROVAL_REQUIRED"
            await agent.ask("a.txt")
            assert (await agent.hear())["done"] == "a.txt"
            (tmp_path / "a.txt").write_bytes(b"saved meanwhile\n")
            await agent.ask("a.txt")
            assert (await agent.hear())["done"] == "APPROVAL_REQUIRED"


async def test_one_permission_lets_one_of_two_processes_of_an_actor_pass(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, settings=RELAXED) as files,
        peer(tmp_path, "alice", PATIENT, task="asks") as first,
        peer(tmp_path, "alice", PATIENT, task="asks") as second,
    ):
        await attended(files)
        await asyncio.gather(first.ask("a.txt"), second.ask("a.txt"))
        request = await open_request(files)
        await files.for_actor(EDITOR).answer_approval(request.id, "allow")
        # The second call asks again, about the current file.
        again = await open_request(files, besides=request.id)
        await files.for_actor(EDITOR).answer_approval(again.id, "deny")
        done = sorted([(await first.hear())["done"], (await second.hear())["done"]])
        assert done == ["APPROVAL_DENIED", "a.txt"]


async def test_the_first_answer_of_several_processes_counts(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, permissions="ask", settings=RELAXED) as files,
        peer(tmp_path, "deny", task="answers") as page,
    ):
        person = Person()
        files.answer_approvals(person)
        await refused("APPROVAL_DENIED", files.write_file("a.txt", "x"))
        assert await page.hear() == {"asked": "a.txt"}
        assert [request.path for request in person.asked] == ["a.txt"]


@pytest.mark.parametrize("end", ["leaves", "is killed"])
async def test_no_call_waits_for_a_listener_of_another_process_that_has_gone(tmp_path: Path, end: str) -> None:
    async with (
        filetools.open(tmp_path, permissions="ask", settings={**RELAXED, "approval_wait_seconds": 600.0}) as files,
        peer(tmp_path, "nothing", task="answers") as page,
    ):
        call = asyncio.ensure_future(files.write_file("a.txt", "x"))
        assert await page.hear() == {"asked": "a.txt"}
        assert not call.done()
        if end == "leaves":
            await page.ask("leave")
        else:
            page.process.kill()
            await page.end()
            await lease_ended(files)
        async with asyncio.timeout(60):
            await refused("APPROVAL_REQUIRED", call)


@pytest.mark.parametrize("how", ["killed", "closed"])
async def test_the_request_of_a_process_that_has_ended_is_answered_for_the_next_one(tmp_path: Path, how: str) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await attended(files)
        async with peer(tmp_path, "alice", PATIENT if how == "killed" else HASTY, task="asks") as agent:
            await agent.ask("a.txt")
            request = await open_request(files)
            if how == "killed":
                agent.process.kill()
                await agent.end()
                await lease_ended(files)
            else:
                await agent.hear()
                await agent.ask("")
                await agent.end()
        assert [each.id for each in await files.approvals()] == [request.id]
        await files.for_actor(EDITOR).answer_approval(request.id, "allow")
        async with peer(tmp_path, "alice", HASTY, task="asks") as agent:
            await agent.ask("a.txt")
            assert (await agent.hear())["done"] == "a.txt"
