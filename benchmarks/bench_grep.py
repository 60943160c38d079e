"""Goal 12: searching the contents of 100 MB in 10,000 files through the facade, against ripgrep in the same run.

Twice: as it is where ripgrep is installed, and as it is where there is none. Needs `rg`.

Usage: python -m benchmarks.bench_grep [FILES [BYTES_A_FILE]]
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks.measure import Act, as_act, compared, dose, interleaved, print_heading, publish, settle

FOLDERS: Final = 100
ROUNDS: Final = 3
WORDS: Final = (
    "import", "return", "value", "handler", "self", "config", "error", "result", "items", "async", "def", "None",
)  # fmt: skip
CASES: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("rare text", {"pattern": "needle_in_hay", "literal": True}),
    ("rare expression", {"pattern": r"needle_\w+ = \d+"}),
    ("rare, any case", {"pattern": "NEEDLE_IN_HAY", "ignore_case": True}),
    ("a sign to go by", {"pattern": r"[0-9]{4}-[0-9]{2}"}),
    ("no text to go by", {"pattern": r"[0-9]{4}\W[0-9]{2}\W"}),
    ("in every file, first page", {"pattern": "handler"}),
    ("in every file, all counted", {"pattern": "handler", "output_mode": "count", "limit": 1000}),
)


def grow(root: Path, files: int, size: int) -> None:
    """Make files of words in lines, one in a hundred with a line that is looked for."""
    chance = random.Random(12)
    lines = [" ".join(chance.choices(WORDS, k=9)) for _ in range(997)]
    for number in range(files):
        folder = root / f"dir{number % FOLDERS:02}"
        folder.mkdir(exist_ok=True)
        start = chance.randrange(len(lines))
        text = "\n".join((lines[start:] + lines) * (1 + size // (len(lines) * 50)))[:size]
        mark = f"\nneedle_in_hay = {number} # 2024-05-06\n" if number % 100 == 0 else "\n"
        (folder / f"file{number:05}.py").write_text(text + mark)


@contextmanager
def no_programs() -> Iterator[None]:
    """Have no program be found."""
    path = os.environ["PATH"]
    os.environ["PATH"] = os.devnull
    try:
        yield
    finally:
        os.environ["PATH"] = path


async def whole(files: filetools.FileToolsFacade, given: dict[str, Any]) -> int:
    """Return how many matches all pages have that are counted, or that the first one knows of."""
    cursor, total = None, 0
    while True:
        page = await files.grep_files(**given, cursor=cursor)
        total, cursor = page.total, page.next_cursor
        if cursor is None or given.get("output_mode") != "count":
            return total


async def without_rg(files: filetools.FileToolsFacade, given: dict[str, Any]) -> int:
    with no_programs():
        return await whole(files, given)


async def measure(files: filetools.FileToolsFacade, root: Path, name: str, given: dict[str, Any], program: str) -> None:
    """Publish the rows of one pattern."""
    flags = [*(["-F"] if given.get("literal") else []), *(["-i"] if given.get("ignore_case") else [])]
    flags += ["--count"] if given.get("output_mode") == "count" else ["-n"]
    command = [program, "--no-config", *flags, "-e", given["pattern"], str(root)]
    contenders: dict[str, Act] = {
        "with rg": partial(whole, files, given),
        "without rg": partial(without_rg, files, given),
        "rg": as_act(partial(subprocess.run, command, stdout=subprocess.PIPE, check=False)),
    }
    assert await contenders["with rg"]() == await contenders["without rg"](), "the engines differ"
    times = await interleaved(contenders, rounds=ROUNDS, calls=1)
    for label, limit in (("with rg", 1.4), ("without rg", 3.0)):
        publish(compared("12", f"grep, {name}, {label} / rg", times[label], times["rg"], limit=limit, floor_name="rg"))


async def main(count: int, size: int) -> None:
    """Measure everything."""
    print_heading()
    program = shutil.which("rg")
    if program is None:
        print("     rg is not installed: there is nothing to compare with")
        return
    with tempfile.TemporaryDirectory(prefix="bench-grep-") as folder:
        grow(Path(folder), count, size)
        async with filetools.open(folder) as files:
            await settle()
            for name, given in CASES:
                await measure(files, Path(folder), name, given, program)


if __name__ == "__main__":
    asyncio.run(main(dose(10_000), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000))
