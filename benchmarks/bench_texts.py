"""Long texts: a file of 1 GB, descriptors over 10 MB, and stalls of the event loop (goals 16, 17, 19).

Usage: python -m benchmarks.bench_texts [BYTES]    (of the large file, which needs as much free space)
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import subprocess
import sys
import tempfile
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks import measure
from filetools.descriptors.descriptors import Descriptors

FILE_BYTES: Final = 1_000_000_000
FILE: Final = "large.txt"
LINE: Final = b"%09d the quick brown fox jumps over the lazy dog, and it does so again\n"
LINE_BYTES: Final = len(LINE % 0)
LINES: Final = 100
STEP: Final = 262_144
MEMORY: Final = "--memory"
TEXT_BYTES: Final = 10_000_000
"""Below `max_read_bytes`, so that it is read whole."""
TEXT: Final = ("x" * 79 + "\n") * (TEXT_BYTES // 80)
ROUNDS: Final = 3


def write_file(path: Path, size: int) -> None:
    lines = size // LINE_BYTES
    with path.open("wb") as file:
        for first in range(0, lines, 10_000):
            file.write(b"".join(LINE % number for number in range(first, min(lines, first + 10_000))))


def raw_skip(path: Path, stop: int) -> int:
    """Count the line ends up to a place."""
    descriptor, buffer = os.open(path, os.O_RDONLY), bytearray(STEP)
    ends, position = 0, 0
    while position < stop:
        read = os.preadv(descriptor, [buffer], position)
        ends += buffer.count(b"\n", 0, read)
        position += read
    os.close(descriptor)
    return ends


async def window(files: filetools.FileToolsFacade, line: int) -> str:
    """Return a hundred lines, from a line counted from 1 or from the end."""
    return (await files.read_file(FILE, offset=line, limit=LINES)).content


async def windows(root: Path) -> None:
    """Goal 16. The file is not watched: the row measures reading, not the recording of its new time."""
    path = root / FILE
    middle = path.stat().st_size // LINE_BYTES // 2
    async with filetools.open(root, settings={"exclude": [FILE]}) as files:
        await measure.settle()

        async def unknown() -> None:
            os.utime(path)  # what is remembered of its lines becomes invalid
            assert (await window(files, middle)).startswith(f"{middle - 1:09d} ")

        floor = partial(raw_skip, path, path.stat().st_size // 2)
        await measure.against(16, "1 GB: middle lines / raw skip", 1.3, unknown, floor, rounds=5, calls=1)
        await measure.settle()
        await window(files, middle)
        places = {"middle, known file": middle + 1000, "first": 1, "last": -LINES}
        known: dict[str, measure.Act] = {case: partial(window, files, line) for case, line in places.items()}
        for case, taken in (await measure.interleaved(known, rounds=7, calls=15)).items():
            measure.seconds(16, "1 GB: 100 lines", 0.005, taken, case=case)


async def window_memory(root: Path) -> None:
    """Goal 16, in a process of its own: memory freed before would hide a peak."""
    async with filetools.open(root, settings={"exclude": [FILE]}) as files:
        await measure.settle()
        idle = measure.forget_peak()
        for line in (1, -LINES, (root / FILE).stat().st_size // LINE_BYTES // 2):
            await window(files, line)
        measure.figure(16, "1 GB: memory", 16 * 2**20, (measure.memory_kib("VmHWM") - idle) * 1024, "bytes")


async def kept_descriptors() -> None:
    """Goal 17. The journal keeps descriptors over a restart."""
    text, ours_at, raw_at = TEXT, count(), count()
    async with measure.workspace(durability="commit") as (files, folder):
        made = files.descriptors()

        async def ours() -> object:
            # No two are alike, because the same bytes are kept once.
            return await made.run(partial(Descriptors.create, text=f"{next(ours_at)}\n{text}"))

        def floor() -> None:
            marked = f"{next(raw_at)}\n{text}"
            hashlib.sha256(marked.encode()).digest()
            measure.raw_write(f"{folder}/raw", marked, durable=True)

        case = "kept, with a durable write"
        await measure.against(17, "descriptor / SHA-256", 1.5, ours, floor, rounds=ROUNDS, calls=2, case=case)
        places = cycle(random.Random(2).sample(range(1, 2000), 50))
        read = lambda: made.run(partial(Descriptors.read, fd="fd:1", start=next(places)))  # noqa: E731
        taken = await measure.interleaved({"page": read}, rounds=ROUNDS, calls=50)
        measure.seconds(17, "page of a descriptor", 100e-6, taken["page"], case="kept")


async def stalls_of_texts() -> None:
    """Goal 19 for 10 MB."""
    numbers = count()
    async with measure.workspace(durability="commit") as (files, _):

        async def write() -> None:
            await files.write_file(FILE, measure.text_of(TEXT_BYTES, next(numbers)))

        async def edit() -> None:
            number = next(numbers)
            await files.edit_file(FILE, old=f"{number - 1:015d}\n", new=f"{number:015d}\n")

        await write()
        await measure.settle()
        calls: dict[str, Any] = {
            "read of 10 MB": partial(files.read_file, FILE),
            "100 lines of 10 MB": partial(files.read_file, FILE, offset=-LINES, limit=LINES),
            "write of 10 MB": write,
            "edit of 10 MB": edit,
            "grep in 10 MB": partial(files.grep_files, "needle_in_hay", path=FILE),
        }
        for case, call in calls.items():
            await measure.stalls(case, call, rounds=5)


async def main(size: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-texts-") as folder:
        write_file(Path(folder) / FILE, size)
        await windows(Path(folder))
        if sys.platform == "linux":
            await asyncio.to_thread(
                subprocess.run, [sys.executable, "-m", "benchmarks.bench_texts", MEMORY, folder], check=True
            )
    await kept_descriptors()
    await stalls_of_texts()


if __name__ == "__main__":
    if sys.argv[1:2] == [MEMORY]:
        asyncio.run(window_memory(Path(sys.argv[2])))
    else:
        asyncio.run(main(measure.dose(FILE_BYTES)))
