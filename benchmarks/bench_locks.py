"""Locks: what a hold costs alone and under contention, beside the raw flock of the same run (goals 7 and 8).

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
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final

import filetools
from benchmarks.measure import (
    Act,
    Row,
    as_act,
    compared,
    interleaved,
    percentile,
    print_heading,
    publish,
    settle,
    text_of,
)
from filetools.errors import LockTimeoutError
from filetools.locks.table import LockTable
from filetools.locks.stripe import Turns

_CALLS: Final = 20
_ROUNDS: Final = 9
_AT_A_TIME: Final = 1_000
"""What is shorter than the clock can tell is done so often in a row."""
_WORK_SECONDS: Final = 0.0005
_PROCESSES: Final = 4
_TASKS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """One round of many workers at one lock."""

    rate: float
    waits: list[float]
    shares: list[int]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    print_heading()
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        asyncio.run(_alone(state))
        asyncio.run(_edits(state, seconds))
        asyncio.run(_tasks(state, seconds))
        asyncio.run(_time_out(state))
        _processes(state, seconds)


async def _alone(state: Path) -> None:
    """Goal 7: what a lock costs that nobody else wants, beside a whole write of the same run."""
    table = LockTable(state / "locks")
    descriptor = os.open(state / "raw", os.O_RDWR | os.O_CREAT)
    turns, numbers = Turns(), itertools.count()
    (state / "root").mkdir()

    async def hold() -> None:
        async with table.hold(["key"], path="key", owner="bench"):
            pass

    async with filetools.open(state / "root", mirror=state / "mirror", durability="relaxed") as files:
        await settle()
        contenders: dict[str, Act] = {
            "raw": as_act(partial(_raw_often, descriptor)),
            "turn": as_act(partial(_turn_often, turns)),
            "both": hold,
            "write": lambda: files.write_file("file.txt", text_of(65536, next(numbers))),
        }
        times = await interleaved(contenders, rounds=_ROUNDS, calls=_CALLS)
    for name, goal, told, limit in (
        ("raw", "-", "flock and unlock of a kept descriptor", None),
        ("turn", "7", "the half of a lock in the process, alone", 2e-6),
    ):
        one = times[name].median / _AT_A_TIME
        publish(Row(goal=goal, name=told, value=one, unit="s", limit=limit, ours=one))
    publish(
        compared("7", "both halves of a lock, alone / dual write 64 KB, relaxed", times["both"], times["write"],
                 limit=0.05, floor_name="the write")
    )  # fmt: skip
    os.close(descriptor)
    await table.aclose()


def _raw_often(descriptor: int) -> None:
    for _ in range(_AT_A_TIME):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _turn_often(turns: Turns) -> None:
    for _ in range(_AT_A_TIME):
        turns.take_now()
        turns.pass_on()


async def _edits(state: Path, seconds: float) -> None:
    """Goal 8, with every duty on: eight tasks edit one file, each a line of its own."""
    root = state / "edited"
    root.mkdir()
    (root / "file.txt").write_text("".join(f"{task} 0\n" for task in range(_TASKS)))
    async with filetools.open(root, mirror=state / "edited-mirror", durability="relaxed") as files:
        await settle()
        until, waits = time.perf_counter() + seconds, list[float]()

        async def worker(task: int) -> None:
            done = 0
            while (asked := time.perf_counter()) < until:
                await files.edit_file("file.txt", old=f"{task} {done}\n", new=f"{task} {done + 1}\n")
                done += 1
                waits.append(time.perf_counter() - asked)

        began = time.perf_counter()
        await asyncio.gather(*map(worker, range(_TASKS)))
        fair = _TASKS * (time.perf_counter() - began) / len(waits)
    worst = max(waits[_TASKS:])
    publish(
        Row(goal="8", name="8 tasks edit one file, dual, relaxed: worst call / fair turn", value=worst / fair, limit=3.0,
            ours=statistics.median(waits), ours_p99=percentile(waits, 0.99), floor=fair, floor_name="fair turn")
    )  # fmt: skip


async def _tasks(state: Path, seconds: float) -> None:
    table = LockTable(state / "locks")
    until = time.perf_counter() + seconds
    waits: list[float] = []

    async def worker() -> None:
        while (asked := time.perf_counter()) < until:
            async with table.hold(["tasks"], path="tasks", owner="bench"):
                waits.append(time.perf_counter() - asked)
                await asyncio.sleep(0)
                _spin(_WORK_SECONDS)

    await asyncio.gather(*(worker() for _ in range(_TASKS)))
    # Everyone's turn once: the work of all, with the measured cost of passing on.
    fair = _TASKS * seconds / len(waits)
    steady = waits[_TASKS:]
    worst = max(steady)
    publish(
        Row(goal="8", name="8 tasks, 0.5 ms of work, lock alone: worst wait / fair turn", value=worst / fair, limit=3.0,
            ours=statistics.median(steady), ours_p99=percentile(steady, 0.99), floor=fair, floor_name="fair turn")
    )  # fmt: skip
    await table.aclose()


async def _time_out(state: Path) -> None:
    """The time limit of a call, while another holds the file's lock."""
    late: list[float] = []
    root = state / "locked"
    root.mkdir()
    for limit in (0.05, 0.2, 0.5, 1.0):
        async with filetools.open(root, settings={"lock_timeout_seconds": limit}) as files:
            other = LockTable(root / ".filetools" / "locks")
            async with other.hold(["late.txt"], path="late.txt", owner="bench"):
                started = time.perf_counter()
                try:
                    await files.write_file("late.txt", "text")
                    raise AssertionError("two holders")
                except LockTimeoutError:
                    late.append(abs(time.perf_counter() - started - limit))
            await other.aclose()
    publish(Row(goal="8", name="time limit of a write missed by, worst of 4", value=max(late), unit="s", limit=0.1))


