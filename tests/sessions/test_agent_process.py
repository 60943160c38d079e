"""Agents that do as badly as agents can: whatever they do, they end, and nothing of them stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import AgentFailedError
from filetools.sessions.agent_process import AgentLimits, AgentProcess, AgentResult
from tests.support import inside

MIB = 1024 * 1024
SHORT = AgentLimits(stop_seconds=0.3)
ENDED = AgentResult(exit_code=0)
IGNORES_SIGTERM = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""
DAEMON = """
import os, sys, time
if os.fork() == 0:
    {leave}
    open("daemon", "w").write(str(os.getpid()))
    time.sleep(600)
while not (os.path.exists("daemon") and os.path.getsize("daemon")): time.sleep(0.001)
print("gone")
"""
Start = Callable[..., AgentProcess]


def children() -> list[str]:
    """Return the processes that this one has started and not waited for."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def pipes() -> list[str]:
    """Return the pipes that are open here."""
    links = [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return sorted(str(link) for link in links if str(link).startswith("pipe:"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a Python program as an agent; in the end nothing of any may be left."""
    before = {*pipes(), *children()}

    def started(program: str, **options: Any) -> AgentProcess:
        options = {"cwd": tmp_path, "environment": dict(os.environ), **options}
        return AgentProcess.start([sys.executable, "-c", program], **options)

    yield started
    assert {*pipes(), *children()} <= before


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def heard(agent: AgentProcess) -> tuple[list[bytes], AgentResult]:
    lines = [line async for line in agent]
    return lines, await agent.result()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-agent -p", "The agent 'no-such-agent' failed: No such file or directory"),
        (["./notes.md"], "The agent './notes.md' failed: Permission denied"),
        (" ", "The agent ' ' failed: the command is empty"),
    ],
)
async def test_what_cannot_be_started_is_an_error_with_its_name(
    start: Start, tmp_path: Path, command: Any, said: str
) -> None:
    (tmp_path / "notes.md").write_text("notes")
    with pytest.raises(AgentFailedError) as caught:
        AgentProcess.start(command, cwd=tmp_path, environment=dict(os.environ))
    assert (caught.value.code, caught.value.message) == ("AGENT_FAILED", said)


async def test_an_agent_that_fails_tells_its_exit_code_and_the_end_of_its_errors(start: Start) -> None:
    program = "import sys; sys.stderr.write('x' * 500_000 + 'it broke'); sys.exit(1)"
    lines, result = await heard(start(program))
    assert (lines, result) == ([], AgentResult(exit_code=1, errors="x" * (65536 - 8) + "it broke"))


async def test_an_agent_that_closes_its_output_is_waited_for(start: Start, tmp_path: Path) -> None:
    program = "import os, sys; os.close(1); os.close(2); sys.stdin.read(); open('done', 'w')"
    assert await heard(start(program)) == ([], ENDED)
    assert (tmp_path / "done").exists()


async def test_garbage_passes_through_line_by_line(start: Start) -> None:
    program = r"import sys; sys.stdout.buffer.write(b'\xff\x00{\r\n\n[1]\nlast')"
    assert await heard(start(program)) == ([b"\xff\x00{\r", b"", b"[1]", b"last"], ENDED)


async def test_the_prompt_arrives_whole_and_ends(start: Start) -> None:
    program = "import sys; text = sys.stdin.buffer.read(); sys.stdout.buffer.write(b'%d' % len(text) + text[-4:])"
    lines, _ = await heard(start(program, prompt=b"x" * 3 * MIB + b"end\n"))
    assert lines == [b"%dend" % (3 * MIB + 4)]


async def test_an_agent_need_not_read_its_prompt(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    assert await heard(start("print('done')", prompt=b"x" * 3 * MIB)) == ([b"done"], ENDED)
    program = "import os; os.close(0); print('done', flush=True)"
    assert await heard(start(program, prompt=b"x" * 3 * MIB)) == ([b"done"], ENDED)
    assert caplog.messages == []


async def test_it_gets_the_environment_and_the_folder_that_it_is_given(start: Start, tmp_path: Path) -> None:
    program = "import os; print(os.getcwd(), sorted(name for name in os.environ if name.startswith('FILETOOLS')))"
    given = {"FILETOOLS_SESSION": "run-1", "PATH": os.environ["PATH"]}
    lines, _ = await heard(start(program, environment=given))
    assert lines == [f"{tmp_path} ['FILETOOLS_SESSION']".encode()]


@pytest.mark.parametrize(("size", "lines"), [(100_000, [b"x" * 100_000, b"after"]), (100_001, [b"after"])])
async def test_a_line_that_is_too_long_is_skipped_and_counted(start: Start, size: int, lines: list[bytes]) -> None:
    program = f"print('x' * {size}); print('after')"
    heard_lines, result = await heard(start(program, limits=AgentLimits(line_bytes=100_000)))
    assert (heard_lines, result.skipped) == (lines, 2 - len(lines))


async def test_a_line_of_100_mb_is_never_held(start: Start) -> None:
    program = "import os, sys; [os.write(1, b'x' * 1_000_000) for _ in range(100)]; print(); print('after')"
    tracemalloc.start()
    try:
        lines, result = await heard(start(program, limits=AgentLimits(line_bytes=MIB)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (lines, result.skipped) == ([b"after"], 1)
    assert peak < 4 * MIB


async def test_an_agent_whose_lines_nobody_takes_waits_and_can_be_stopped(start: Start) -> None:
    program = "import os\nwhile True: os.write(1, b'x' * 999 + b'\\n'); os.write(2, b'.')"
    agent = start(program, limits=AgentLimits(stop_seconds=3600))
    assert await anext(agent) == b"x" * 999
    await agent.stop()
    result = await agent.result()
    # So many lines are in the pipe, and in the one piece that was taken from it.
    assert (result.exit_code, len(result.errors) < 400) == (-signal.SIGTERM, True)


async def test_an_agent_that_never_ends_is_stopped_after_its_time(start: Start) -> None:
    program = "import time; print('ready', flush=True); time.sleep(600)"
    agent = start(program, limits=AgentLimits(seconds=0.5, stop_seconds=5))
    lines, result = await heard(agent)
    assert (result.timed_out, result.exit_code) == (True, -signal.SIGTERM)
    assert lines in ([b"ready"], [])


async def test_an_agent_that_writes_faster_than_anybody_reads_is_stopped_after_its_time(start: Start) -> None:
    program = "import os\nwhile True: os.write(1, b'\\n' * 65536)"
    result = await start(program, limits=AgentLimits(seconds=0.3)).result()
    assert (result.timed_out, result.exit_code) == (True, -signal.SIGTERM)


async def test_an_agent_that_ignores_sigterm_is_killed(start: Start) -> None:
    agent = start(IGNORES_SIGTERM, limits=SHORT)
    assert await anext(agent) == b"ready"
    await agent.stop()
    assert await agent.result() == AgentResult(exit_code=-signal.SIGKILL)


async def test_what_an_agent_left_in_its_group_ends_with_it(start: Start, tmp_path: Path) -> None:
    lines, result = await heard(start(DAEMON.format(leave="pass"), limits=SHORT))
    assert (lines, result) == ([b"gone"], ENDED)
    assert not is_alive(int((tmp_path / "daemon").read_text()))


async def test_a_child_that_left_the_group_with_the_output_is_reported_and_left_alone(
    start: Start, tmp_path: Path
) -> None:
    lines, result = await heard(start(DAEMON.format(leave="os.setsid()"), limits=SHORT))
    daemon = int((tmp_path / "daemon").read_text())
    assert is_alive(daemon)
    os.kill(daemon, signal.SIGKILL)
    assert (lines, result) == ([b"gone"], AgentResult(exit_code=0, left_behind=True))


async def test_a_child_that_left_the_group_and_never_stops_writing_ends_nothing_late(
    start: Start, tmp_path: Path
) -> None:
    leave = (
        "os.setsid()\n    open('daemon', 'w').write(str(os.getpid()))\n    while True: os.write(1, b'y' * 99 + b'\\n')"
    )
    lines, result = await heard(start(DAEMON.format(leave=leave), limits=SHORT))
    os.kill(int((tmp_path / "daemon").read_text()), signal.SIGKILL)
    assert result == AgentResult(exit_code=0, left_behind=True)
    assert lines.count(b"y" * 99) >= len(lines) - 2


async def test_who_reads_slowly_loses_nothing_of_an_agent_that_has_ended(start: Start) -> None:
    program = "import os; os.write(1, b'1\\n' * 32_000)"
    agent = start(program, limits=AgentLimits(stop_seconds=0.01))
    await inside.end_of(agent)
    lines, result = await heard(agent)
    assert (len(lines), result) == (32_000, ENDED)


def test_a_loop_that_ends_takes_its_agents_with_it(start: Start) -> None:
    async def leave() -> AgentProcess:
        agent = start(IGNORES_SIGTERM)
        assert await anext(agent) == b"ready"
        return agent

    assert inside.exit_code_of(asyncio.run(leave())) == -signal.SIGKILL


@pytest.mark.parametrize("steps", range(8))
def test_an_agent_ends_with_the_loop_whenever_that_ends(start: Start, steps: int) -> None:
    async def begin() -> None:
        start("import time; time.sleep(600)", prompt=b"x" * MIB)
        for _ in range(steps):
            await asyncio.sleep(0)

    asyncio.run(begin())
