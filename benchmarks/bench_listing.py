"""Goals 9, 10 and 11: pages of a tree and of one wide folder, through the facade, against raw scans of the same run.

The workspace is open as anybody opens it, watched and with a journal, and has come to rest. ripgrep's rows need `rg`.

Usage: python -m benchmarks.bench_listing [FILES]
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks.measure import Act, as_act, compared, dose, interleaved, print_heading, publish, settle
from benchmarks.trees import put, tree

FIRST: Final[dict[str, Any]] = {"recursive": True, "limit": 100}
PAGE: Final = 1000
PAGES_BEFORE: Final = 0.4
"""Part of the tree that lies before the page which is asked for by a cursor."""
QUICK_ROUNDS: Final = 15
SLOW_ROUNDS: Final = 3


def raw_sorted(root: Path) -> list[str]:
    """Return all paths, in order."""
    found, pending = [], [str(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                found.append(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    found.sort()
    return found


def raw_lazy(root: Path, count: int) -> list[os.stat_result]:
    """Return the facts of the first entries of an ordered walk that reads no folder too early."""

    def read(folder: str) -> Iterator[os.DirEntry[str]]:
        with os.scandir(folder) as entries:
            return iter(sorted(entries, key=lambda e: (not e.is_dir(follow_symlinks=False), e.name.casefold(), e.name)))

    found: list[os.stat_result] = []
    levels = [read(str(root))]
    while levels and len(found) < count:
        entry = next(levels[-1], None)
        if entry is None:
            levels.pop()
            continue
        found.append(entry.stat(follow_symlinks=False))
        if entry.is_dir(follow_symlinks=False):
            levels.append(read(entry.path))
    return found


async def whole(files: filetools.FileToolsFacade, **options: Any) -> int:
    """Ask for all of a tree, page by page; return how many entries there are."""
    cursor, entries = None, 0
    while True:
        page = await files.list_files("", recursive=True, limit=PAGE, details=False, cursor=cursor, **options)
        entries, cursor = entries + len(page.entries), page.next_cursor
        if cursor is None:
            return entries


async def walked(files: filetools.FileToolsFacade, **options: Any) -> int:
    """Walk over all of a tree; return how many entries there are."""
    return sum([len(rows) async for rows in files.walk_files("", **options)])


async def cursor_after(files: filetools.FileToolsFacade, entries: int, **options: Any) -> str | None:
    """Return the cursor of the page after so many entries."""
    cursor = None
    for _ in range(entries // PAGE):
        cursor = (await files.list_files("", limit=PAGE, details=False, cursor=cursor, **options)).next_cursor
    return cursor


def ripgrep(root: Path, *, count: int | None = None) -> None:
    """List all files with rg, or end after some."""
    command = ["rg", "--no-config", "--files", "--hidden", "--no-require-git", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        if count is None:
            child.stdout.read()
            return
        for _ in range(count):
            child.stdout.readline()
        child.kill()


async def pages(files: filetools.FileToolsFacade, root: Path, count: int, *, has_rg: bool) -> None:
    """Goal 9, with the first page at the root."""
    cursor = await cursor_after(files, int(count * PAGES_BEFORE), recursive=True)
    contenders: dict[str, Act] = {
        "first": partial(files.list_files, "", **FIRST),
        "next": partial(files.list_files, "", **FIRST, cursor=cursor),
        "raw": as_act(partial(raw_lazy, root, 100)),
    }
    if has_rg:
        contenders["rg"] = as_act(partial(ripgrep, root, count=100))
    times = await interleaved(contenders, rounds=QUICK_ROUNDS, calls=5)
    rows = [
        ("first page of 100 at the root / lazy raw walk", "first", "raw", 3.0, "lazy raw walk"),
        ("page of 100 behind two fifths by cursor / first page", "next", "first", 2.0, "first page"),
        ("first page of 100 at the root / first 100 of rg --files", "first", "rg", 0.3, "rg --files"),
    ]
    for name, ours, floor, limit, told in rows:
        if floor in times:
            publish(compared("9", f"{count:,} files: {name}", times[ours], times[floor], limit=limit, floor_name=told))


async def all_of_it(files: filetools.FileToolsFacade, root: Path, count: int, *, has_rg: bool) -> None:
    """Goal 11."""
    expected = len([path for path in raw_sorted(root) if "/.filetools" not in path])
    assert await whole(files) == await walked(files) == expected, "a listing lost or repeated entries"
    contenders: dict[str, Act] = {
        "walk": partial(walked, files),
        "ignoring": partial(walked, files, use_gitignore=True),
        "pages": partial(whole, files),
        "raw": as_act(partial(raw_sorted, root)),
    }
    if has_rg:
        contenders["rg"] = as_act(partial(ripgrep, root))
    times = await interleaved(contenders, rounds=SLOW_ROUNDS, calls=1)
    rows = [
        ("whole tree as plain rows / scandir and sort", "walk", "raw", 1.4, "scandir and sort"),
        ("whole tree with .gitignore as plain rows / rg --files", "ignoring", "rg", 1.1, "rg --files"),
        ("whole tree in pages of 1,000, without details / scandir and sort", "pages", "raw", None, "scandir and sort"),
    ]
    for name, ours, floor, limit, told in rows:
        if floor in times:
            publish(compared("11", f"{count:,} files: {name}", times[ours], times[floor], limit=limit, floor_name=told))


async def one_folder(count: int) -> None:
    """Goal 10: a root with nothing but files."""
    with tempfile.TemporaryDirectory(prefix="bench-flat-") as folder:
        root = Path(folder)
        for number in range(count):
            put(f"{root}/file{number}.txt", b"")
        # Its name is one of those that nobody watches, so that nothing but the page is asked for; the folder has changed.
        extra = root / "changed.swp"
        async with filetools.open(root) as files:
            await settle()

            async def first_page() -> None:
                extra.unlink() if extra.exists() else extra.touch()
                await files.list_files("", limit=100)

            contenders: dict[str, Act] = {"first": first_page, "raw": as_act(partial(os.listdir, root))}
            first = await interleaved(contenders, rounds=SLOW_ROUNDS, calls=1)
            os.utime(root, (1_700_000_000, 1_700_000_000))  # a folder that has changed just now may change unseen
            await settle()
            cursor = await cursor_after(files, count // 10)
            contenders["next"] = partial(files.list_files, "", limit=100, cursor=cursor)
            del contenders["first"]
            following = await interleaved(contenders, rounds=QUICK_ROUNDS, calls=3)
    for name, times, ours, limit in (
        ("first page of 100 of a folder that has changed", first, "first", 2.5),
        ("next page of 100 by cursor", following, "next", 0.1),
    ):
        publish(
            compared("10", f"one folder of {count:,} as the root: {name} / os.listdir", times[ours], times["raw"],
                     limit=limit, floor_name="os.listdir")
        )  # fmt: skip


async def main(count: int) -> None:
    """Measure everything."""
    print_heading()
    has_rg = shutil.which("rg") is not None
    if not has_rg:
        print("     rg is not installed: there is nothing to compare some rows with")
    with tree(count) as root:
        async with filetools.open(root) as files:
            await settle()
            await pages(files, root, count, has_rg=has_rg)
            await all_of_it(files, root, count, has_rg=has_rg)
    await one_folder(count)


if __name__ == "__main__":
    asyncio.run(main(dose(100_000)))
