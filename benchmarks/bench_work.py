"""The work of a call: system calls and syncs, counted (goals 5 and 26). Nothing is timed; tests count hops and functions.

strace follows a program of its own between two marks, so that opening and closing do not count. Background syncs are put off:
only those are left that a caller waits for.

Usage: python -m benchmarks.bench_work [CALLS]
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from benchmarks.measure import dose, figure, settle, text_of, workspace

CHILD: Final = "--child"
KB, KB64, MB = 1024, 65536, 1024 * 1024
LABELS: Final = {KB: "1 KB", KB64: "64 KB", MB: "1 MB"}
WORKS: Final = (
    ("write", KB, 1), ("write", KB64, 1), ("write", MB, 1), ("write", KB64, 16), ("write", MB, 16), ("read", KB, 1),
    ("read", KB64, 1),
)  # fmt: skip
"""A call, the size of the file, and the tasks that make the call at once, each on a file of its own."""
QUIET_SECONDS: Final = 0.05
"""Silence after the calls, in which their background work is done."""
SYNCS: Final = ("fsync", "fdatasync", "sync_file_range")
IDLE, BEGIN, END = "idle marked", "begin marked", "end marked"
_CALL: Final = re.compile(r"^\d+ +(\w+)\(", re.MULTILINE)
_numbers: Final = itertools.count()


async def run_for_strace(call: str, size: int, tasks: int, times: int) -> None:
    """Make the calls between two marks in the trace, on files that exist and were just used."""
    null = os.open(os.devnull, os.O_WRONLY)
    async with workspace(durability="commit", sync_after_seconds=3600.0) as (files, _):

        async def repeat(task: int, call: str, times: int) -> None:
            for _ in range(times):
                if call == "read":
                    await files.read_file(f"{task}.txt")
                else:
                    await files.write_file(f"{task}.txt", text_of(size, next(_numbers)))

        for task in range(tasks):
            await repeat(task, "write", 1)
        await asyncio.sleep(QUIET_SECONDS)  # files younger than a tick of the clock that stamps them are read again
        for task in range(tasks):
            await repeat(task, call, 2)
        await settle()
        os.write(null, IDLE.encode())
        await asyncio.sleep(QUIET_SECONDS)
        os.write(null, BEGIN.encode())
        await asyncio.gather(*(repeat(task, call, times) for task in range(tasks)))
        await asyncio.sleep(QUIET_SECONDS)
        os.write(null, END.encode())


def system_calls(call: str, size: int, tasks: int, times: int) -> dict[str, float]:
    """Return how often one call makes each system call."""
    with tempfile.NamedTemporaryFile() as trace:
        command = f"strace -f -qq -s 16 -o {trace.name} {sys.executable} -m benchmarks.bench_work {CHILD}".split()
        given = map(str, (call, size, tasks, times))
        subprocess.run([*command, *given], check=True, stdout=subprocess.DEVNULL)
        text = Path(trace.name).read_text(encoding="utf-8", errors="replace")
    idle, busy = calls_between(text, IDLE, BEGIN), calls_between(text, BEGIN, END)
    busy.subtract(idle)
    return {name: busy[name] / (times * tasks) for name in busy}


def calls_between(trace: str, first: str, last: str) -> Counter[str]:
    """Count the system calls after one mark and before another; the last one makes the other mark."""
    part = trace.partition(f'"{first}"')[2].partition(f'"{last}"')[0]
    return Counter(_CALL.findall(part.rpartition("\n")[0]))


def main(calls: int) -> None:
    if shutil.which("strace") is None:
        print("     strace is not installed: nothing is counted")
        return
    for call, size, tasks in WORKS:
        found = system_calls(call, size, tasks, 5 * calls if call == "read" else max(1, calls // min(10, tasks)))
        found.pop("futex", None)  # waits of threads, which depend on what else runs
        syncs, case = sum(found.get(name, 0.0) for name in SYNCS), f"{call} of {LABELS[size]}"
        if call == "read":
            figure(26, "syncs of a read", 0, syncs, case=case)
        elif tasks > 1:
            figure(5, "syncs a write, 16 at once", 0.25, syncs, case=case)
        else:
            figure(5, "syncs a call waits for", 1.05, syncs, case=case)
        if tasks == 1 and size < MB:
            # Rounded, because work done once a second meets some of the calls.
            figure(26, f"system calls of a {call}", 5 if call == "read" else 90, round(sum(found.values())), case=case)


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        asyncio.run(run_for_strace(sys.argv[2], *map(int, sys.argv[3:])))
    else:
        main(dose(40))
