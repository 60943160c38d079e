"""What grows and what does not: the same calls beside more records, files, versions, open documents and listeners (goal 24).

Workspaces of all sizes are open at once and take turns, so that a ratio compares sizes and not moments. Journals are filled by
their own API, a thousand changes a transaction, the largest in a process of its own meanwhile.

Usage: python -m benchmarks.bench_growth [RECORDS [FILES]]    (1,000,000 and 100,000 by default)
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks.measure import Act, compared, dose, interleaved, print_heading, publish, settle, text_of, timed
from benchmarks.trees import FILE, SHARED_VARIABLE, grow, put, shared_tree
from filetools.content.version import version_of
from filetools.journal.changes import Change
from filetools.journal.sqlite import SqliteJournal
from filetools.models.records import EXTERNAL, Operation
from filetools.paths.workspace_path import WorkspacePath

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
LIMIT: Final = 1.5
"""How much dearer the largest may be before growth is more than noise and deeper indexes."""
BATCH: Final = 1_000
CHANGED: Final = 100
"""Files on which the records of a filled journal are."""
ROUNDS: Final = 24
CALLS: Final = 4
"""Short turns: what disturbs the machine for some milliseconds meets both sizes."""
FILL: Final = "--fill"
KEPT: Final = {"retention_records": 10**9}
"""Or the first round of the background would remove what is over a million."""

Calls = dict[str, Act]
_numbers = count()


def fill_journal(root: Path, records: int) -> None:
    """Record what another program did: half are changes of files that are there, half make a file and take it away.

    In the end the journal says of every path what is on the disk, so that a look at the tree finds nothing new.
    """
    paths = [f"changed/{number}.txt" for number in range(CHANGED)]
    journal = SqliteJournal(root / ".filetools", durability="relaxed")
    for start in range(0, records, BATCH):
        journal.commit([_settled(number, paths) for number in range(start, start + BATCH)], EXTERNAL)
        if start % (20 * BATCH) == 0:
            journal.checkpoint()
    assert journal.position() >= records
    journal.close()
    (root / "changed").mkdir()
    last = {
        path: number for number in range(max(0, records - 4 * CHANGED), records) if (path := _changed(number, paths))
    }
    for path, number in last.items():
        put(f"{root}/{path}", b"content %d" % number)


def _changed(number: int, paths: Sequence[str]) -> str | None:
    return paths[(number // 4 * 2 + number % 2) % CHANGED] if number % 4 > 1 else None


def _settled(number: int, paths: Sequence[str]) -> Change:
    path, content, operation = _changed(number, paths), b"content %d" % number, Operation.MODIFY
    if path is None:
        path = f"once/{number // 4}.txt"
        operation = Operation.DELETE if number % 4 else Operation.CREATE
    is_there = operation is not Operation.DELETE
    return Change(
        operation=operation, path=WorkspacePath(path), key=path, after=version_of(content) if is_there else None,
        content=content if is_there else None, size=len(content) if is_there else None, mode=0o644 if is_there else None,
        applied=True, external=True,
    )  # fmt: skip


async def make(root: Path, files: int, records: int) -> None:
    """Make a root with so many files, unless it is there, and a journal with so many records."""
    if not root.exists():
        grow(root, files)
    async with filetools.open(root, settings={"watch": False, **KEPT}):
        pass  # makes the state directory
    fill_journal(root, records)


@asynccontextmanager
async def opened(roots: dict[int, Path]) -> AsyncIterator[dict[int, filetools.FileToolsFacade]]:
    """Open them all, and wait until their background has come to rest."""
    async with AsyncExitStack() as stack:
        found = {
            size: await stack.enter_async_context(filetools.open(root, durability="relaxed", settings=KEPT))
            for size, root in roots.items()
        }
        await settle()
        yield found


def write_of(files: filetools.FileToolsFacade, path: str = FILE) -> Act:
    async def write() -> None:
        await files.write_file(path, text_of(1024, next(_numbers)))

    return write


def calls_of(files: filetools.FileToolsFacade) -> Calls:
    """Return calls that concern one file or one page."""

    async def first_page() -> None:
        assert len((await files.list_files("", recursive=True, limit=100)).entries) == 100

    return {
        "write 1 KB, relaxed": write_of(files),
        "read 1 KB": partial(files.read_file, FILE),
        "facts of a path": partial(files.file_info, FILE),
        "versions of a path": partial(files.versions, FILE, limit=5),
        "newest changes": partial(files.latest_changes, 20),
        "first page of 100": first_page,
    }


async def publish_growth(what: str, calls: dict[int, Calls]) -> None:
    """Publish a line of a plot for each call: the cost at each size, and the largest against the smallest."""
    smallest, largest = min(calls), max(calls)
    for name in calls[smallest]:
        times = await interleaved({str(size): calls[size][name] for size in calls}, rounds=ROUNDS, calls=CALLS)
        series = f"growth by {what}: {name}"
        for size in sorted(calls)[:-1]:
            publish(timed("-", f"{name}, {size:,} {what}", times[str(size)], series=series, at=size))
        publish(
            compared("24", f"{name}, {largest:,} {what} / {smallest:,}", times[str(largest)], times[str(smallest)],
                     limit=LIMIT, floor_name=f"{smallest:,} {what}", series=series, at=largest)
        )  # fmt: skip


def prepared_root(records: int, shared: Path) -> Path:
    """Return where in a folder for all `run.py` has a root with so many records made beforehand."""
    return shared / f"records{records}"


def filled(root: Path, records: int) -> list[str]:
    """Return the command that makes a small root with so many records."""
    return [sys.executable, "-m", "benchmarks.bench_growth", FILL, str(root), str(records)]


async def by_records_and_files(folder: Path, most_records: int, most_files: int) -> None:
    records = {size: folder / f"records{size}" for size in SIZES if size <= most_records}
    files = {size: folder / f"files{size}" for size in SIZES if size <= most_files}
    largest, shared = max(records), os.environ.get(SHARED_VARIABLE)
    if shared:
        files[max(files)] = shared_tree(Path(shared), max(files))
    prepared = prepared_root(largest, Path(shared or folder))
    filling = None if prepared.exists() else subprocess.Popen(filled(records[largest], largest))
    for size in sorted(records)[:-1]:
        await make(records[size], SIZES[0], size)
    for size, root in files.items():
        await make(root, size, SIZES[0])
    if filling is None:
        records[largest] = prepared
    elif filling.wait():
        raise SystemExit("the largest journal was not filled")
    for what, roots in (("records", records), ("files", files)):
        async with opened(roots) as found:
            await publish_growth(what, {size: calls_of(each) for size, each in found.items()})


async def by(what: str, folder: Path, sizes: Sequence[int], prepare: Callable[..., Any]) -> None:
    """Prepare small workspaces, one a size, and measure the calls that `prepare` returns."""
    roots = {size: folder / f"{what}{size}".replace(" ", "-") for size in sizes}
    for root in roots.values():
        grow(root, SIZES[0])
    async with opened(roots) as found:
        calls = {size: await prepare(files, size) for size, files in found.items()}
        await settle()
        await publish_growth(what, calls)


async def with_versions(files: filetools.FileToolsFacade, versions: int) -> Calls:
    """Write a file so often."""
    write = write_of(files, "versions.txt")
    for _ in range(versions):
        await write()
    return {
        "write 1 KB, relaxed": write,
        "read 1 KB": partial(files.read_file, "versions.txt"),
        "versions of a path": partial(files.versions, "versions.txt", limit=5),
    }


async def with_documents(files: filetools.FileToolsFacade, documents: int) -> Calls:
    """Open so many files in an editor; measured are calls on one of them, and on a file that is not open."""
    editor = files.for_actor(filetools.Actor(kind="editor", id="person", session="window"))
    opened = []
    for number in range(documents):
        await files.write_file(f"open/{number}.txt", text_of(1024, next(_numbers)))
        opened.append(await editor.buffers.open(f"open/{number}.txt"))
    handle, versions = opened[0].handle, count(opened[0].buffer_version)
    edit = filetools.TextEdit(start=0, end=0, text="x")

    async def type_a_letter() -> None:
        await editor.buffers.change(handle, buffer_version=next(versions), edits=[edit])

    return {
        "write 1 KB of another file, relaxed": write_of(files),
        "read 1 KB of another file": partial(files.read_file, FILE),
        "a letter typed in an open document": type_a_letter,
        "read 1 KB with unsaved text": partial(files.read_file, "open/0.txt"),
    }


async def with_listeners(files: filetools.FileToolsFacade, listeners: int) -> Calls:
    """Let so many listen to what does not happen."""
    for _ in range(listeners):
        files.on("file:deleted", lambda event: None)
    return {"write 1 KB, relaxed": write_of(files), "read 1 KB": partial(files.read_file, FILE)}


async def main(most_records: int, most_files: int) -> None:
    """Measure every call at every size."""
    print_heading()
    with tempfile.TemporaryDirectory(prefix="bench-growth-") as name:
        folder = Path(name)
        await by("listeners not concerned", folder, (1, 1_000), with_listeners)
        await by("open documents", folder, (1, 1_000), with_documents)
        await by("versions of a path", folder, (10, 1_000), with_versions)
        await by_records_and_files(folder, most_records, most_files)


if __name__ == "__main__":
    if sys.argv[1:2] == [FILL]:
        asyncio.run(make(Path(sys.argv[2]), SIZES[0], int(sys.argv[3])))
    else:
        asyncio.run(main(dose(SIZES[-1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000))
