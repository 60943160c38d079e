"""Events, changes by other programs, and watching a large tree (goals 13 to 15).

Usage: python -m benchmarks.bench_events [FOLDERS]
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import tempfile
import time
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

import filetools
from benchmarks import measure
from filetools.events.bus import EventBus
from filetools.events.types import Event, FileCreated
from filetools.models.records import SYSTEM

EVENT: Final = FileCreated(path="src/app.py", actor=SYSTEM, seq=1)
SAVES: Final = 150
PAUSE_SECONDS: Final = 0.03
LIMIT_SECONDS: Final = 60.0
BURST: Final = 10_000
BURSTS: Final = 3
RATE: Final = 15_000
MEMORY: Final = Path("/dev/shm")
BURST_WRITER: Final = f"""
import sys, time
began = time.perf_counter()
for number in range({BURST}):
    with open(f"{{sys.argv[1]}}/f{{number}}", "wb") as file:
        file.write(b"content")
print(time.perf_counter() - began)
"""


async def bus() -> None:
    """Goal 13 for the bus alone."""
    one, costs, times = EventBus(), [], 20_000
    one.subscribe("file:*", lambda event: None)
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(times):
            one.publish(EVENT)
        costs.append((time.perf_counter() - began) / times)
    await one.aclose()
    measure.seconds(13, "publish to one listener, alone", 2e-6, costs)
    many, calls, drained = EventBus(), 0, []

    async def listener(event: Event) -> None:
        nonlocal calls
        calls += 1

    for _ in range(100):
        many.subscribe("*", listener)
    await asyncio.sleep(0)
    for number in range(1, 301):
        began = time.perf_counter()
        many.publish(EVENT)
        while calls < 100 * number:
            await asyncio.sleep(0)
        drained.append(time.perf_counter() - began)
    await many.aclose()
    measure.seconds(13, "publish to 100 async listeners, alone", 0.8e-3, drained)


async def hung_listener() -> None:
    """Goal 13: write in two workspaces in turns; a listener of one of them never returns."""

    async def hung(event: object) -> None:
        await asyncio.Event().wait()

    async def idle(event: object) -> None:
        return

    numbers, contenders = itertools.count(), dict[str, measure.Act]()

    async def write(files: filetools.FileToolsFacade) -> None:
        await files.write_file("file.txt", measure.text_of(1024, next(numbers)))

    async with AsyncExitStack() as stack:
        for name, listener in (("idle", idle), ("hung", hung)):
            files, _ = await stack.enter_async_context(measure.workspace())
            files.on("file:*", listener)
            contenders[name] = partial(write, files)
        times = await measure.interleaved(contenders, rounds=7, calls=20)
    measure.ratio(13, "write beside a hung listener / an idle one", 1.1, times["hung"], times["idle"])


async def until_watched(root: Path, files: filetools.FileToolsFacade) -> None:
    """Return when the first change by another program has been reported."""
    heard = asyncio.Event()
    subscription = files.on("file:*", lambda event: heard.set())
    for number in itertools.count():
        (root / "probe").write_text(str(number))
        with suppress(TimeoutError):
            await asyncio.wait_for(heard.wait(), 0.01)
            break
    subscription.unsubscribe()


async def saves() -> None:
    """Goal 14: from the rename by another program to a listener."""
    waits = []
    async with measure.workspace(has_mirror=False) as (files, folder):
        root = folder / "root"
        await files.write_file("saved.txt", "ours\n")
        await until_watched(root, files)
        await measure.settle()
        for number in range(SAVES):
            heard: asyncio.Future[float] = asyncio.get_running_loop().create_future()

            def note(event: object, heard: asyncio.Future[float] = heard) -> None:
                if not heard.done():
                    heard.set_result(time.perf_counter())

            subscription = files.on("file:modified", note)  # not the events of the temporary file
            began = time.perf_counter()
            (root / "saved.txt~").write_text(f"{number}\n")
            os.replace(root / "saved.txt~", root / "saved.txt")
            async with asyncio.timeout(LIMIT_SECONDS):
                waits.append(await heard - began)
            subscription.unsubscribe()
            await asyncio.sleep(PAUSE_SECONDS)
        assert (await files.changes(paths=["saved.txt"])).records[-1].size == len(f"{SAVES - 1}\n")
    measure.seconds(14, "foreign save until heard", 0.001, waits)
    measure.figure(14, "the same, 99th percentile", 0.005, measure.percentile(waits, 0.99), "s")


async def burst(root: Path) -> tuple[int, float, float]:
    """Return how many new files were not reported, and the rates at which they were reported and written."""
    async with filetools.open(root, durability="relaxed") as files:
        await until_watched(root, files)
        await measure.settle()
        wanted, began, ended = {f"f{number}" for number in range(BURST)}, 0.0, asyncio.Event()

        def note(event: Any) -> None:
            nonlocal began
            began = began or time.perf_counter()
            wanted.discard(event.path)
            if not wanted:
                ended.set()

        files.on("file:*", note)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", BURST_WRITER, str(root), stdout=asyncio.subprocess.PIPE
        )
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), LIMIT_SECONDS)
        took = time.perf_counter() - began
        offered = BURST / float((await process.communicate())[0])
    return len(wanted), (BURST - len(wanted)) / took, offered


async def bursts() -> None:
    """Goal 14, in memory where possible: a disk may not take so many files a second."""
    place, found = MEMORY if os.access(MEMORY, os.W_OK) else Path(tempfile.gettempdir()), []
    for _ in range(BURSTS):
        with tempfile.TemporaryDirectory(prefix="bench-events-", dir=place) as folder:
            found.append(await burst(Path(folder)))
    missed, rates, offers = zip(*found, strict=True)
    rate = measure.percentile(rates, 0.5)
    measure.figure(14, "files of a burst not reported", 0, sum(missed))
    is_known = max(rate, measure.percentile(offers, 0.5)) >= RATE
    measure.figure(14, "files of a burst reported", RATE, rate, "1/s", at_least=True, is_known=is_known)


class _Ignores(FileSystemEventHandler):
    def on_any_event(self, event: FileSystemEvent) -> None:
        return


def start_watchdog(root: Path) -> float:
    observer = Observer()
    began = time.perf_counter()
    observer.schedule(_Ignores(), str(root), recursive=True)
    observer.start()
    took = time.perf_counter() - began
    observer.stop()
    observer.join()
    return took


async def start_ours(root: Path) -> float:
    """Return the seconds from opening until a change by another program is reported."""
    began = time.perf_counter()
    async with filetools.open(root) as files:
        async with asyncio.timeout(LIMIT_SECONDS):
            await until_watched(root, files)
        return time.perf_counter() - began


async def first_call(root: Path, *, watch: bool) -> float:
    async with filetools.open(root, settings={"watch": watch}) as files:
        await asyncio.sleep(0)  # the background has begun
        began = time.perf_counter()
        await files.read_file("file.txt")
        return time.perf_counter() - began


async def starts(folders: int) -> None:
    """Goal 15."""
    with tempfile.TemporaryDirectory(prefix="bench-events-") as name:
        root, ours, theirs = Path(name), list[list[float]](), list[list[float]]()
        calls: dict[bool, list[list[float]]] = {True: [], False: []}
        (root / "file.txt").write_text("text")
        for number in range(folders):
            (root / f"{number // 100}" / f"{number}").mkdir(parents=True)
        for _ in range(5):
            ours.append([await start_ours(root)])
            theirs.append([start_watchdog(root)])
            for watch, found in calls.items():
                found.append([await first_call(root, watch=watch) for _ in range(3)])
    told = f"{folders:,} folders: "
    measure.ratio(15, f"{told}watched / watchdog", 1.3, measure.Times(ours), measure.Times(theirs))
    with_watch, without = (measure.Times(found) for found in calls.values())
    measure.ratio(15, f"{told}first call / without watching", 1.2, with_watch, without)


async def main(folders: int) -> None:
    await bus()
    await hung_listener()
    await saves()
    await bursts()
    await starts(folders)


if __name__ == "__main__":
    asyncio.run(main(measure.dose(10_000)))
