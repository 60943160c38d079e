"""Starting: the import, opening a large root, recovering what a dead process left; and how long the loop ever stands still.

Goals 19 and 21. A root of 100,000 files is made for it; whoever opens it scans nothing.

Usage: python -m benchmarks.bench_opening [FILES]
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks.measure import Row, dose, percentile, print_heading, publish, text_of
from filetools.content import version_of
from filetools.journal import Change, SqliteJournal
from filetools.models import Actor, Operation
from filetools.paths import WorkspacePath

FILES_A_FOLDER: Final = 100
PENDING: Final = 100
ROUNDS: Final = 7
TICK_SECONDS: Final = 0.001
LARGE_BYTES: Final = 10 * 1000 * 1000
"""Below `max_read_bytes`, so that it is read whole."""
DYING: Final = Actor(kind="agent", id="dying")

IMPORT = "import time; began = time.perf_counter(); import filetools; print(time.perf_counter() - began)"


def grow(root: Path, files: int) -> None:
    """Make files in folders of a hundred."""
    for folder in range(files // FILES_A_FOLDER):
        inner = root / f"folder{folder:04d}"
        inner.mkdir(parents=True)
        for number in range(FILES_A_FOLDER):
            (inner / f"file{number:02d}.txt").touch()


def seconds_row(goal: str, name: str, seconds: list[float], limit: float) -> None:
    """Publish the median of some times against an absolute limit."""
    middle = statistics.median(seconds)
    publish(
        Row(goal=goal, name=name, value=middle, unit="s", limit=limit, ours=middle, ours_p99=percentile(seconds, 0.99))
    )


def measure_import() -> None:
    """Time the import in processes of their own, compiled files kept as every installation keeps them."""
    command = [sys.executable, "-c", IMPORT]
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, "PYTHONPYCACHEPREFIX": folder}
        taken = [
            float(subprocess.run(command, check=True, capture_output=True, env=environment).stdout)
            for _ in range(ROUNDS + 1)
        ]
    seconds_row("21", "import filetools", taken[1:], 0.150)


async def measure_opening(root: Path, files: int) -> None:
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        async with filetools.open(root) as opened:
            taken.append(time.perf_counter() - began)
            assert await opened.exists("folder0000/file00.txt")
    seconds_row("21", f"open a root of {files:,} files", taken, 0.050)


async def measure_recovery(root: Path) -> None:
    taken = []
    for number in range(3):
        place = root / f"recovery{number}"
        place.mkdir()
        await leave_pending(place)
        began = time.perf_counter()
        async with filetools.open(place) as files:
            # Recovery does not hold up the opening; a call on a path that needs it settles that path first.
            while (await files.status())["pending"]:
                await asyncio.sleep(0.001)
            taken.append(time.perf_counter() - began)
        assert all((place / f"{index}.txt").read_text() == text_of(1024, index + 1) for index in range(PENDING))
    seconds_row("21", f"open and recover {PENDING} pending entries", taken, 1.0)


async def leave_pending(root: Path) -> None:
    """Commit changes and die before any of them is made."""
    async with filetools.open(root) as files:
        for index in range(PENDING):
            await files.write_file(f"{index}.txt", text_of(1024, 0))
    journal = SqliteJournal(root / ".filetools")
    for index in range(PENDING):
        key, content = f"{index}.txt", text_of(1024, index + 1).encode()
        view = journal.view(key)
        assert view.head is not None
        change = Change(
            operation=Operation.MODIFY, path=WorkspacePath(key), key=key, before=view.head.version,
            after=version_of(content), content=content, size=len(content), mode=0o644, view=view,
        )  # fmt: skip
        journal.commit([change], DYING)
    journal.close()


async def worst_stall(work: Callable[[], Awaitable[Any]]) -> float:
    """Return the longest time by which a ticker of the loop was late while work was done."""
    late: list[float] = [0.0]

    async def tick() -> None:
        due = time.perf_counter() + TICK_SECONDS
        while True:
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            now = time.perf_counter()
            late.append(now - due)
            due = now + TICK_SECONDS

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    late.clear()
    await work()
    await asyncio.sleep(0)
    ticker.cancel()
    return max(late, default=0.0)


async def measure_stalls(root: Path, files: int) -> None:
    async with filetools.open(root) as opened:
        text = text_of(LARGE_BYTES, 1)
        await opened.write_file("large.txt", text)

        async def list_all() -> None:
            found, cursor = 0, None
            while True:
                page = await opened.list_files("", recursive=True, limit=1000, cursor=cursor)
                found, cursor = found + len(page.entries), page.next_cursor
                if cursor is None:
                    break
            assert found >= files

        async def read() -> None:
            assert len((await opened.read_file("large.txt")).content) == LARGE_BYTES

        numbers = iter(range(2, 1000))

        async def write() -> None:
            await opened.write_file("large.txt", text_of(LARGE_BYTES, next(numbers)))

        calls: dict[str, Callable[[], Awaitable[None]]] = {
            "nothing (the machine itself)": partial(asyncio.sleep, 0.5),
            f"a listing of {files:,} files in pages of 1,000": list_all,
            "a read of 10 MB": read,
            "a write of 10 MB": write,
        }
        for name, call in calls.items():
            stalls = [await worst_stall(call) for _ in range(5)]
            goal = "-" if "nothing" in name else "19"
            limit = None if goal == "-" else 0.025
            middle = statistics.median(stalls)
            publish(
                Row(goal=goal, name=f"worst stall of the loop in {name}", value=middle, unit="s", limit=limit,
                    ours=middle, ours_p99=max(stalls))
            )  # fmt: skip


async def main(files: int) -> None:
    """Measure everything."""
    print_heading()
    measure_import()
    with tempfile.TemporaryDirectory(prefix="bench-opening-") as folder:
        root = Path(folder) / "tree"
        grow(root, files)
        await measure_opening(root, files)
        await measure_recovery(Path(folder))
        await measure_stalls(root, files)


if __name__ == "__main__":
    asyncio.run(main(dose(100_000)))
