"""A change by another program, from its system call to a listener of the facade: watched, looked at, journaled, told.

Goal 14, with every duty: `bench_events.py` measures the watcher alone.

Usage: python -m benchmarks.bench_foreign [FILES]
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import filetools
from benchmarks.bench_events import BURST_WRITER
from benchmarks.measure import Row, dose, percentile, print_heading, publish

SAVES: Final = 150
PAUSE_SECONDS: Final = 0.03
LIMIT_SECONDS: Final = 120.0


async def until_watched(root: Path, files: filetools.FileToolsFacade) -> None:
    """Return once a change by another program is told."""
    heard = asyncio.Event()
    subscription = files.on("file:*", lambda event: heard.set())
    number = 0
    while not heard.is_set():
        number += 1
        (root / "probe").write_text(str(number))
        await asyncio.sleep(0.05)
    subscription.unsubscribe()


async def measure_latency(root: Path) -> None:
    async with filetools.open(root, durability="relaxed") as files:
        await files.write_file("saved.txt", "ours\n")
        await until_watched(root, files)
        waits = []
        for number in range(SAVES):
            heard: asyncio.Future[float] = asyncio.get_running_loop().create_future()

            def note(event: object, heard: asyncio.Future[float] = heard) -> None:
                if not heard.done():
                    heard.set_result(time.perf_counter())

            subscription = files.on("file:modified", note)  # the temporary file's own events are not meant
            began = time.perf_counter()
            replace(root, number)
            async with asyncio.timeout(LIMIT_SECONDS):
                waits.append(await heard - began)
            subscription.unsubscribe()
            await asyncio.sleep(PAUSE_SECONDS)
        assert (await files.changes(path="saved.txt")).records[-1].size == len(f"{SAVES - 1}\n")
    for name, value, limit in (
        ("median", percentile(waits, 0.5), 0.001),
        ("p99", percentile(waits, 0.99), 0.005),
    ):
        publish(
            Row(goal="14", name=f"save by another program to listener, {name}", value=value, unit="s", limit=limit,
                ours=percentile(waits, 0.5), ours_p99=percentile(waits, 0.99))
        )  # fmt: skip


def replace(root: Path, number: int) -> None:
    """Save as editors do."""
    beside = root / "saved.txt~"
    beside.write_text(f"{number}\n")
    os.replace(beside, root / "saved.txt")


async def measure_burst(root: Path, count: int) -> None:
    async with filetools.open(root, durability="relaxed") as files:
        await until_watched(root, files)
        seen: set[str] = set()
        files.on("file:*", lambda event: seen.add(event.path))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", BURST_WRITER, str(root), str(count), stdout=asyncio.subprocess.PIPE
        )
        wanted = {f"f{number}" for number in range(count)}
        began = 0.0
        async with asyncio.timeout(LIMIT_SECONDS):
            while not wanted <= seen:
                await asyncio.sleep(0.005)
                began = began or (time.perf_counter() if seen & wanted else 0.0)
        took = time.perf_counter() - began
        offered = count / float((await process.communicate())[0])
    publish(
        Row(goal="14", name=f"burst of {count:,} new files by another program: missed", value=len(wanted - seen),
            unit="count", limit=0)
    )  # fmt: skip
    publish(Row(goal="-", name=f"  … recorded and told (written at {offered:,.0f}/s)", value=count / took, unit="1/s"))


async def main(count: int) -> None:
    """Measure both."""
    print_heading()
    with tempfile.TemporaryDirectory(prefix="bench-foreign-") as folder:
        for name in ("latency", "burst"):
            (Path(folder) / name).mkdir()
        await measure_latency(Path(folder) / "latency")
        await measure_burst(Path(folder) / "burst", count)


if __name__ == "__main__":
    asyncio.run(main(dose(10_000)))
