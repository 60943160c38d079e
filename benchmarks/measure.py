"""How benchmarks measure and report: contenders in turns, medians and ratios of one run, one row for each claim."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Literal

from benchmarks import machine

ROWS_FILE: Final = "BENCH_ROWS"
"""Variable that names the file to which `run.py` wants the rows appended, a JSON object a line."""

TEXT_LINE: Final = "the quick brown fox jumps over the lazy dog, and it does so again\n"
SETTLE_SECONDS: Final = 0.3
SETTLE_LIMIT_SECONDS: Final = 60.0
IDLE_SHARE: Final = 0.03

Unit = Literal["x", "s", "1/s", "count", "bytes"]
Act = Callable[[], Awaitable[object]]
PlainAct = Callable[[], object]

_SCALES: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One claim and what this run says of it."""

    goal: str
    """Number in the table of goals; "-" for a figure without one."""
    name: str
    value: float
    """What is compared with the limit: a ratio, seconds, a rate or a count."""
    unit: Unit = "x"
    limit: float | None = None
    """None where the figure only informs."""
    at_least: bool = False
    """Whether the limit is the smallest value that is good, not the largest."""
    ours: float | None = None
    """Median seconds of one call."""
    ours_p99: float | None = None
    floor: float | None = None
    """Median seconds of the floor of the same run."""
    floor_name: str = ""
    series: str = ""
    """Line of a plot that the row is a point of."""
    at: float | None = None
    """Where on that line: bytes, files or records."""
    is_settled: bool = True
    """False where this run could not tell."""
    is_busy: bool = field(default_factory=machine.is_busy)
    """Whether other programs took more than a tenth of the processors while the row was measured."""

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None if there is none, or this run could not tell.

        An absolute time or rate taken beside other busy programs says nothing, whether it is good or bad; a ratio and a
        count always do.
        """
        is_disturbed = self.is_busy and self.unit in ("s", "1/s")
        if self.limit is None or not self.is_settled or is_disturbed:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True, slots=True)
class Times:
    """What one contender took: seconds of each call, round by round."""

    rounds: tuple[tuple[float, ...], ...]

    @property
    def median(self) -> float:
        """Median of the rounds' medians."""
        return statistics.median(statistics.median(one) for one in self.rounds)

    @property
    def p99(self) -> float:
        """99th percentile of all calls."""
        calls = sorted(taken for one in self.rounds for taken in one)
        return calls[min(len(calls) - 1, int(len(calls) * 0.99))]

    def ratio(self, floor: Times) -> float:
        """Return the median over the rounds of this contender's median by the floor's: what disturbs, disturbs both."""
        pairs = zip(self.rounds, floor.rounds, strict=True)
        return statistics.median(statistics.median(ours) / statistics.median(theirs) for ours, theirs in pairs)


async def interleaved(contenders: Mapping[str, Act], *, rounds: int, calls: int) -> dict[str, Times]:
    """Time each contender in turns, a different one first in each round.

    Args:
        contenders: What to call, by name.
        rounds: How many turns each gets; one more, not counted, warms up.
        calls: Calls a turn.
    """
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            times = await _turn(contenders[name], calls)
            if number:
                taken[name].append(times)
    return {name: Times(tuple(found)) for name, found in taken.items()}


async def _turn(act: Act, calls: int) -> tuple[float, ...]:
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        await act()
        times.append(time.perf_counter() - began)
    return tuple(times)


def as_act(plain: PlainAct) -> Act:
    """Return a plain function as something to await, without a hop."""

    async def act() -> object:
        return plain()

    return act


def compared(
    goal: str,
    name: str,
    ours: Times,
    floor: Times,
    *,
    limit: float | None,
    floor_name: str,
    series: str = "",
    at: float | None = None,
) -> Row:
    """Return the row of a ratio."""
    return Row(
        goal=goal, name=name, value=ours.ratio(floor), limit=limit, ours=ours.median, ours_p99=ours.p99,
        floor=floor.median, floor_name=floor_name, series=series, at=at,
    )  # fmt: skip


def timed(
    goal: str, name: str, times: Times, *, limit: float | None = None, series: str = "", at: float | None = None
) -> Row:
    """Return the row of a time: the median, against a limit in seconds."""
    return Row(
        goal=goal, name=name, value=times.median, unit="s", limit=limit, ours=times.median, ours_p99=times.p99,
        series=series, at=at,
    )  # fmt: skip


async def settle() -> None:
    """Wait until this process does nothing by itself any more: what an opening begins in the background is done."""
    async with asyncio.timeout(SETTLE_LIMIT_SECONDS):
        used = SETTLE_SECONDS
        while used > SETTLE_SECONDS * IDLE_SHARE:
            before = time.process_time()
            await asyncio.sleep(SETTLE_SECONDS)
            used = time.process_time() - before


def publish(row: Row) -> None:
    """Print a row, and hand it to `run.py` if that runs us."""
    print(line(row), flush=True)
    place = os.environ.get(ROWS_FILE)
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**asdict(row), "is_met": row.is_met}) + "\n")


def line(row: Row) -> str:
    """Return a row as text."""
    sign = "≥" if row.at_least else "≤"
    goal = "" if row.limit is None else f"{sign} {shown(row.limit, row.unit)}"
    unknown = "" if row.limit is None else "cannot tell"
    verdict = {True: "met", False: "NOT MET", None: unknown}[row.is_met]
    cells = [shown(cell, "s") if cell is not None else "" for cell in (row.ours, row.ours_p99, row.floor)]
    return (
        f"{row.goal:>3}  {row.name:<74} {cells[0]:>9} {cells[1]:>9} {cells[2]:>9} {shown(row.value, row.unit):>10}"
        f"  {goal:<12} {verdict}"
    )


HEADING: Final = f"{'':3}  {'':74} {'ours':>9} {'p99':>9} {'floor':>9} {'value':>10}  goal"


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


def print_heading() -> None:
    """Print the machine's facts and the names of the columns."""
    print(", ".join(f"{name} {value}" for name, value in machine.facts().items()))
    print(HEADING)


def dose(default: int) -> int:
    """Return the program's first argument as a number, or the default."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default


def text_of(size: int, number: int) -> str:
    """Return text of `size` bytes in lines, different for each number."""
    head = f"{number:015d}\n"
    return (head + TEXT_LINE * (size // len(TEXT_LINE) + 1))[:size]


def percentile(values: Sequence[float], part: float) -> float:
    """Return a percentile, `part` from 0 to 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]
