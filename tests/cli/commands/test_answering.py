"""Questions of an agent in one process, listed and answered by commands in others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support import inside
from tests.support.opened import outcome_of, refused, steps_until
from tests.support.terminal import CommandLine, Ran

ALICE = filetools.Actor(kind="agent", id="alice")


@pytest.fixture
async def agent(root: Path) -> AsyncIterator[FileToolsFacade]:
    settings = {"watch": False, "durability": "relaxed", "approval_wait_seconds": 30.0}
    async with filetools.open(root, permissions="ask", settings=settings) as files:
        yield files.for_actor(ALICE)


async def ran(run: CommandLine, *arguments: str) -> Ran:
    return await asyncio.to_thread(run, *arguments)


async def at_terminal(run: CommandLine, *arguments: str) -> Ran:
    return await asyncio.to_thread(run.at_terminal, *arguments)


async def asked(agent: FileToolsFacade) -> str:
    """Let the agent ask in vain; returns the name of its request."""
    error = await refused("APPROVAL_REQUIRED", agent.write_file("new.txt", "new\n"))
    return str(error.details["approval_id"])


async def test_what_is_not_open_cannot_be_answered(run: CommandLine, agent: FileToolsFacade) -> None:
    assert (await ran(run, "approvals", "--json")).json["data"] == {"approvals": []}
    done = await at_terminal(run, "approve", "approval-0")
    assert (done.code, "after ten minutes" in done.text) == (2, True)
    assert (await ran(run, "approve", await asked(agent), "--deny", "--for-run")).code == 2


async def test_agents_cannot_answer_by_command(run: CommandLine, agent: FileToolsFacade) -> None:
    done = await at_terminal(run, "approve", await asked(agent), "--actor", "alice")
    assert (done.code, "PERMISSION_DENIED" in done.text) == (5, True)
    assert await outcome_of(agent.write_file("new.txt", "new\n")) == "APPROVAL_REQUIRED"


async def test_an_agent_does_not_answer_itself(run: CommandLine, agent: FileToolsFacade) -> None:
    approval_id = await asked(agent)
    done = await ran(run, "approve", approval_id, "--json")  # its shell has no terminal
    assert (done.code, done.json["error_code"]) == (5, "PERMISSION_DENIED")
    run.environment["FILETOOLS_SESSION"] = "run-1"
    assert (await at_terminal(run, "approve", approval_id)).code == 5
    assert await outcome_of(agent.write_file("new.txt", "new\n")) == "APPROVAL_REQUIRED"


async def test_requests_are_listed_with_what_they_would_change(run: CommandLine, agent: FileToolsFacade) -> None:
    approval_id = await asked(agent)
    (request,) = (await ran(run, "approvals", "--json")).json["data"]["approvals"]
    assert (request["id"], request["path"], request["risk"]) == (approval_id, "new.txt", "medium")
    lines = (await ran(run, "approvals", "--diff")).lines
    assert lines[0].startswith(f"{approval_id}  alice: Write file new.txt  risk medium, prompt, open for ")
    assert lines[1:] == ["--- /dev/null", "+++ b/new.txt", "@@ -0,0 +1 @@", "+new"]


@pytest.mark.parametrize(
    ("option", "outcome"), [((), "done"), (("--deny",), "APPROVAL_DENIED"), (("--for-run",), "done")]
)
async def test_an_answer_reaches_the_next_identical_call(
    run: CommandLine, agent: FileToolsFacade, option: tuple[str, ...], outcome: str
) -> None:
    assert (await at_terminal(run, "approve", await asked(agent), *option)).code == 0
    assert await outcome_of(agent.write_file("new.txt", "new\n")) == outcome
    assert await outcome_of(agent.write_file("other.txt", "")) == (
        "done" if option == ("--for-run",) else "APPROVAL_REQUIRED"
    )


def test_the_question_of_a_command_that_has_ended_is_answered_for_the_next_one(run: CommandLine) -> None:
    run.environment["FILETOOLS_PERMISSIONS"] = "ask"
    call = ("call", "--actor", "alice", "write_file", '{"path": "new.txt", "content": "new"}')
    refusal = run(*call)
    assert (refusal.code, refusal.json["error_code"]) == (5, "APPROVAL_REQUIRED")
    assert run.at_terminal("approve", refusal.json["details"]["approval_id"]).code == 0
    assert (run(*call).code, run(*call).json["error_code"]) == (0, "APPROVAL_REQUIRED")


async def test_a_call_that_waits_goes_on(run: CommandLine, agent: FileToolsFacade) -> None:
    inside.parts(agent).gatekeeper.approvals.audience.attend()
    call = asyncio.ensure_future(agent.write_file("new.txt", "new\n"))
    while not (open_requests := (await ran(run, "approvals", "--json")).json["data"]["approvals"]):
        assert not call.done()
    assert (await at_terminal(run, "approve", open_requests[0]["id"])).code == 0
    async with asyncio.timeout(60):
        assert (await call).created


async def test_a_command_at_a_terminal_asks_about_its_own_calls_only(run: CommandLine, agent: FileToolsFacade) -> None:
    inside.parts(agent).gatekeeper.approvals.audience.attend()
    call = asyncio.ensure_future(agent.write_file("new.txt", "new\n"))
    await steps_until(agent.approvals)
    done = await asyncio.to_thread(run.at_terminal, "approvals", answer="y\n")
    assert "y/N" not in done.text
    assert not call.done()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
