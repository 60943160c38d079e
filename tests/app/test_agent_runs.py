"""Runs of scripted agents: counted, bounded, and ended, whatever becomes of the agent or of who listens."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.app.agent_runs import AgentRun, AgentRuns
from filetools.errors import AgentFailedError, TooManyRunsError
from filetools.facade.facade import FileToolsFacade
from filetools.sessions.agent_process import AgentLimits
from filetools.sessions.runs import Run
from tests.support.crashing import QUIET

SAYING = """
import json, os, sys, time
def say(type, **more): print(json.dumps({"type": type, **more}), flush=True)
def call(id, number=1, **more):
    block = {"type": "tool_use", "id": f"call-{id}-{number}", "name": "Write", "input": {"file_path": "claudedocs/r.md"}}
    say("assistant", message={"role": "assistant", "id": id, "content": [block]}, **more)
def done(id): say("user", message={"content": [{"type": "tool_result", "tool_use_id": f"call-{id}-1", "content": "ok"}]})
def end(**more): say("result", subtype="success", result="all done", **{"is_error": False, **more})
"""
FOREVER = "say('system', subtype='init'); time.sleep(600)"
WRITING = """
say("system", session=os.environ["FILETOOLS_SESSION"], prompt=sys.stdin.read())
print("garbage")
call("m1")
os.makedirs("claudedocs"); open("claudedocs/r.md", "w").write("# report\\n")
done("m1")
end()
"""


def runs(program: str, **options: Any) -> AgentRuns:
    return AgentRuns([sys.executable, "-c", SAYING + program], limits=AgentLimits(stop_seconds=0.3), **options)


@pytest.fixture
async def files(root: Path) -> AsyncIterator[FileToolsFacade]:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = set(children.read_text().split())  # other tests may have left helpers of the interpreter
    async with filetools.open(root, settings=QUIET) as opened:
        yield opened
        assert set(children.read_text().split()) <= before
        assert {run.status for run in await opened.runs.list()} <= {"completed", "failed", "cancelled"}


async def only_run(files: FileToolsFacade) -> Run:
    (run,) = await files.runs.list()
    return run


async def listened(agents: AgentRuns, files: FileToolsFacade) -> tuple[AgentRun, list[Any]]:
    async with agents.start(files, "say it") as agent:
        return agent, [message async for message in agent]


async def test_what_an_agent_leaves_running_and_what_was_skipped_is_reported(
    files: FileToolsFacade, caplog: pytest.LogCaptureFixture
) -> None:
    daemon = "os.setsid(); open('daemon', 'w').write(str(os.getpid())); time.sleep(600)"
    program = f"print('x' * 99_000); end()\nif os.fork() == 0: {daemon}\nelse: time.sleep(0.2)"
    limits = AgentLimits(stop_seconds=0.3, line_bytes=90_000)
    await listened(AgentRuns([sys.executable, "-c", SAYING + program], limits=limits), files)
    os.kill(int((await files.read_file("daemon")).content), signal.SIGKILL)
    assert ("left a program behind" in caplog.text, "too long and skipped: 1" in caplog.text) == (
        True,
        True,
    )


async def test_a_program_that_is_missing_is_a_run_that_failed(files: FileToolsFacade) -> None:
    with pytest.raises(AgentFailedError):
        await listened(AgentRuns("no-such-agent"), files)
    run = await only_run(files)
    assert (run.status, run.exit_code, run.command) == ("failed", None, "no-such-agent")


async def test_a_run_that_cannot_begin_starts_nothing(files: FileToolsFacade) -> None:
    agents = runs(FOREVER)
    with pytest.raises(filetools.FileToolsError, match="segment"):
        async with agents.start(files, "", outputs=["../out"]):
            raise AssertionError
    assert (await files.runs.list(), agents.active) == ([], {})


async def test_no_more_run_at_once_than_may(files: FileToolsFacade) -> None:
    agents = runs(FOREVER, limit=1)
    async with agents.start(files, "one") as agent:
        with pytest.raises(TooManyRunsError) as caught:
            async with agents.start(files, "two"):
                raise AssertionError
        assert agents.active == {agent.run.id: agent}
    assert (caught.value.code, caught.value.retryable) == ("TOO_MANY_RUNS", True)
    async with agents.start(files, "three"):
        assert {run.prompt for run in await files.runs.list()} == {"one", "three"}


async def test_messages_come_as_they_are_and_what_the_agent_made_is_told(files: FileToolsFacade, root: Path) -> None:
    async with runs(WRITING).start(files, "write a report") as agent:
        messages = [message async for message in agent]
        metadata = await agent.finish()
    assert [message["type"] for message in messages] == ["system", "assistant", "user", "result"]
    run = await only_run(files)
    assert messages[0] == {"type": "system", "session": run.session, "prompt": "write a report"}
    assert (run.status, run.exit_code, len(run.turns), run.step) == ("completed", 0, 1, "Step 1/200")
    assert [file["relative_path"] for file in metadata["files_created"]] == ["claudedocs/r.md"]
    kept = (await files.read_file("claudedocs/r.md", version=run.messages)).content
    assert [json.loads(line)["type"] for line in kept.splitlines()] == ["assistant", "user", "result"]


async def test_a_journal_that_goes_does_not_take_the_answer_with_it(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files, runs(WRITING).start(files, "x") as agent:
        messages = [message async for message in agent]
        shutil.rmtree(root / ".filetools")
        metadata = await agent.finish()
    assert (messages[-1]["type"], agent.failure) == ("result", None)
    assert metadata["session_tracking"] == {"cli_session_id": agent.run.session, "session_dir": str(root)}
    assert (metadata["files_created"], metadata["discovery_status"]) == ([], "failed")
    assert metadata["error"].startswith("The state in .filetools is damaged")


async def test_the_calls_of_one_message_and_those_of_other_agents_are_no_further_turns(files: FileToolsFacade) -> None:
    await listened(
        runs("call('m1'); call('m1', 2); call('s1', parent_tool_use_id='call-m1-1'); call('m2'); end()"), files
    )
    run = await only_run(files)
    assert (len(run.turns), run.step) == (2, "Step 2/200")


async def test_an_agent_that_takes_too_many_steps_is_stopped(files: FileToolsFacade) -> None:
    agent, messages = await listened(runs("call(1); call(2); call(3); time.sleep(600)", max_steps=2), files)
    run = await only_run(files)
    assert (run.status, run.step, agent.failure) == ("failed", "Step 2/2", "it was stopped after Step 2/2")
    assert [message["message"]["id"] for message in messages] == [1, 2]


@pytest.mark.parametrize(
    ("program", "failure"),
    [
        ("sys.exit('it broke')", "it ended with 1: it broke"),
        ("end(is_error=True)", "all done"),
        ("end(is_error=True); sys.exit(1)", "all done"),
        ("call('m1'); os.kill(os.getpid(), 9)", "it ended with -9"),
    ],
)
async def test_an_agent_that_fails_is_a_run_that_failed_and_says_why(
    files: FileToolsFacade, program: str, failure: str
) -> None:
    agent, _ = await listened(runs(program), files)
    assert ((await only_run(files)).status, agent.failure) == ("failed", failure)


async def test_a_run_that_takes_too_long_failed(files: FileToolsFacade) -> None:
    agents = AgentRuns([sys.executable, "-c", SAYING + FOREVER], limits=AgentLimits(seconds=0.3, stop_seconds=1))
    agent, _ = await listened(agents, files)
    assert ((await only_run(files)).status, agent.failure) == ("failed", "it took too long")


async def test_who_leaves_early_cancels_the_run(files: FileToolsFacade) -> None:
    async with runs(FOREVER).start(files, "") as agent:
        await anext(agent)
    assert (await files.runs.get(agent.run.id)).status == "cancelled"
    with pytest.raises(ZeroDivisionError):
        async with runs(FOREVER).start(files, "") as agent:
            raise ZeroDivisionError
    assert (await files.runs.get(agent.run.id)).status == "cancelled"


async def listen(agents: AgentRuns, files: FileToolsFacade, heard: asyncio.Event) -> None:
    async with agents.start(files, "") as agent:
        async for _ in agent:
            heard.set()


@pytest.mark.parametrize("times", [1, 3])
async def test_who_is_cancelled_amid_the_messages_cancels_the_run(files: FileToolsFacade, times: int) -> None:
    agents, heard = runs(FOREVER), asyncio.Event()

    task = asyncio.create_task(listen(agents, files, heard))
    await heard.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    await agents.aclose()
    run = await only_run(files)
    assert (run.status, run.exit_code, agents.active) == ("cancelled", -15, {})


async def test_who_is_cancelled_while_the_run_begins_leaves_none_running(files: FileToolsFacade) -> None:
    agents = runs(FOREVER)
    for steps in range(12):
        task = asyncio.create_task(listened(agents, files))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await agents.aclose()
    assert {run.status for run in await files.runs.list()} == {"cancelled"}


async def test_a_run_is_stopped_by_its_id_while_somebody_listens(files: FileToolsFacade) -> None:
    agents, heard = runs(FOREVER), asyncio.Event()

    async def listen() -> str | None:
        async with agents.start(files, "") as agent:
            async for _ in agent:
                heard.set()
            return agent.failure

    task = asyncio.create_task(listen())
    await heard.wait()
    assert await agents.stop("run-0") is False
    assert await agents.stop(next(iter(agents.active))) is True
    assert (await task, (await only_run(files)).status, agents.active) == ("it was stopped", "cancelled", {})


async def test_closing_ends_every_run_also_those_that_begin(files: FileToolsFacade) -> None:
    agents, heard = runs(FOREVER), asyncio.Event()

    tasks = [asyncio.create_task(listen(agents, files, heard))]
    await heard.wait()
    tasks.append(asyncio.create_task(listen(agents, files, heard)))
    await asyncio.sleep(0)
    await agents.aclose()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert (ended[0], type(ended[1])) == (None, filetools.errors.AbortedError)
    assert [run.status for run in await files.runs.list()] == ["cancelled", "cancelled"]
