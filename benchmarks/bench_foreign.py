"""A change by another program, from its system call to a listener of the facade: watched, looked at, journaled, told.

Goal 14, with every duty. The burst lies on a file system in memory where there is one: elsewhere no program may be able to
write 15,000 files a second.

Usage: python -m benchmarks.bench_foreign [FILES]
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks.machine import file_system_of
from benchmarks.measure import Row, dose, percentile, print_heading, publish, settle

SAVES: Final = 150
PAUSE_SECONDS: Final = 0.03
LIMIT_SECONDS: Final = 60.0
RATE: Final = 15_000
BURSTS: Final = 3
IN_MEMORY: Final = Path("/dev/shm")
BURST_WRITER: Final = """
import sys, time
root, count = sys.argv[1], int(sys.argv[2])
began = time.perf_counter()
for number in range(count):
    with open(f"{root}/f{number}", "wb") as file:
        file.write(b"content")
print(time.perf_counter() - began)
"""


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
        await settle()
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


async def burst(root: Path, count: int) -> tuple[int, float, float]:
    """Return how many of a burst no listener heard of, and the rates at which it was told and written."""
    async with filetools.open(root, durability="relaxed") as files:
        await until_watched(root, files)
        await settle()
        wanted = {f"f{number}" for number in range(count)}
        began, ended = 0.0, asyncio.Event()

        def note(event: Any) -> None:
            nonlocal began
            began = began or time.perf_counter()
            wanted.discard(event.path)
            if not wanted:
                ended.set()

        files.on("file:*", note)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", BURST_WRITER, str(root), str(count), stdout=asyncio.subprocess.PIPE
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(LIMIT_SECONDS):
                await ended.wait()
        took = time.perf_counter() - began
        offered = count / float((await process.communicate())[0])
    return len(wanted), (count - len(wanted)) / took, offered


async def measure_bursts(place: Path, count: int) -> None:
    found = []
    for _ in range(BURSTS):
        with tempfile.TemporaryDirectory(prefix="bench-foreign-", dir=place) as folder:
            found.append(await burst(Path(folder), count))
    missed, rates, offers = zip(*found, strict=True)
    rate, offered = percentile(rates, 0.5), percentile(offers, 0.5)
    where = file_system_of(place)
    publish(
        Row(goal="14", name=f"{BURSTS} bursts of {count:,} new files on {where}: never told of", value=sum(missed),
            unit="count", limit=0)
    )  # fmt: skip
    publish(
        Row(goal="14", name=f"the same: recorded and told (written at {offered:,.0f}/s)", value=rate, unit="1/s",
            limit=RATE, at_least=True, is_settled=max(rate, offered) >= RATE)
    )  # fmt: skip


async def main(count: int) -> None:
    """Measure both."""
    print_heading()
    with tempfile.TemporaryDirectory(prefix="bench-foreign-") as folder:
        await measure_latency(Path(folder))
    await measure_bursts(IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else Path(tempfile.gettempdir()), count)


if __name__ == "__main__":
    asyncio.run(main(dose(10_000)))
