"""Locks: their cost without contention, waiting for one, and four processes beside flock (goals 7 and 8).

Usage: python -m benchmarks.bench_locks [SECONDS_A_ROUND]
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final

from benchmarks.measure import against, figure, percentile, text_of, workspace
from filetools.locks.table import LockTable

WORK_SECONDS: Final = 0.0005
PROCESSES: Final = 4
TASKS: Final = 8


async def alone() -> None:
    """Goal 7."""
    numbers = itertools.count()
    async with workspace() as (files, folder):
        table = LockTable(folder / "locks")

        async def hold() -> None:
            async with table.hold(["key"], path="key", owner="bench"):
                pass

        write = lambda: files.write_file("file.txt", text_of(65536, next(numbers)))  # noqa: E731
        await against(7, "a free lock, alone / dual write of 64 KB", 0.05, hold, write, rounds=9, calls=20)
        await table.aclose()


async def edits(length: float) -> None:
    """Goal 8 with every duty on: eight tasks edit one file, each a line of its own."""
    async with workspace() as (files, folder):
        await files.write_file("file.txt", "".join(f"{task} 0\n" for task in range(TASKS)))
        waits: list[float] = []
        until = time.perf_counter() + length

        async def worker(task: int) -> int:
            done = 0
            while (asked := time.perf_counter()) < until:
                await files.edit_file("file.txt", old=f"{task} {done}\n", new=f"{task} {done + 1}\n")
                done += 1
                waits.append(time.perf_counter() - asked)
            return done

        done = await asyncio.gather(*map(worker, range(TASKS)))
        expected = "".join(f"{task} {count}\n" for task, count in enumerate(done))
        assert (folder / "root" / "file.txt").read_text() == expected, "an edit was lost"
    fair, steady = TASKS * length / len(waits), waits[TASKS:]
    times = {"ours": statistics.median(steady), "p99": percentile(steady, 0.99), "floor": fair}
    figure(8, "8 tasks edit a file: worst call / fair turn", 3.0, max(steady) / fair, "x", **times)


def processes(length: float) -> None:
    """Goal 8: four processes at one lock, and at one flock."""
    rates: dict[bool, list[int]] = {True: [], False: []}
    waits: list[float] = []
    for _ in range(3):
        for is_ours, counts in rates.items():
            found = contend(length, is_ours=is_ours)
            counts.append(len(found))
            waits += found if is_ours else []
    figure(8, "lock, alone, 4 processes: worst wait", 0.1, max(waits), "s")
    value = statistics.median(rates[True]) / statistics.median(rates[False])
    figure(8, "lock, alone, 4 processes: rate / flock", 0.85, value, "x", at_least=True)


def contend(length: float, *, is_ours: bool) -> list[float]:
    """Return the waits of all processes."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, context.Manager() as manager, context.Pool(PROCESSES) as pool:
        given = (Path(folder), length, manager.Barrier(PROCESSES), is_ours)
        return [wait for one in pool.starmap(contender, [given] * PROCESSES, chunksize=1) for wait in one]


def contender(folder: Path, length: float, barrier: Barrier, is_ours: bool) -> list[float]:
    return asyncio.run(take_often(folder, length, barrier, is_ours))


async def take_often(folder: Path, length: float, barrier: Barrier, is_ours: bool) -> list[float]:
    table, waits = LockTable(folder / "locks"), list[float]()
    descriptor = os.open(folder / "raw", os.O_RDWR | os.O_CREAT)
    barrier.wait()
    until = time.perf_counter() + length
    while (asked := time.perf_counter()) < until:
        if is_ours:
            async with table.hold(["shared"], path="shared", owner="bench"):
                waits.append(time.perf_counter() - asked)
                spin()
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            waits.append(time.perf_counter() - asked)
            spin()
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    await table.aclose()
    return waits


def spin() -> None:
    """Work for a moment."""
    until = time.perf_counter() + WORK_SECONDS
    while time.perf_counter() < until:
        pass


def main(length: float) -> None:
    asyncio.run(alone())
    asyncio.run(edits(length))
    processes(length)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0)
