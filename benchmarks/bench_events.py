"""Goals 13 and 15: what an event costs, alone and in a write, and what watching a large tree costs.

Rows with "alone" measure the bus, or the watcher, and nothing else; the others a whole workspace. How soon a change by
another program is told measures `bench_foreign.py`.

Usage: python -m benchmarks.bench_events [FOLDERS]
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

import filetools
from benchmarks.measure import (
    Act,
    Row,
    compared,
    dose,
    interleaved,
    percentile,
    print_heading,
    publish,
    settle,
    text_of,
)
from filetools.events.bus import EventBus
from filetools.events.types import Event, FileCreated
from filetools.models.records import SYSTEM
from filetools.watch.observing import EVENTS
from filetools.watch.watcher import ForeignWatcher

EVENT = FileCreated(path="src/app.py", actor=SYSTEM, seq=1)
ROUNDS = 7


def timed_row(goal: str, what: str, seconds: list[float], limit: float | None) -> None:
    """Publish the median of some times against an absolute limit."""
    middle = statistics.median(seconds)
    publish(
        Row(goal=goal, name=what, value=middle, unit="s", limit=limit, ours=middle, ours_p99=percentile(seconds, 0.99))
    )


def ratio_row(goal: str, what: str, ours: list[float], floor: list[float], limit: float) -> None:
    """Publish the ratio of two medians."""
    middle, base = statistics.median(ours), statistics.median(floor)
    publish(
        Row(goal=goal, name=what, value=middle / base, limit=limit, ours=middle, ours_p99=percentile(ours, 0.99),
            floor=base)
    )  # fmt: skip


def publish_cost(bus: EventBus, times: int) -> list[float]:
    costs = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(times):
            bus.publish(EVENT)
        costs.append((time.perf_counter() - began) / times)
    return costs


async def measure_bus() -> None:
    bus = EventBus()
    timed_row("-", "publish, bus alone, no listener", publish_cost(bus, 20_000), None)
    bus.subscribe("file:*", lambda event: None)
    timed_row("13", "publish to one plain listener, bus alone", publish_cost(bus, 20_000), 2e-6)
    await bus.aclose()
    await measure_async_listeners()


async def measure_async_listeners() -> None:
    bus = EventBus()
    calls = 0

    async def listener(event: Event) -> None:
        nonlocal calls
        calls += 1

    for _ in range(100):
        bus.subscribe("*", listener)
    await asyncio.sleep(0)
    published, drained = [], []
    for number in range(1, 301):
        began = time.perf_counter()
        bus.publish(EVENT)
        published.append(time.perf_counter() - began)
        while calls < 100 * number:
            await asyncio.sleep(0)
        drained.append(time.perf_counter() - began)
    timed_row("13", "publish to 100 async listeners, bus alone", published, 0.8e-3)
    timed_row("13", "the same, until all have run", drained, 0.8e-3)
    await bus.aclose()


async def measure_hung_listener(base: Path) -> None:
    """Write in two workspaces in turns: to one an async listener listens that never ends, to the other an idle one."""

    async def hung(event: Event) -> None:
        await asyncio.Event().wait()

    async def idle(event: Event) -> None:
        return

    numbers = itertools.count()
    async with AsyncExitStack() as stack:
        contenders: dict[str, Act] = {}
        for name, listener in (("idle", idle), ("hung", hung)):
            root = base / name
            root.mkdir()
            opening = filetools.open(root, mirror=base / f"{name}-mirror", durability="relaxed")
            files = await stack.enter_async_context(opening)
            files.on("file:*", listener)
            contenders[name] = write_of(files, numbers)
        await settle()
        times = await interleaved(contenders, rounds=ROUNDS, calls=20)
    publish(
        compared("13", "dual write 1 KB with a hung async listener / with an idle one", times["hung"], times["idle"],
                 limit=1.1, floor_name="an idle listener")
    )  # fmt: skip


def write_of(files: filetools.FileToolsFacade, numbers: Iterator[int]) -> Act:
    async def write() -> None:
        await files.write_file("file.txt", text_of(1024, next(numbers)))

    return write


async def start_ours(root: Path) -> tuple[float, float]:
    began = time.perf_counter()
    watcher = ForeignWatcher(
        root, excluded=lambda path, is_directory: False, on_hints=lambda hints: None, on_resync=lambda reason: None
    )
    await watcher.start()
    returned = time.perf_counter() - began
    await watcher.ready()
    took = time.perf_counter() - began
    await watcher.aclose()
    return returned, took


class _Ignores(FileSystemEventHandler):
    def on_any_event(self, event: FileSystemEvent) -> None:
        return


def start_watchdog(root: Path) -> float:
    observer = Observer()
    began = time.perf_counter()
    observer.schedule(_Ignores(), str(root), recursive=True, event_filter=EVENTS)
    observer.start()
    took = time.perf_counter() - began
    observer.stop()
    observer.join()
    return took


async def told_after(root: Path, probe: Path) -> float:
    """Return the seconds from opening a workspace until a change by another program is told."""
    began = time.perf_counter()
    async with filetools.open(root) as files:
        heard: asyncio.Future[float] = asyncio.get_running_loop().create_future()

        def note(event: object) -> None:
            if not heard.done():
                heard.set_result(time.perf_counter() - began)

        files.on("file:*", note)
        number = 0
        async with asyncio.timeout(30):
            while not heard.done():
                number += 1
                probe.write_text(f"{began} {number}")
                await asyncio.wait([heard], timeout=0.01)
    return heard.result()


async def first_call(root: Path, *, watch: bool) -> float:
    """Return the seconds of a first call right after opening."""
    async with filetools.open(root, settings={"watch": watch}) as files:
        await asyncio.sleep(0)  # the background has begun
        began = time.perf_counter()
        await files.read_file("file.txt")
        return time.perf_counter() - began


async def measure_start(root: Path, folders: int) -> None:
    (root / "file.txt").write_text("text")
    for number in range(folders):
        (root / f"{number // 100}" / f"{number}").mkdir(parents=True)
    probe = root / f"{(folders - 1) // 100}" / f"{folders - 1}" / "probe.txt"
    probe.write_text("before")
    whole, ours, returned, theirs = [], [], [], []
    calls: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(5):
        whole.append(await told_after(root, probe))
        back, took = await start_ours(root)
        returned.append(back)
        ours.append(took)
        theirs.append(start_watchdog(root))
        for _ in range(3):
            for watch in calls:
                calls[watch].append(await first_call(root, watch=watch))
    ratio_row("15", f"{folders:,} folders watched, watcher alone / by watchdog", ours, theirs, 1.3)
    ratio_row("15", f"{folders:,} folders: opened until a change is told / watched by watchdog", whole, theirs, 1.3)
    timed_row("15", f"{folders:,} folders watched, watcher alone, until start() returns", returned, 5e-3)
    ratio_row("15", f"{folders:,} folders: first call after opening / without watching", calls[True], calls[False], 1.2)


async def main(folders: int) -> None:
    print_heading()
    await measure_bus()
    with tempfile.TemporaryDirectory(prefix="bench-events-") as folder:
        for name in ("hung", "start"):
            (Path(folder) / name).mkdir()
        await measure_hung_listener(Path(folder) / "hung")
        await measure_start(Path(folder) / "start", folders)


if __name__ == "__main__":
    asyncio.run(main(dose(10_000)))
