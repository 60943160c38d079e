"""Goals 13 to 15: what an event costs, how soon a foreign change is noticed, and what watching a large tree costs.

Usage: python -m benchmarks.bench_events [DIRECTORY]

Trees are made in DIRECTORY (by default a temporary one) and removed afterwards. The rate of the burst needs a directory
in which another process can write 15,000 files a second, such as one on tmpfs.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from benchmarks.measure import Row, percentile, print_heading, publish
from filetools.events import Event, EventBus, FileCreated
from filetools.models import SYSTEM
from filetools.watch import Bell, ForeignWatcher, Hint
from filetools.watch.observing import EVENTS

EVENT = FileCreated(path="src/app.py", actor=SYSTEM, seq=1)
ROUNDS = 7
FOLDERS = 10_000
BURST = 10_000

BURST_WRITER = """
import sys, time
root, count = sys.argv[1], int(sys.argv[2])
began = time.perf_counter()
for number in range(count):
    with open(f"{root}/f{number}", "wb") as file:
        file.write(b"content")
print(time.perf_counter() - began)
"""


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
    timed_row("-", "publish, no listener", publish_cost(bus, 20_000), None)
    bus.subscribe("file:*", lambda event: None)
    timed_row("13", "publish to one plain listener", publish_cost(bus, 20_000), 2e-6)
    await bus.aclose()
    await measure_async_listeners()
    await measure_hung_listener()


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
    timed_row("13", "publish to 100 async listeners", published, 0.8e-3)
    timed_row("13", "publish to 100 async listeners, until all have run", drained, 0.8e-3)
    await bus.aclose()


async def measure_hung_listener() -> None:
    async def hung(event: Event) -> None:
        await asyncio.Event().wait()

    async def idle(event: Event) -> None:
        return

    costs: dict[str, list[float]] = {"idle": [], "hung": []}
    for _ in range(3 * ROUNDS):
        for name, listener in (("idle", idle), ("hung", hung)):
            bus = EventBus()
            bus.subscribe("*", listener)
            await asyncio.sleep(0)
            bus.publish(EVENT)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            costs[name].append(statistics.median(publish_cost(bus, 1_000)))
            await bus.aclose(0.02)
    ratio_row("13", "publish to a hung async listener / to an idle one", costs["hung"], costs["idle"], 1.2)


async def each_wakes(act: Callable[[int], None], arm: Callable[[Callable[[], None]], None], times: int) -> list[float]:
    """Return the seconds from each act to the next call of the callback that was armed."""
    heard = asyncio.Event()
    at = [0.0]

    def note() -> None:
        if not heard.is_set():
            at[0] = time.perf_counter()
            heard.set()

    arm(note)
    waits = []
    for number in range(times):
        heard.clear()
        began = time.perf_counter()
        act(number)
        async with asyncio.timeout(5):
            await heard.wait()
        waits.append(at[0] - began)
        await asyncio.sleep(0.03)
    return waits


async def measure_bell(root: Path) -> None:
    bell_path = root / "bell"
    bell = Bell(bell_path)
    bell.ring()
    costs = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(2_000):
            bell.ring()
        costs.append((time.perf_counter() - began) / 2_000)
    raw = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(2_000):
            os.utime(bell_path)
        raw.append((time.perf_counter() - began) / 2_000)
    ratio_row("-", "bell: ring / os.utime alone", costs, raw, 2.0)
    listeners = []
    waits = await each_wakes(lambda _: bell.ring(), lambda note: listeners.append(bell.listen(note)), 100)
    listeners[0].close()
    timed_row("-", "bell: ring to callback", waits, 1e-3)


async def with_watcher(root: Path, on_hints: Callable[[list[Hint]], None], resyncs: list[str]) -> ForeignWatcher:
    watcher = ForeignWatcher(
        root, excluded=lambda path, is_directory: False, on_hints=on_hints, on_resync=resyncs.append
    )
    await watcher.start()
    await watcher.ready()
    return watcher


async def measure_latency(root: Path) -> None:
    resyncs: list[str] = []
    bus = EventBus()
    watcher = await with_watcher(root, lambda hints: bus.publish(EVENT), resyncs)
    descriptor = os.open(root / "written", os.O_WRONLY | os.O_CREAT)

    def arm(note: Callable[[], None]) -> None:
        bus.subscribe("file:*", lambda event: note())

    await asyncio.sleep(0.1)
    waits = await each_wakes(lambda number: void(os.pwrite(descriptor, b"x", number)), arm, 200)
    os.close(descriptor)
    timed_row("14", "watcher alone: foreign write to listener, median", waits, 1e-3)
    timed_row("14", "watcher alone: foreign write to listener, p99", [percentile(waits, 0.99)], 5e-3)
    await watcher.aclose()
    await bus.aclose()


def void(result: object) -> None:
    """Throw a result away."""


async def measure_burst(root: Path) -> None:
    for number in range(3):
        target = root / str(number)
        target.mkdir()
        await measure_one_burst(target)


async def measure_one_burst(target: Path) -> None:
    seen: set[str] = set()
    resyncs: list[str] = []
    watcher = await with_watcher(target, lambda hints: seen.update(hint.path for hint in hints), resyncs)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BURST_WRITER, str(target), str(BURST), stdout=subprocess.PIPE
    )
    began = 0.0
    while len(seen) < BURST and not resyncs:
        await asyncio.sleep(0.001)
        began = began or (time.perf_counter() if seen else 0.0)
    took = time.perf_counter() - began
    written = float((await process.communicate())[0])
    await watcher.aclose()
    missed, rate, offered = BURST - len(seen), BURST / took, BURST / written
    publish(
        Row(goal="14", name=f"watcher alone: burst of {BURST:,} files: missed", value=missed, unit="count", limit=0)
    )
    publish(
        Row(goal="14", name=f"watcher alone: burst seen (written at {offered:,.0f}/s)", value=rate, unit="1/s",
            limit=15_000, at_least=True, is_settled=rate >= 15_000 or offered >= 15_000)
    )  # fmt: skip


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


async def measure_start(root: Path) -> None:
    for number in range(FOLDERS):
        (root / f"{number // 100}" / f"{number}").mkdir(parents=True)
    ours, returned, theirs = [], [], []
    for _ in range(5):
        back, took = await start_ours(root)
        returned.append(back)
        ours.append(took)
        theirs.append(start_watchdog(root))
    ratio_row("15", f"{FOLDERS:,} folders watched / by watchdog", ours, theirs, 1.3)
    timed_row("15", f"{FOLDERS:,} folders watched, until start() returns", returned, 5e-3)


async def in_folder(base: Path, name: str, measure: Callable[[Path], Coroutine[Any, Any, None]]) -> None:
    folder = base / name
    folder.mkdir()
    try:
        await measure(folder)
    finally:
        shutil.rmtree(folder)


async def main(base: Path) -> None:
    print_heading()
    await measure_bus()
    await in_folder(base, "bell", measure_bell)
    await in_folder(base, "latency", measure_latency)
    await in_folder(base, "bursts", measure_burst)
    await in_folder(base, "start", measure_start)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        asyncio.run(main(Path(directory)))
