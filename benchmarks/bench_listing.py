"""Pages, walks and searches of large trees, beside raw scans and ripgrep (goals 9 to 12, 19); and opening one (21).

Rows beside ripgrep need `rg`.

Usage: python -m benchmarks.bench_listing [FILES]
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks.measure import Act, dose, interleaved, ratio, seconds, settle, stalls
from benchmarks.trees import FILE, put, tree

PAGE: Final = 1000
QUICK_ROUNDS: Final = 15
SLOW_ROUNDS: Final = 3
STALLS: Final = 5
SEARCHED_FILES: Final = 10_000
SEARCHED_BYTES: Final = 10_000
WORDS: Final = (
    "import", "return", "value", "handler", "self", "config", "error", "result", "items", "async", "def", "None",
)  # fmt: skip
PATTERNS: Final[dict[str, dict[str, Any]]] = {
    "rare text": {"pattern": "needle_in_hay", "literal": True},
    "rare expression": {"pattern": r"needle_\w+ = \d+"},
    "rare, any case": {"pattern": "NEEDLE_IN_HAY", "ignore_case": True},
    "expression with a literal": {"pattern": r"[0-9]{4}-[0-9]{2}"},
    "expression without a literal": {"pattern": r"[0-9]{4}\W[0-9]{2}\W"},
    "in every file, first page": {"pattern": "handler"},
    "in every file, all counted": {"pattern": "handler", "output_mode": "count", "limit": 1000},
}


def raw_sorted(root: Path) -> list[str]:
    """Return all paths in order."""
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


def ripgrep(root: Path, *, count: int | None = None) -> None:
    """List all files with rg, or stop after some."""
    command = ["rg", "--no-config", "--files", "--hidden", "--no-require-git", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        if count is None:
            child.stdout.read()
            return
        for _ in range(count):
            child.stdout.readline()
        child.kill()


async def in_pages(
    files: filetools.FileToolsFacade, *, most: int | None = None, **options: Any
) -> tuple[int, str | None]:
    """List page by page; return how many entries there were and the next cursor."""
    cursor, entries = None, 0
    while most is None or entries < most:
        page = await files.list_files("", limit=PAGE, details=False, cursor=cursor, **options)
        entries, cursor = entries + len(page.entries), page.next_cursor
        if cursor is None:
            break
    return entries, cursor


async def walked(files: filetools.FileToolsFacade, **options: Any) -> int:
    return sum([len(rows) async for rows in files.walk_files("", **options)])


async def large_tree(root: Path, count: int) -> None:
    """Goals 9, 11, 19, and the opening of 21."""
    taken = []
    for _ in range(9):
        began = time.perf_counter()
        async with filetools.open(root) as files:
            taken.append(time.perf_counter() - began)
            assert await files.exists(FILE)
    seconds(21, f"open a root of {count:,} files", 0.050, taken)
    has_rg = shutil.which("rg") is not None
    async with filetools.open(root) as files:
        await settle()
        _, cursor = await in_pages(files, most=count * 2 // 5, recursive=True)
        first = partial(files.list_files, "", recursive=True, limit=100)
        next_page, raw = partial(first, cursor=cursor), partial(raw_lazy, root, 100)
        contenders: dict[str, Act] = {"first": first, "next": next_page, "raw": raw}
        contenders |= {"rg": partial(ripgrep, root, count=100)} if has_rg else {}
        times = await interleaved(contenders, rounds=QUICK_ROUNDS, calls=5)
        ratio(9, "first page of 100 / lazy raw walk", 3.0, times["first"], times["raw"])
        ratio(9, "page by cursor / first page", 2.0, times["next"], times["first"])
        if has_rg:
            ratio(9, "first page of 100 / rg --files", 0.3, times["first"], times["rg"])

        expected = len([path for path in raw_sorted(root) if "/.filetools" not in path])
        assert (await in_pages(files, recursive=True))[0] == await walked(files) == expected, "entries lost or repeated"
        ignoring = partial(walked, files, use_gitignore=True)
        contenders = {"walk": partial(walked, files), "ignoring": ignoring, "raw": partial(raw_sorted, root)}
        contenders |= {"rg": partial(ripgrep, root)} if has_rg else {}
        times = await interleaved(contenders, rounds=SLOW_ROUNDS, calls=1)
        ratio(11, "walk / scandir and sort", 1.4, times["walk"], times["raw"])
        if has_rg:
            ratio(11, "walk with .gitignore / rg --files", 1.1, times["ignoring"], times["rg"])

        await stalls("all pages", partial(in_pages, files, recursive=True), rounds=STALLS)
        await stalls("walk", partial(walked, files), rounds=STALLS)
        await stalls("search of names", partial(files.search_files, "*.none"), rounds=STALLS)
        await stalls("grep", partial(files.grep_files, "needle_in_hay"), rounds=STALLS)


async def one_folder(count: int) -> None:
    """Goal 10: a root with nothing but files."""
    with tempfile.TemporaryDirectory(prefix="bench-flat-") as name:
        root = Path(name)
        for number in range(count):
            put(f"{root}/file{number}.txt", b"")
        extra = root / "changed.swp"  # changes the folder, and has a name that is not watched
        async with filetools.open(root) as files:
            await settle()

            async def first_page() -> None:
                extra.unlink() if extra.exists() else extra.touch()
                await files.list_files("", limit=100)

            scan = partial(os.listdir, root)
            first = await interleaved({"ours": first_page, "raw": scan}, rounds=SLOW_ROUNDS, calls=1)
    ratio(10, "first page of a folder / os.listdir", 2.5, first["ours"], first["raw"])


def grow_searched(root: Path) -> None:
    """Make files of words in lines, one in a hundred with the line that is searched for."""
    chance = random.Random(12)
    lines = [" ".join(chance.choices(WORDS, k=9)) for _ in range(997)]
    for number in range(SEARCHED_FILES):
        folder = root / f"dir{number % 100:02}"
        folder.mkdir(exist_ok=True)
        start = chance.randrange(len(lines))
        text = "\n".join((lines[start:] + lines) * (1 + SEARCHED_BYTES // (len(lines) * 50)))[:SEARCHED_BYTES]
        mark = f"\nneedle_in_hay = {number} # 2024-05-06\n" if number % 100 == 0 else "\n"
        (folder / f"file{number:05}.py").write_text(text + mark)


async def matches(files: filetools.FileToolsFacade, given: dict[str, Any]) -> int:
    """Return the total of the first page, or of all pages if matches are counted."""
    cursor = None
    while True:
        page = await files.grep_files(**given, cursor=cursor)
        cursor = page.next_cursor
        if cursor is None or given.get("output_mode") != "count":
            return page.total


async def searches() -> None:
    """Goal 12: 100 MB in 10,000 files."""
    program = shutil.which("rg")
    if program is None:
        print("     rg is not installed: there is nothing to compare with")
        return
    with tempfile.TemporaryDirectory(prefix="bench-grep-") as name:
        grow_searched(Path(name))
        async with filetools.open(name) as files:
            await settle()
            for case, given in PATTERNS.items():
                flags = [*(["-F"] if given.get("literal") else []), *(["-i"] if given.get("ignore_case") else [])]
                flags += ["--count"] if given.get("output_mode") == "count" else ["-n"]
                command = [program, "--no-config", *flags, "-e", given["pattern"], name]
                floor = partial(subprocess.run, command, stdout=subprocess.PIPE, check=False)
                contenders: dict[str, Act] = {"ours": partial(matches, files, given), "rg": floor}
                times = await interleaved(contenders, rounds=SLOW_ROUNDS, calls=1)
                ratio(12, "grep / rg", 2.0, times["ours"], times["rg"], case=case)


async def main(count: int) -> None:
    with tree(count) as root:
        await large_tree(root, count)
    await one_folder(count)
    await searches()


if __name__ == "__main__":
    asyncio.run(main(dose(100_000)))
