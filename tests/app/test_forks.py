"""Programs that fork while a workspace is open: children that leave it alone end, whatever its threads were doing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

CHILD = """
import os, signal, sys
def forked(leave):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # kills it if it hangs
        leave(3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""
THREADS = """
import threading
import filetools
def write(name):
    while not is_over:
        files.write_file(name, "x" * 100_000)
def open_others():
    while not is_over:
        with filetools.open_sync(sys.argv[2], settings={"watch": False}) as other:  # starts threads
            other.list_files()
is_over = False
with filetools.open_sync(sys.argv[1]) as files:
    acts = [(write, "a"), (write, "b"), (open_others,), (open_others,), (open_others,)]
    threads = [threading.Thread(target=act, args=arguments) for act, *arguments in acts]
    for thread in threads:
        thread.start()
    codes = {forked(leave) for _ in range(12) for leave in (os._exit, sys.exit)}
    is_over = True
    for thread in threads:
        thread.join()
print(codes)
"""
LOOP = """
import asyncio
import filetools
async def main():
    async with filetools.open(sys.argv[1]) as files:
        writes = [asyncio.create_task(files.write_file(f"{number}", "x" * 100_000)) for number in range(8)]
        await asyncio.sleep(0.01)
        codes = {forked(leave) for leave in (os._exit, sys.exit)}
        print(codes, flush=True)
        os._exit(0)  # a loop that its child has closed, too, hears of nothing any more
asyncio.run(main())
"""


@pytest.mark.parametrize("program", [THREADS, LOOP])
def test_a_child_that_leaves_the_workspace_alone_ends(tmp_path: Path, program: str) -> None:
    for name in ("root", "other"):
        (tmp_path / name).mkdir()
    command = [sys.executable, "-c", CHILD + program, str(tmp_path / "root"), str(tmp_path / "other")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.stdout, done.returncode) == ("{3}\n", 0), done.stderr
    assert not done.stderr
