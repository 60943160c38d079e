"""What grows and what does not: the same calls on roots of 1,000 to 100,000 files and journal records (goal 24).

All roots are open at once and take turns, so that a ratio compares sizes and not moments.

Usage: python -m benchmarks.bench_growth [MOST]
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

import filetools
from benchmarks.bench_opening import grow
from benchmarks.measure import Act, Row, compared, dose, interleaved, print_heading, publish, text_of
from filetools.content import version_of
from filetools.journal import Change, SqliteJournal
from filetools.models import EXTERNAL, Operation
from filetools.paths import WorkspacePath

SMALLEST: Final = 1_000
LIMIT: Final = 1.5
"""How much dearer the largest may be before growth is more than noise and deeper indexes."""
BATCH: Final = 1_000
ROUNDS: Final = 9


def fill_journal(root: Path, records: int) -> None:
    """Record changes as another program's, of a thousand paths."""
    state = root / ".filetools"
    journal = SqliteJournal(state, durability="relaxed")
    for start in range(0, records, BATCH):
        journal.commit([_settled(number) for number in range(start, start + BATCH)], EXTERNAL)
        journal.checkpoint()
    assert journal.position() >= records
    journal.close()


def _settled(number: int) -> Change:
    key, content = f"old/{number % 1000}.txt", b"content %d" % number
    return Change(
        operation=Operation.MODIFY, path=WorkspacePath(key), key=key, after=version_of(content), content=content,
        size=len(content), applied=True, external=True,
    )  # fmt: skip


def calls_of(files: filetools.FileToolsFacade) -> dict[str, Act]:
    """Return what is measured, by name."""
    numbers = iter(range(1, 10**9))
    where = "folder0003/file07.txt"

    async def write() -> None:
        await files.write_file(where, text_of(1024, next(numbers)))

    async def first_page() -> None:
        assert len((await files.list_files("", recursive=True, limit=100)).entries) == 100

    return {
        "write 1 KB, relaxed": write,
        "read 1 KB": partial(files.read_file, where),
        "versions of a path": partial(files.versions, where, limit=5),
        "newest changes": partial(files.latest_changes, 20),
        "first page of 100": first_page,
    }


async def main(most: int) -> None:
    """Measure every call at every size."""
    print_heading()
    sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= most]
    with tempfile.TemporaryDirectory(prefix="bench-growth-") as folder:
        async with AsyncExitStack() as stack:
            calls: dict[int, dict[str, Act]] = {}
            for size in sizes:
                root = Path(folder) / str(size)
                grow(root, size)
                async with filetools.open(root, settings={"watch": False}):
                    pass  # makes the state directory
                fill_journal(root, size)
                files = await stack.enter_async_context(filetools.open(root, durability="relaxed"))
                calls[size] = calls_of(files)
            for name in calls[SMALLEST]:
                await measure(name, {str(size): found[name] for size, found in calls.items()})


async def measure(name: str, contenders: dict[str, Act]) -> None:
    """Publish one line of a plot: the cost at each size, and the largest against the smallest."""
    times = await interleaved(contenders, rounds=ROUNDS, calls=30)
    largest = list(contenders)[-1]
    for size, taken in times.items():
        if size != largest:
            publish(
                Row(goal="-", name=f"{name}, {int(size):,} files and records", value=taken.median, unit="s",
                    ours=taken.median, ours_p99=taken.p99, series=f"growth: {name}", at=int(size))
            )  # fmt: skip
    publish(
        compared("24", f"{name}, {int(largest):,} files and records / {SMALLEST:,}", times[largest],
                 times[str(SMALLEST)], limit=LIMIT, floor_name=f"{SMALLEST:,}", series=f"growth: {name}",
                 at=int(largest))
    )  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main(dose(100_000)))
