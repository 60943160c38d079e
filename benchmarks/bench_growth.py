"""The same calls beside more records, files, versions, open documents and listeners: the cost must not grow (goal 24).

The smallest and the largest workspace are open at once and take turns. Each call is measured at both sizes.

Usage: python -m benchmarks.bench_growth [RECORDS [FILES]]    (1,000,000 and 100,000 by default)
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import filetools
from benchmarks.measure import Act, dose, interleaved, ratio, settle, text_of
from benchmarks.trees import FILE, KEPT, SMALL_TREE, grow, root_with_records, shared_folder

LIMIT: Final = 1.5
"""The largest size may cost so much more before growth is more than noise and deeper indexes."""
ROUNDS: Final = 24
CALLS: Final = 4
"""Short turns: a disturbance of some milliseconds meets both sizes."""

Calls = dict[str, Act]
Prepare = Callable[[filetools.FileToolsFacade, int], Awaitable[Calls]]
_numbers: Final = count()


async def compare(what: str, roots: dict[int, Path], prepare: Prepare) -> None:
    """Open both workspaces and publish each call's cost in the large one by that in the small one."""
    async with AsyncExitStack() as stack:
        opened = {
            size: await stack.enter_async_context(filetools.open(root, durability="relaxed", settings=KEPT))
            for size, root in roots.items()
        }
        await settle()
        calls = {size: await prepare(files, size) for size, files in opened.items()}
        await settle()
        small, large = calls
        for name in calls[small]:
            contenders = {"small": calls[small][name], "large": calls[large][name]}
            times = await interleaved(contenders, rounds=ROUNDS, calls=CALLS)
            case = f"{large:,} {what}, {name}"
            ratio(24, "a call at the largest size / the smallest", LIMIT, times["large"], times["small"], case=case)


async def write(files: filetools.FileToolsFacade, path: str = FILE) -> None:
    await files.write_file(path, text_of(1024, next(_numbers)))


async def plain_calls(files: filetools.FileToolsFacade, _: int) -> Calls:
    """Return calls that concern one file or one page."""

    async def first_page() -> None:
        assert len((await files.list_files("", recursive=True, limit=100)).entries) == 100

    return {
        "write 1 KB": partial(write, files),
        "read 1 KB": partial(files.read_file, FILE),
        "facts of a path": partial(files.file_info, FILE),
        "versions of a path": partial(files.versions, FILE, limit=5),
        "newest changes": partial(files.latest_changes, 20),
        "first page of 100": first_page,
    }


async def with_versions(files: filetools.FileToolsFacade, versions: int) -> Calls:
    for _ in range(versions):
        await write(files, "versions.txt")
    return {
        "write 1 KB": partial(write, files, "versions.txt"),
        "read 1 KB": partial(files.read_file, "versions.txt"),
        "versions of a path": partial(files.versions, "versions.txt", limit=5),
    }


async def with_documents(files: filetools.FileToolsFacade, documents: int) -> Calls:
    """Open documents in an editor; the calls concern one of them, and a file that is not open."""
    editor = files.for_actor(filetools.Actor(kind="editor", id="person", session="window"))
    opened = []
    for number in range(documents):
        await write(files, f"open/{number}.txt")
        opened.append(await editor.buffers.open(f"open/{number}.txt"))
    handle, versions = opened[0].handle, count(opened[0].buffer_version)
    edit = filetools.TextEdit(start=0, end=0, text="x")

    async def type_a_letter() -> None:
        await editor.buffers.change(handle, buffer_version=next(versions), edits=[edit])

    return {
        "write 1 KB of another file": partial(write, files),
        "read 1 KB of another file": partial(files.read_file, FILE),
        "a letter typed": type_a_letter,
        "read 1 KB with unsaved text": partial(files.read_file, "open/0.txt"),
    }


async def with_listeners(files: filetools.FileToolsFacade, listeners: int) -> Calls:
    for _ in range(listeners):
        files.on("file:deleted", lambda event: None)
    return {"write 1 KB": partial(write, files), "read 1 KB": partial(files.read_file, FILE)}


async def main(most_records: int, most_files: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-growth-") as name:
        folder = Path(name)
        for what, smallest, prepare in (
            ("listeners not concerned", 1, with_listeners),
            ("open documents", 1, with_documents),
            ("versions of a path", 10, with_versions),
        ):
            roots = {size: folder / f"{what}{size}" for size in (smallest, 1_000)}
            for root in roots.values():
                grow(root, SMALL_TREE)
            await compare(what, roots, prepare)
        shared, small = shared_folder() or folder, folder / "small"
        await root_with_records(small, SMALL_TREE, SMALL_TREE)
        many_records = shared / f"records{most_records}"
        if not many_records.exists():
            await root_with_records(many_records, SMALL_TREE, most_records)
        await compare("records", {1_000: small, most_records: many_records}, plain_calls)
        many_files = shared / f"tree{most_files}"
        await root_with_records(many_files, most_files, SMALL_TREE)
        await compare("files", {1_000: small, most_files: many_files}, plain_calls)


if __name__ == "__main__":
    asyncio.run(main(dose(1_000_000), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000))