def _processes(state: Path, seconds: float) -> None:
    raw: list[Contention] = []
    ours: list[Contention] = []
    for _ in range(3):
        raw.append(_contend(_raw_worker, state, seconds))
        ours.append(_contend(_table_worker, state, seconds))
    _contention_row("-", "4 processes, 0.5 ms of work: worst wait with flock", raw, None)
    _contention_row("8", "4 processes, 0.5 ms of work, lock alone: worst wait", ours, 0.1)
    ratio = statistics.median(one.rate for one in ours) / statistics.median(one.rate for one in raw)
    publish(
        Row(
            goal="8",
            name="4 processes, 0.5 ms of work, lock alone: rate / rate of flock",
            value=ratio,
            limit=0.85,
            at_least=True,
        )
    )


def _contention_row(goal: str, name: str, rounds: list[Contention], limit: float | None) -> None:
    waits = [wait for one in rounds for wait in one.waits]
    publish(
        Row(goal=goal, name=name, value=max(waits), unit="s", limit=limit, ours=statistics.median(waits),
            ours_p99=percentile(waits, 0.99))
    )  # fmt: skip


def _contend(worker: Callable[[Path, float, Barrier], list[float]], state: Path, seconds: float) -> Contention:
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        barrier = manager.Barrier(_PROCESSES)
        with context.Pool(_PROCESSES) as pool:
            waits = pool.starmap(worker, [(state, seconds, barrier)] * _PROCESSES, chunksize=1)
    shares = [len(one) for one in waits]
    return Contention(rate=sum(shares) / seconds, waits=[wait for one in waits for wait in one], shares=shares)


def _raw_worker(state: Path, seconds: float, barrier: Barrier) -> list[float]:
    descriptor = os.open(state / "raw", os.O_RDWR | os.O_CREAT)
    waits: list[float] = []
    barrier.wait()
    until = time.perf_counter() + seconds
    while (asked := time.perf_counter()) < until:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        waits.append(time.perf_counter() - asked)
        _spin(_WORK_SECONDS)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    return waits


def _table_worker(state: Path, seconds: float, barrier: Barrier) -> list[float]:
    return asyncio.run(_hold_repeatedly(state, seconds, barrier))


async def _hold_repeatedly(state: Path, seconds: float, barrier: Barrier) -> list[float]:
    table = LockTable(state / "locks")
    waits: list[float] = []
    barrier.wait()
    until = time.perf_counter() + seconds
    while (asked := time.perf_counter()) < until:
        async with table.hold(["shared"], path="shared", owner="bench"):
            waits.append(time.perf_counter() - asked)
            _spin(_WORK_SECONDS)
    await table.aclose()
    return waits


def _spin(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


if __name__ == "__main__":
    main()
