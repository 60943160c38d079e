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
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import filetools
from benchmarks.measure import dose, figure, settle, text_of, workspace

CHILD: Final = "--child"
KB, KB64, MB = 1024, 65536, 1024 * 1024
LABELS: Final = {KB: "1 KB", KB64: "64 KB", MB: "1 MB"}
QUIET_SECONDS: Final = 0.05
"""Silence after a call, in which its background work is done."""
SYNCS: Final = ("fsync", "fdatasync", "sync_file_range")
IDLE, BEGIN, END = "idle marked", "begin marked", "end marked"
_CALL: Final = re.compile(r"^\d+ +(\w+)\(", re.MULTILINE)
_numbers = itertools.count()
_current: dict[int, int] = {}
"""Number of the text that the file of each task has."""


@dataclass(frozen=True)
class Work:
    """A call that some tasks make at once, each on a file of its own."""

    call: str
    """"write", "edit" or "read"; an edit needs a former call of its task."""
    size: int
    tasks: int = 1

    def __str__(self) -> str:
        return f"{self.call} of {LABELS[self.size]}"


WORKS: Final = (
    Work("write", KB), Work("write", KB64), Work("edit", KB64), Work("write", MB), Work("write", KB64, tasks=16),
    Work("write", MB, tasks=16), Work("read", KB), Work("read", KB64),
)  # fmt: skip


@asynccontextmanager
async def opened(work: Work) -> AsyncIterator[filetools.FileToolsFacade]:
    """Open a workspace in which every file of the work exists and was just used."""
    async with workspace(durability="commit", sync_after_seconds=3600.0) as (files, _):
        for task in range(work.tasks):
            await once(files, replace(work, call="write"), task)
        await asyncio.sleep(
            QUIET_SECONDS
        )  # longer than a tick of the clock that stamps files: younger ones are read again
        await repeat(files, work, 2)
        await settle()
        yield files


async def once(files: filetools.FileToolsFacade, work: Work, task: int = 0) -> None:
    number = next(_numbers)
    if work.call == "read":
        await files.read_file(f"{task}.txt")
        return
    if work.call == "edit":
        await files.edit_file(f"{task}.txt", old=f"{_current[task]:015d}\n", new=f"{number:015d}\n")
    else:
        await files.write_file(f"{task}.txt", text_of(work.size, number))
    _current[task] = number


async def repeat(files: filetools.FileToolsFacade, work: Work, times: int) -> None:
    async def one(task: int) -> None:
        for _ in range(times):
            await once(files, work, task)

    await asyncio.gather(*map(one, range(work.tasks)))


async def run_for_strace(work: Work, times: int) -> None:
    """Do the work between two marks in the trace; a read has a mark after each call."""
    null = os.open(os.devnull, os.O_WRONLY)
    async with opened(work) as files:
        os.write(null, IDLE.encode())
        await asyncio.sleep(QUIET_SECONDS)
        os.write(null, BEGIN.encode())
        if work.call == "read":
            for _ in range(times):
                await once(files, work)
                os.write(null, BEGIN.encode())
        else:
            await repeat(files, work, times)
            await asyncio.sleep(QUIET_SECONDS)
        os.write(null, END.encode())


def system_calls(work: Work, times: int) -> dict[str, float]:
    """Return how often one call makes each system call.

    For reads that is the median, because the work done once a second belongs to none of them; but every sync counts.
    """
    with tempfile.NamedTemporaryFile() as trace:
        command = f"strace -f -qq -s 16 -o {trace.name} {sys.executable} -m benchmarks.bench_work {CHILD}".split()
        given = [work.call, work.size, work.tasks, times]
        subprocess.run([*command, *map(str, given)], check=True, stdout=subprocess.DEVNULL)
        text = Path(trace.name).read_text(encoding="utf-8", errors="replace")
    if work.call == "read":
        each = [calls_in(part) for part in text.split(f'"{BEGIN}"')[1:-1]]
        usual = {name: float(statistics.median(one[name] for one in each)) for name in set().union(*each)}
        return usual | {name: sum(one[name] for one in each) / times for name in SYNCS}
    idle, busy = calls_between(text, IDLE, BEGIN), calls_between(text, BEGIN, END)
    busy.subtract(idle)
    return {name: busy[name] / (times * work.tasks) for name in busy}


def calls_between(trace: str, first: str, last: str) -> Counter[str]:
    """Count the system calls after one mark and before another."""
    return calls_in(trace.partition(f'"{first}"')[2].partition(f'"{last}"')[0])


def calls_in(part: str) -> Counter[str]:
    """Count the system calls after a mark; the last one makes the next mark."""
    return Counter(_CALL.findall(part.rpartition("\n")[0]))


def main(calls: int) -> None:
    if shutil.which("strace") is None:
        print("     strace is not installed: nothing is counted")
        return
    for work in WORKS:
        # Many writers need fewer rounds for the same number of calls.
        times = 5 * calls if work.call == "read" else max(1, calls // min(10, work.tasks))
        found = system_calls(work, times)
        found.pop("futex", None)  # waits of threads, which depend on what else runs
        syncs = sum(found.get(name, 0.0) for name in SYNCS)
        if work.call == "read":
            figure(26, "system calls of a read", 5, sum(found.values()), case=str(work))
            figure(26, "syncs of a read", 0, syncs, case=str(work))
        elif work.tasks > 1:
            figure(5, "syncs a write, 16 at once", 0.25, syncs, case=str(work))
        else:
            figure(5, "syncs a call waits for", 1.05, syncs, case=str(work))
            if work.size < MB:
                figure(26, "system calls of a write", 90, sum(found.values()), case=str(work))


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        size, tasks, times = map(int, sys.argv[3:])
        asyncio.run(run_for_strace(Work(sys.argv[2], size, tasks), times))
    else:
        main(dose(40))
