"""Goal 16: windows of a 1 GB text file through the facade, against a raw skip of the same run, and their memory.

Usage: python -m benchmarks.bench_windows [BYTES]    (so much free space is needed; the file is removed)
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

import filetools
from benchmarks.measure import Row, as_act, compared, dose, interleaved, print_heading, publish, settle, timed

FILE_BYTES: Final = 1_000_000_000
FILE: Final = "large.txt"
LINE: Final = b"%09d the quick brown fox jumps over the lazy dog, and it does so again\n"
LINE_BYTES: Final = len(LINE % 0)
LINES: Final = 100
STEPS: Final = (65_536, 262_144, 1_048_576)
MEMORY: Final = "--memory"
LIMIT_SECONDS: Final = 0.005
MOST_MEMORY_BYTES: Final = 16 * 1024 * 1024


def write_file(path: Path, size: int) -> None:
    lines = size // LINE_BYTES
    with path.open("wb") as file:
        for first in range(0, lines, 10_000):
            file.write(b"".join(LINE % number for number in range(first, min(lines, first + 10_000))))


def raw_skip(path: Path, stop: int, step: int) -> int:
    """Count the line ends up to a place, a step at a time."""
    descriptor, buffer = os.open(path, os.O_RDONLY), bytearray(step)
    ends, position = 0, 0
    while position < stop:
        count = os.preadv(descriptor, [buffer], position)
        ends += buffer.count(b"\n", 0, count)
        position += count
    os.close(descriptor)
    return ends


async def window(files: filetools.FileToolsFacade, line: int) -> str:
    """Return a hundred lines, from a line counted from 1, or from the end."""
    return (await files.read_file(FILE, offset=line, limit=LINES)).content


async def measure_windows(root: Path) -> None:
    path = root / FILE
    middle = path.stat().st_size // LINE_BYTES // 2
    # Left out of watching: what is measured is reading, and not how a change of its time is recorded.
    async with filetools.open(root, settings={"exclude": [FILE]}) as files:
        await settle()

        async def unknown() -> None:
            os.utime(path)  # what is remembered of its lines does not hold any more
            assert (await window(files, middle)).startswith(f"{middle - 1:09d} ")

        skips = {
            str(step): as_act(partial(raw_skip, path, path.stat().st_size // 2, step)) for step in STEPS
        }  # fmt: skip
        times = await interleaved({**skips, "ours": unknown}, rounds=5, calls=1)
        floor = min((times[name] for name in skips), key=lambda each: each.median)
        publish(
            compared("16", "1 GB: middle 100 lines, unknown file / raw skip", times["ours"], floor, limit=1.3,
                     floor_name="raw skip")
        )  # fmt: skip
        await settle()
        await window(files, middle)
        places = {"middle 100 lines, known file": middle + 1000, "first 100 lines": 1, "last 100 lines": -LINES}
        contenders = {name: partial(window, files, line) for name, line in places.items()}
        for name, taken in (await interleaved(contenders, rounds=7, calls=15)).items():
            publish(timed("16", f"1 GB: {name}", taken, limit=LIMIT_SECONDS))


async def measure_memory(root: Path) -> None:
    async with filetools.open(root, settings={"exclude": [FILE]}) as files:
        await settle()
        idle = forget_peak()
        for line in (1, -LINES, (root / FILE).stat().st_size // LINE_BYTES // 2):
            await window(files, line)
        peak = (memory_kib("VmHWM") - idle) * 1024
    name = "1 GB: peak memory above idle for first, last and middle 100 lines"
    publish(Row(goal="16", name=name, value=peak, unit="bytes", limit=MOST_MEMORY_BYTES))


def forget_peak() -> int:
    """Return the resident KiB now, from where the kernel counts a new peak (Source: proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory_kib("VmRSS")


def memory_kib(field: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(field)).split()[1])


def main() -> None:
    if sys.argv[1:2] == [MEMORY]:
        asyncio.run(measure_memory(Path(sys.argv[2])))
        return
    print_heading()
    with tempfile.TemporaryDirectory(prefix="bench-windows-") as folder:
        write_file(Path(folder) / FILE, dose(FILE_BYTES))
        asyncio.run(measure_windows(Path(folder)))
        if sys.platform == "linux":
            # A process of its own: what this one has allocated and freed before would hide a peak.
            subprocess.run([sys.executable, "-m", "benchmarks.bench_windows", MEMORY, folder], check=True)


if __name__ == "__main__":
    main()
