"""The harness of all benchmarks: contenders in turns, medians and ratios of one run, and one row for each claim."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from types import CoroutineType
from typing import Any, Final, Literal

import filetools

ROWS_FILE: Final = "BENCH_ROWS"
"""Names the file to which `run.py` wants the rows appended, one JSON object a line."""
TEXT_LINE: Final = "the quick brown fox jumps over the lazy dog, and it does so again\n"
SETTLE_SECONDS: Final = 0.3
IDLE_SHARE: Final = 0.03
TICK_SECONDS: Final = 0.001
STALL_LIMIT_SECONDS: Final = 0.025

Unit = Literal["x", "s", "1/s", "count", "bytes"]
Durability = Literal["relaxed", "commit"]
Act = Callable[[], object]
"""A plain function, or one that returns a coroutine."""

_SCALES: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_temporary: Final = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One claim and the figure that this run gives for it."""

    goal: int
    what: str
    value: float
    """The figure compared with the limit: a ratio, seconds, a rate, a count or bytes."""
    limit: float
    unit: Unit = "x"
    case: str = ""
    """One of several cases of the same claim; the page shows the worst one."""
    at_least: bool = False
    """True if the limit is the smallest good value."""
    ours: float | None = None
    """Median seconds of one call."""
    p99: float | None = None
    floor: float | None = None
    """Median seconds of the floor in the same run."""
    is_known: bool = True
    """False where the machine was too slow or too busy to tell."""

    @property
    def part(self) -> float:
        """The value as a part of the limit; above 1 is missed."""
        value, limit = (self.limit, self.value) if self.at_least else (self.value, self.limit)
        if limit:
            return value / limit
        return float("inf") if value else 0.0

    @property
    def verdict(self) -> str:
        return "unknown" if not self.is_known else "met" if self.part <= 1 else "missed"

    @property
    def shown_limit(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {shown(self.limit, self.unit)}"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each call of one contender, round by round."""

    rounds: Sequence[Sequence[float]]

    @property
    def median(self) -> float:
        """Median of the rounds' medians."""
        return statistics.median(statistics.median(one) for one in self.rounds)

    @property
    def p99(self) -> float:
        """99th percentile of all calls."""
        return percentile([taken for one in self.rounds for taken in one], 0.99)

    def ratio(self, floor: Times) -> float:
        """Return the median of the rounds' ratios: a disturbed round disturbs both sides."""
        pairs = zip(self.rounds, floor.rounds, strict=True)
        return statistics.median(statistics.median(ours) / statistics.median(theirs) for ours, theirs in pairs)


async def interleaved(contenders: Mapping[str, Act], *, rounds: int, calls: int) -> dict[str, Times]:
    """Time the contenders in turns, a different one first in each round; a first round warms up and does not count."""
    taken: dict[str, list[list[float]]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            times = await _turn(contenders[name], calls)
            if number:
                taken[name].append(times)
    return {name: Times(found) for name, found in taken.items()}


async def _turn(act: Act, calls: int) -> list[float]:
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        result = act()
        if isinstance(result, CoroutineType):
            await result
        times.append(time.perf_counter() - began)
    return times


def ratio(goal: int, what: str, limit: float, ours: Times, floor: Times, *, case: str = "") -> None:
    """Publish a row that compares two contenders."""
    times = {"ours": ours.median, "p99": ours.p99, "floor": floor.median}
    figure(goal, what, limit, ours.ratio(floor), "x", case=case, **times)


async def against(
    goal: int, what: str, limit: float, ours: Act, floor: Act, *, rounds: int, calls: int, case: str = ""
) -> None:
    """Measure two contenders and publish their ratio."""
    times = await interleaved({"ours": ours, "floor": floor}, rounds=rounds, calls=calls)
    ratio(goal, what, limit, times["ours"], times["floor"], case=case)


def seconds(goal: int, what: str, limit: float, times: Sequence[float] | Times, *, case: str = "") -> None:
    """Publish a median against a limit in seconds."""
    taken = times if isinstance(times, Times) else Times([times])
    figure(goal, what, limit, taken.median, "s", case=case, ours=taken.median, p99=taken.p99)


def figure(goal: int, what: str, limit: float, value: float, unit: Unit = "count", **others: Any) -> None:
    """Publish a figure that was taken in its own way; `others` are further fields of the row."""
    publish(Row(goal=goal, what=what, value=value, unit=unit, limit=limit, **others))


def publish(row: Row) -> None:
    """Print a row, and append it to the file of `run.py`."""
    print(line(row), flush=True)
    place = os.environ.get(ROWS_FILE)
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")


def line(row: Row) -> str:
    """Return a row as text."""
    name = f"{row.what}: {row.case}" if row.case else row.what
    cells = [shown(cell, "s") if cell is not None else "" for cell in (row.ours, row.p99, row.floor)]
    return (
        f"{row.goal:>3}  {name:<72} {cells[0]:>9} {cells[1]:>9} {cells[2]:>9} {shown(row.value, row.unit):>10}"
        f"  {row.shown_limit:<12} {row.verdict}"
    )


HEADING: Final = f"{'':3}  {'':72} {'ours':>9} {'p99':>9} {'floor':>9} {'value':>10}  limit"


def shown(value: float, unit: Unit) -> str:
    """Return a figure with its unit."""
    if unit == "x":
        return f"{value:.2f} x" if value >= 0.1 or not value else f"{value:.2g} x"
    if unit == "s":
        scale, name = next((one for one in _SCALES if value >= one[0]), _SCALES[-1])
        return f"{value / scale:.3g} {name}" if value < 1000 * scale else f"{value / scale:.0f} {name}"
    if unit == "1/s":
        return f"{value:,.0f}/s"
    if unit == "bytes":
        return f"{value / 1024:.1f} KiB" if value < 1024 * 1024 else f"{value / 1024 / 1024:.1f} MiB"
    return f"{value:.4g}"


def percentile(values: Sequence[float], part: float) -> float:
    """Return a percentile, `part` from 0 to 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def dose(default: int) -> int:
    """Return the program's first argument as a number, or the default."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default


def text_of(size: int, number: int) -> str:
    """Return `size` bytes of text in lines; each number gives a different text."""
    head = f"{number:015d}\n"
    return (head + TEXT_LINE * (size // len(TEXT_LINE) + 1))[:size]


@asynccontextmanager
async def workspace(
    *, durability: Durability = "relaxed", has_mirror: bool = True, **settings: Any
) -> AsyncIterator[tuple[filetools.FileToolsFacade, Path]]:
    """Open a new workspace with a listener and wait until its background work is done.

    The folder returned contains `root`, `mirror` and anything that a floor writes.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "root").mkdir()
        mirror = folder / "mirror" if has_mirror else None
        async with filetools.open(folder / "root", mirror=mirror, durability=durability, settings=settings) as files:
            files.on("file:*", lambda event: None)
            await settle()
            yield files, folder


async def settle() -> None:
    """Wait until this process is idle, so that no background work is measured with the calls."""
    async with asyncio.timeout(60):
        used = SETTLE_SECONDS
        while used > SETTLE_SECONDS * IDLE_SHARE:
            before = time.process_time()
            await asyncio.sleep(SETTLE_SECONDS)
            used = time.process_time() - before


async def stalls(case: str, work: Callable[[], Awaitable[Any]], *, rounds: int) -> None:
    """Publish the longest time by which a ticker of the event loop was late while work was done (goal 19)."""
    late = [0.0]

    async def tick() -> None:
        while True:
            due = time.perf_counter() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            late.append(time.perf_counter() - due)

    for _ in range(rounds):
        ticker = asyncio.create_task(tick())
        await asyncio.sleep(0)
        await work()
        await asyncio.sleep(0)
        ticker.cancel()
    figure(19, "longest stall", STALL_LIMIT_SECONDS, max(late), "s", case=case)


def raw_read(path: str) -> str:
    """Open, read to the end, close, decode."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size).decode()
    finally:
        os.close(descriptor)


def raw_write(path: str, text: str, *, durable: bool = False) -> None:
    """Encode, write a temporary file beside, rename it over the path; durable with two syncs."""
    temporary = f"{path}.{next(_temporary)}.tmp"
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    os.write(descriptor, text.encode())
    if durable:
        os.fsync(descriptor)
    os.close(descriptor)
    os.replace(temporary, path)
    if durable:
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def memory_kib(name: str) -> int:
    """Return a figure of this process, such as VmRSS (Source: proc(5))."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(each for each in lines if each.startswith(name)).split()[1])


def forget_peak() -> int:
    """Reset the kernel's peak of resident memory and return the resident KiB now (Source: proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return memory_kib("VmRSS")
