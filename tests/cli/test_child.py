"""A program in the foreground of a loop that goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from filetools.cli.commands.agents import run_child

OUTER = """
import asyncio, os, sys
from filetools.cli.commands.agents import run_child

async def main():
    beat = asyncio.create_task(asyncio.sleep(0, "the loop went on"))
    code = await run_child([sys.executable, "-c", sys.argv[1]], environment=dict(os.environ))
    print(code, beat.result(), flush=True)

asyncio.run(main())
"""
INNER = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
print("ready", flush=True)
while True: signal.pause()
"""


async def code_of(program: str, **variables: str) -> int:
    return await run_child([sys.executable, "-c", program], environment={**os.environ, **variables})


async def test_a_program_that_is_missing_is_an_error_and_signals_are_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(FileNotFoundError):
        await run_child(["no-such-program"], environment={})
    assert signal.getsignal(signal.SIGTERM) is before


async def test_the_exit_code_is_as_in_a_shell() -> None:
    assert await code_of("import os, sys; sys.exit(int(os.environ['CODE']))", CODE="9") == 9
    assert await code_of("import os; os.kill(os.getpid(), 15)") == 128 + signal.SIGTERM


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


async def test_being_cancelled_ends_the_program() -> None:
    before = children()  # other tests of this process may have left helpers of the interpreter
    task = asyncio.create_task(code_of("import signal; signal.pause()"))
    await asyncio.sleep(0)  # it is started now
    assert children() > before
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() <= before


def test_signals_to_this_process_alone_are_left_to_the_program() -> None:
    with subprocess.Popen([sys.executable, "-c", OUTER, INNER], stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline() == "ready\n"
        outer.send_signal(signal.SIGINT)
        outer.send_signal(signal.SIGTERM)
        assert outer.stdout.read() == "7 the loop went on\n"
    assert outer.returncode == 0


def test_a_program_ignores_what_its_parent_ignores() -> None:
    inner = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, flush=True)"
    outer = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{OUTER}"  # as under nohup
    done = subprocess.run([sys.executable, "-c", outer, inner], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n0 the loop went on\n"
