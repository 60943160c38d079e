"""The work that a call causes, counted: hops, system calls, syncs, commits and Python calls (goals 5 and 26).

System calls and syncs come from strace, in a program of its own, between two marks: opening and closing do not count, and what
is done in the silence right after the calls does. Background syncs of files are put off, so that only those are left that
callers wait for; everything else is on: validation, locks, journal, mirror, watching and a listener. Hops are counted one
call at a time, each followed by silence. All writers write different bytes: equal ones are kept once.

Usage: python -m benchmarks.bench_counts [CALLS]
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
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import filetools
from benchmarks.measure import Row, dose, print_heading, publish, settle, text_of
from filetools.facade.worker_pool import WorkerPool
from filetools.models.words import Durability

CHILD: Final = "--child"
LABELS: Final = {1024: "1 KB", 65536: "64 KB", 1024 * 1024: "1 MB"}
WRITERS: Final = 16
QUIET_SECONDS: Final = 0.05
"""Silence after a call, in which its background work is done."""
SETTLED_SECONDS: Final = 0.05
"""Longer than a tick of the clock that stamps files: what is younger is hashed again by whoever reads it."""
SYNCS_PUT_OFF: Final = 3600.0
_SYNCS: Final = ("fsync", "fdatasync", "sync_file_range")
IDLE, BEGIN, END = "idle marked", "begin marked", "end marked"
_CALL: Final = re.compile(r"^\d+ +(\w+)\(", re.MULTILINE)
_numbers = itertools.count()
_standing: dict[int, int] = {}
"""Number of the text that stands in the file of each task."""


@dataclass(frozen=True)
class Work:
    """What is done many times: by some tasks at once, each at a file of its own."""

    call: str
    """"write", "edit" or "read"; an edit needs a former call of its task."""
    size: int
    durability: Durability = "commit"
    tasks: int = 1

    def __str__(self) -> str:
        door = "read" if self.call == "read" else f"dual {self.call}, {self.durability}"
        crowd = "" if self.tasks == 1 else f", {self.tasks} at once"
        return f"{LABELS[self.size]} {door}{crowd}"


@asynccontextmanager
async def opened(work: Work, **settings: Any) -> AsyncIterator[filetools.FileToolsFacade]:
    """Open a workspace with a mirror and a listener, and write every file, so that it is there and hot."""
    with tempfile.TemporaryDirectory(prefix="bench-counts-") as folder:
        root, mirror = Path(folder) / "root", Path(folder) / "mirror"
        root.mkdir()
        async with filetools.open(root, mirror=mirror, durability=work.durability, settings=settings) as files:
            files.on("file:*", lambda event: None)
            for task in range(work.tasks):
                await call(files, replace(work, call="write"), task)
            await asyncio.sleep(SETTLED_SECONDS)
            await repeat(files, work, 2)
            yield files


async def call(files: filetools.FileToolsFacade, work: Work, task: int = 0) -> None:
    """Do it once."""
    if work.call == "read":
        await files.read_file(f"{task}.txt")
        return
    number = next(_numbers)
    if work.call == "edit":
        await files.edit_file(f"{task}.txt", old=f"{_standing[task]:015d}\n", new=f"{number:015d}\n")
    else:
        await files.write_file(f"{task}.txt", text_of(work.size, number))
    _standing[task] = number


async def repeat(files: filetools.FileToolsFacade, work: Work, times: int) -> None:
    """Do it so often in each task."""

    async def one(task: int) -> None:
        for _ in range(times):
            await call(files, work, task)

    await asyncio.gather(*map(one, range(work.tasks)))


async def run_for_strace(work: Work, times: int) -> None:
    """Do the work between two marks in the trace, when opening has come to rest; reads have a mark after each."""
    null = os.open(os.devnull, os.O_WRONLY)

    def mark(name: str) -> None:
        os.write(null, name.encode())

    async with opened(work, sync_after_seconds=SYNCS_PUT_OFF) as files:
        await settle()
        mark(IDLE)
        await asyncio.sleep(QUIET_SECONDS)
        mark(BEGIN)
        if work.call == "read":
            for _ in range(times):
                await call(files, work)
                mark(BEGIN)
        else:
            await repeat(files, work, times)
            await asyncio.sleep(QUIET_SECONDS)
        mark(END)


def system_calls(work: Work, times: int) -> dict[str, float]:
    """Return how often each system call is made for one call, of those of all tasks.

    Of reads it is the median, because what is done once a second, for all calls together, is none of theirs; but every sync
    counts.
    """
    with tempfile.NamedTemporaryFile() as trace:
        command = f"strace -f -qq -s 16 -o {trace.name} {sys.executable} -m benchmarks.bench_counts {CHILD}".split()
        given = [work.call, work.size, work.durability, work.tasks, times]
        subprocess.run([*command, *map(str, given)], check=True, stdout=subprocess.DEVNULL)
        text = Path(trace.name).read_text(encoding="utf-8", errors="replace")
    if work.call == "read":
        each = [calls_in(part) for part in text.split(f'"{BEGIN}"')[1:-1]]
        usual = {name: float(statistics.median(one[name] for one in each)) for name in set().union(*each)}
        return usual | {name: sum(one[name] for one in each) / times for name in _SYNCS}
    idle, busy = calls_between(text, IDLE, BEGIN), calls_between(text, BEGIN, END)
    busy.subtract(idle)  # the silence is not the calls' own
    return {name: busy[name] / (times * work.tasks) for name in busy}


def calls_between(trace: str, first: str, last: str) -> Counter[str]:
    """Count the system calls after one mark and before another."""
    return calls_in(trace.partition(f'"{first}"')[2].partition(f'"{last}"')[0])


def calls_in(part: str) -> Counter[str]:
    """Count the system calls in what follows a mark; the last one makes the next mark."""
    return Counter(_CALL.findall(part.rpartition("\n")[0]))


def publish_system_calls(calls: int) -> None:
    """Print the rows that need strace."""
    for work, limit in (
        (Work("write", 1024), 90),
        (Work("write", 65536), 90),
        (Work("edit", 65536), 90),
        (Work("read", 1024), 5),
        (Work("read", 65536), 5),
    ):
        times = 5 * calls if work.call == "read" else calls
        named = system_calls(work, times)
        threads = named.pop("futex", 0.0)
        count_row("26", f"{work}: system calls, without waits of threads", sum(named.values()), limit)
        count_row("-", "  … waits of threads (futex)", threads)
        most = sorted(named.items(), key=lambda each: -each[1])[:12]
        print("     " + ", ".join(f"{name} {count:.1f}" for name, count in most), flush=True)
        syncs = sum(named.get(name, 0.0) for name in _SYNCS)
        if work.call == "read":
            count_row("26", f"{work}: syncs", syncs, 0)
        elif work.durability == "commit":
            count_row("5", f"{work}: syncs that a caller waits for", syncs, 1.05)
    for work, most_syncs, times in (
        (Work("write", 1024 * 1024), 1.05, calls // 2),
        (Work("write", 65536, tasks=WRITERS), 0.25, calls // 4),
        (Work("write", 1024 * 1024, tasks=WRITERS), 0.25, calls // 10),
    ):
        found = system_calls(work, max(1, times))
        syncs = sum(found.get(name, 0.0) for name in _SYNCS)
        count_row("5", f"{work}: syncs a call", syncs, most_syncs)


def count_row(goal: str, name: str, value: float, limit: float | None = None) -> None:
    publish(Row(goal=goal, name=name, value=value, unit="count", limit=limit))


class Hops:
    """Counts what is handed to the threads of pools. Lives as long as the process."""

    def __init__(self) -> None:
        self.made = 0
        self.works: Counter[str] = Counter()
        self._count(WorkerPool, "_start")
        self._count(ThreadPoolExecutor, "submit")

    def _count(self, pool: type, method: str) -> None:
        hand_over = getattr(pool, method)

        def counted(of: object, work: Any, *args: Any, **options: Any) -> Any:
            self.made += 1
            self.works[_name(work)] += 1
            return hand_over(of, work, *args, **options)

        setattr(pool, method, counted)

    async def silence(self) -> None:
        """Wait until nothing has been handed over for a while: opening and watching are done."""
        async with asyncio.timeout(10):
            before = -1
            while before != self.made:
                before = self.made
                await asyncio.sleep(10 * QUIET_SECONDS)

    async def of(self, act: Callable[[], Awaitable[object]], calls: int) -> tuple[float, float]:
        """Return how many a call waits for, and how many are made in the silence after it."""
        waited: list[int] = []
        after: list[int] = []
        self.works.clear()
        for _ in range(calls):
            before = self.made
            await act()
            between = self.made
            await asyncio.sleep(QUIET_SECONDS)
            waited.append(between - before)
            after.append(self.made - between)
        return statistics.median(waited), statistics.mean(after)


def _name(work: Any) -> str:
    while isinstance(work, partial):
        work = work.func
    return str(getattr(work, "__qualname__", work))


async def publish_hops(calls: int) -> None:
    """Print the rows of hops, with what it is that is handed over."""
    hops = Hops()
    for work in (
        Work("write", 1024),
        Work("write", 65536, "relaxed"),
        Work("write", 65536),
        Work("edit", 65536),
        Work("read", 65536),
    ):
        async with opened(work, sync_after_seconds=SYNCS_PUT_OFF) as files:
            await hops.silence()
            _, idle = await hops.of(partial(asyncio.sleep, 0), calls)
            records = len((await files.changes()).records)
            waited, after = await hops.of(partial(call, files, work), calls)
            works = [f"{name} {count / calls:.2f}" for name, count in hops.works.most_common()]
            made = len((await files.changes()).records) - records
        is_read = work.call == "read"
        count_row("26", f"{work}: hops", waited, 0 if is_read else 1)
        # A tenth above the goal: what is done once a second, for all calls together, falls into some silences.
        count_row("26", f"{work}: hops in the background", after - idle, 0.1 if is_read else 1.1)
        print("     " + ", ".join(works), flush=True)
        if is_read:
            count_row("26", f"{work}: records in the journal", made / calls, 0)


def publish_python_calls(calls: int) -> None:
    """Print how many functions, of Python and of C, are called in all threads."""
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    async def work(one: Work) -> None:
        nonlocal counted
        async with opened(one, sync_after_seconds=SYNCS_PUT_OFF) as files:
            counted = 0
            await repeat(files, one, calls)

    for one in (Work("write", 65536, "relaxed"), Work("edit", 65536, "relaxed"), Work("read", 65536)):
        threading.setprofile(count)
        sys.setprofile(count)
        try:
            asyncio.run(work(one))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        count_row("-", f"{one}: functions called", counted / calls)


def main(calls: int) -> None:
    """Count everything."""
    print_heading()
    asyncio.run(publish_hops(calls))
    publish_python_calls(calls)
    if shutil.which("strace") is None:
        print("     strace is not installed: syncs and system calls are not counted")
        return
    publish_system_calls(calls)


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        kind, size, durability, tasks, times = sys.argv[2:]
        of = Work(kind, int(size), "commit" if durability == "commit" else "relaxed", int(tasks))
        asyncio.run(run_for_strace(of, int(times)))
    else:
        main(dose(40))
