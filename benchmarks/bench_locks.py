"""Locks: what a hold costs alone and under contention, beside the raw flock of the same run (goals 7 and 8).

Usage: python -m benchmarks.bench_locks [SECONDS_A_ROUND]
"""

from __future__ import annotations

import asyncio
import fcntl
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final

from benchmarks.measure import Row, percentile, print_heading, publish
from filetools.errors import LockTimeoutError
from filetools.locks import LockTable
from filetools.locks.turns import Turns

_CALLS: Final = 2_000
_ROUNDS: Final = 9
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
        asyncio.run(_tasks(state, seconds))
        asyncio.run(_time_out(state))
        _processes(state, seconds)


async def _alone(state: Path) -> None:
    table = LockTable(state / "locks")
    descriptor = os.open(state / "raw", os.O_RDWR | os.O_CREAT)
    rounds: dict[str, list[float]] = {"raw": [], "turn": [], "both": []}
    turns = Turns()
    for _ in range(_ROUNDS):
        rounds["raw"].append(_timed(lambda: _raw_once(descriptor)))
        rounds["turn"].append(_timed(lambda: _turn_once(turns)))
        started = time.perf_counter()
        for _ in range(_CALLS):
            async with table.hold(["key"], path="key", owner="bench"):
                pass
        rounds["both"].append((time.perf_counter() - started) / _CALLS)
    _row("-", "raw flock + unlock, kept descriptor", rounds["raw"], None)
    _row("7", "in-process half of a lock", rounds["turn"], 2e-6)
    _row("-", "hold + release, both halves", rounds["both"], None)
    os.close(descriptor)
    await table.aclose()


def _timed(call: Callable[[], None]) -> float:
    started = time.perf_counter()
    for _ in range(_CALLS):
        call()
    return (time.perf_counter() - started) / _CALLS


def _raw_once(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def _turn_once(turns: Turns) -> None:
    turns.take_now()
    turns.pass_on()


def _row(goal: str, name: str, seconds: list[float], limit: float | None) -> None:
    middle = statistics.median(seconds)
    publish(
        Row(goal=goal, name=name, value=middle, unit="s", limit=limit, ours=middle, ours_p99=percentile(seconds, 0.99))
    )


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
        Row(goal="8", name="8 tasks, 0.5 ms of work: worst wait / fair turn", value=worst / fair, limit=3.0,
            ours=statistics.median(steady), ours_p99=percentile(steady, 0.99), floor=fair, floor_name="fair turn")
    )  # fmt: skip
    await table.aclose()


async def _time_out(state: Path) -> None:
    ours, other = LockTable(state / "locks"), LockTable(state / "locks")
    late: list[float] = []
    async with other.hold(["late"], path="late", owner="bench"):
        for limit in (0.05, 0.2, 0.5, 1.0):
            started = time.perf_counter()
            try:
                async with ours.hold(["late"], path="late", owner="bench", timeout_seconds=limit):
                    raise AssertionError("two holders")
            except LockTimeoutError:
                late.append(time.perf_counter() - started - limit)
    publish(Row(goal="8", name="time-out later than asked, worst", value=max(late), unit="s", limit=0.1))
    await ours.aclose()
    await other.aclose()


def _processes(state: Path, seconds: float) -> None:
    raw: list[Contention] = []
    ours: list[Contention] = []
    for _ in range(3):
        raw.append(_contend(_raw_worker, state, seconds))
        ours.append(_contend(_table_worker, state, seconds))
    _contention_row("-", "4 processes, 0.5 ms of work: worst wait, blocking flock", raw, None)
    _contention_row("8", "4 processes, 0.5 ms of work: worst wait", ours, 0.1)
    ratio = statistics.median(one.rate for one in ours) / statistics.median(one.rate for one in raw)
    publish(
        Row(goal="8", name="4 processes, 0.5 ms of work: rate / rate of flock", value=ratio, limit=0.85, at_least=True)
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
