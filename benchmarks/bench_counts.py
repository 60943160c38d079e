"""Counts that no busy machine disturbs: syncs a caller waits for, system calls and Python calls of one call.

Each is the difference of two runs of a program of its own with few and with many calls, so that opening and closing do not
count. Syncs and system calls need strace; background syncs are put off, so that only those are left that callers wait for.

Usage: python -m benchmarks.bench_counts [CALLS]
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any, Final

import filetools
from benchmarks.measure import Row, dose, print_heading, publish, text_of
from filetools.models import Durability

CHILD: Final = "--child"
SIZE: Final = 65536
_SYNCS: Final = ("fsync", "fdatasync", "sync_file_range")
_SUMMARY: Final = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", re.MULTILINE)
_counted = [0]


def count_calls(frame: FrameType, event: str, argument: Any) -> None:
    """Count functions of Python and of C; a hook of the interpreter."""
    if event in ("call", "c_call"):
        _counted[0] += 1


async def work(durability: Durability, writers: int, calls: int) -> None:
    """Write `calls` times 64 KB, spread over some tasks, each at a file of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-counts-") as folder:
        root, mirror = Path(folder) / "root", Path(folder) / "mirror"
        root.mkdir()
        settings = {"sync_after_seconds": 3600.0, "watch": False}
        async with filetools.open(root, mirror=mirror, durability=durability, settings=settings) as files:

            async def write(writer: int, times: int) -> None:
                for number in range(times):
                    await files.write_file(f"{writer}.txt", text_of(SIZE, number))

            await asyncio.gather(*(write(writer, 2) for writer in range(writers)))
            _counted[0] = 0
            await asyncio.gather(*(write(writer, calls // writers) for writer in range(writers)))


def traced(durability: str, writers: int, calls: int) -> dict[str, int]:
    """Return how often each system call was made."""
    with tempfile.NamedTemporaryFile() as trace:
        command = ["strace", "-f", "-c", "-o", trace.name, sys.executable, "-m", "benchmarks.bench_counts", CHILD]
        subprocess.run([*command, durability, str(writers), str(calls)], check=True, stdout=subprocess.DEVNULL)
        found = _SUMMARY.findall(Path(trace.name).read_text(encoding="utf-8"))
    return {name: int(count) for count, name in found if name != "total"}


def difference(durability: str, writers: int, calls: int) -> dict[str, float]:
    """Return how often each system call is made for one write."""
    few, many = traced(durability, writers, calls), traced(durability, writers, 2 * calls)
    return {name: (many[name] - few.get(name, 0)) / calls for name in many}


def publish_traced(calls: int) -> None:
    """Print the rows that need strace."""
    alone = difference("commit", 1, calls)
    syncs = sum(alone.get(name, 0.0) for name in _SYNCS)
    publish(
        Row(goal="5", name="syncs a caller waits for, 64 KB dual, commit, alone", value=syncs, unit="count", limit=1.05)
    )
    together = difference("commit", 16, 4 * calls)
    syncs = sum(together.get(name, 0.0) for name in _SYNCS)
    publish(Row(goal="5", name="  … a call with 16 writers", value=syncs, unit="count", limit=0.25))
    relaxed = difference("relaxed", 1, calls)
    total = sum(count for name, count in relaxed.items() if name != "futex")
    publish(Row(goal="-", name="system calls of a 64 KB dual write, relaxed (no futex)", value=total, unit="count"))
    publish(Row(goal="-", name="  … futex", value=relaxed.get("futex", 0.0), unit="count"))
    ours = total - relaxed.get("pwrite64", 0.0)
    publish(Row(goal="-", name="  … without the pages of the journal", value=ours, unit="count"))


def publish_python_calls(calls: int) -> None:
    """Print how many functions are called in all threads."""
    threading.setprofile(count_calls)
    sys.setprofile(count_calls)
    try:
        asyncio.run(work("relaxed", 1, calls))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    publish(
        Row(goal="-", name="functions called in a 64 KB dual write, relaxed", value=_counted[0] / calls, unit="count")
    )


def main(calls: int) -> None:
    """Count everything."""
    print_heading()
    publish_python_calls(calls)
    if shutil.which("strace") is None:
        print("     strace is not installed: syncs and system calls are not counted")
        return
    publish_traced(calls)


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        asyncio.run(work("commit" if sys.argv[2] == "commit" else "relaxed", int(sys.argv[3]), int(sys.argv[4])))
    else:
        main(dose(100))
