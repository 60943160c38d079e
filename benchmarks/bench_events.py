"""Goals 13 to 15: what an event costs, how soon a foreign change is noticed, and what watching a large tree costs.

Usage: python benchmarks/bench_events.py [DIRECTORY]

Trees are made in DIRECTORY (by default a temporary one) and removed afterwards. The rate of the burst needs a directory
in which another process can write 15,000 files a second, such as one on tmpfs.
"""

from __future__ import annotations

import asyncio
import os
import platform
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


def row(goal: str, what: str, value: str, limit: str, is_met: bool | None) -> None:
    """Print one row; None says that this run could not tell."""
    verdict = "cannot tell" if is_met is None else "met" if is_met else "NOT MET"
    print(f"{goal:>4}  {what:<58} {value:<40} goal {limit:<22} {verdict}")


def shown(seconds: list[float], unit: float = 1e-6, name: str = "us") -> tuple[float, float, str]:
    ordered = sorted(seconds)
    middle, p95 = statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return middle, p95, f"median {middle / unit:.2f} {name}, p95 {p95 / unit:.2f} {name}"


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
    middle, _, text = shown(publish_cost(bus, 20_000))
    row("13", "publish, no listener", text, "nearly nothing", middle < 0.5e-6)
    bus.subscribe("file:*", lambda event: None)
    middle, _, text = shown(publish_cost(bus, 20_000))
    row("13", "publish to one plain listener", text, "<= 2 us", middle <= 2e-6)
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
    middle, _, text = shown(published)
    row("13", "publish to 100 async listeners", text, "<= 0.8 ms", middle <= 0.8e-3)
    middle, _, text = shown(drained)
    row("13", "  ... until all 100 have run", text, "<= 0.8 ms", middle <= 0.8e-3)
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
    ratio = statistics.median(costs["hung"]) / statistics.median(costs["idle"])
    row("13", "publish to a hung async listener / to an idle one", f"ratio {ratio:.2f}", "<= 1.2", ratio <= 1.2)


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
    middle, _, text = shown(costs)
    row("-", "bell: ring", f"{text} (os.utime alone {shown(raw)[0] * 1e6:.2f})", "about 2 us", middle <= 2.5e-6)
    listeners = []
    waits = await each_wakes(lambda _: bell.ring(), lambda note: listeners.append(bell.listen(note)), 100)
    listeners[0].close()
    middle, _, text = shown(waits)
    row("-", "bell: ring to callback", text, "median < 1 ms", middle < 1e-3)


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
    middle, _, text = shown(waits)
    p99 = sorted(waits)[int(len(waits) * 0.99)]
    row("14", "foreign write to listener", f"{text}, p99 {p99 * 1e6:.0f} us", "median 1 ms, p99 5 ms",
        middle <= 1e-3 and p99 <= 5e-3)  # fmt: skip
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
    what = f"burst of {BURST:,} files by another process, {offered:,.0f}/s"
    row("14", what, f"{missed} missed, {len(resyncs)} resyncs", "0 missed", missed == 0)
    is_met = True if rate >= 15_000 else None if offered < 15_000 else False
    row("14", "  ... seen", f"{rate:,.0f}/s", ">= 15,000/s", is_met)


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
    ratio = statistics.median(ours) / statistics.median(theirs)
    own, other = shown(ours, 1e-3, "ms")[2], shown(theirs, 1e-3, "ms")[2]
    row("15", f"{FOLDERS:,} folders watched ({own}; watchdog {other})", f"ratio {ratio:.2f}", "<= 1.3", ratio <= 1.3)
    middle, _, text = shown(returned)
    row("15", "  ... until start() returns", text, "never delays", middle <= 5e-3)


async def in_folder(base: Path, name: str, measure: Callable[[Path], Coroutine[Any, Any, None]]) -> None:
    folder = base / name
    folder.mkdir()
    try:
        await measure(folder)
    finally:
        shutil.rmtree(folder)


async def main(base: Path) -> None:
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()}")
    await measure_bus()
    await in_folder(base, "bell", measure_bell)
    await in_folder(base, "latency", measure_latency)
    await in_folder(base, "bursts", measure_burst)
    await in_folder(base, "start", measure_start)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        asyncio.run(main(Path(directory)))
