"""Windows of a 1 GB text file against a raw skip, and `inspect` against hashing and decoding alone.

Usage: python -m benchmarks.bench_windows [DIRECTORY]    (1 GB of free space there; the file is removed)
"""

from __future__ import annotations

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.measure import Row, print_heading, publish
from filetools.content import LineIndex, TextFormat, inspect, read_lines

UTF8 = TextFormat(encoding="utf-8", bom=b"")
FILE_BYTES = 1_000_000_000
LINE = b"%09d the quick brown fox jumps over the lazy dog, and it does so again\n"
LINE_BYTES = len(LINE % 0)
MEMORY = "--memory"


class PreadSource:
    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.descriptor).st_size

    def read_at(self, offset: int, count: int) -> bytes:
        return os.pread(self.descriptor, count, offset)


def timed(calls: Sequence[Callable[[], object]], rounds: int) -> list[tuple[float, float]]:
    """Median and 95th percentile of each call in milliseconds, the calls taking turns."""
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, times in zip(calls, found, strict=True):
            start = time.perf_counter_ns()
            call()
            times.append((time.perf_counter_ns() - start) / 1e6)
    return [(statistics.median(times), sorted(times)[round(0.95 * (rounds - 1))]) for times in found]


def write_file(path: Path) -> None:
    lines = FILE_BYTES // LINE_BYTES
    with path.open("wb") as file:
        for first in range(0, lines, 10_000):
            file.write(b"".join(LINE % number for number in range(first, min(lines, first + 10_000))))


def raw_skip(source: PreadSource, stop: int, step: int) -> int:
    buffer = bytearray(step)
    ends, position = 0, 0
    while position < stop:
        count = os.preadv(source.descriptor, [buffer], position)
        ends += buffer.count(b"\n", 0, count)
        position += count
    return ends


def window(source: PreadSource, offset: int, index: LineIndex | None = None) -> str:
    found = read_lines(source, UTF8, offset=offset, limit=100, max_chars=100_000, path="a", index=index)
    return found.content


def show_ratio(goal: str, name: str, times: tuple[float, float], floor: float, limit: float | None = None) -> None:
    """Publish a median against the floor's of the same run, both in milliseconds; for p99 stands the 95th percentile."""
    publish(
        Row(goal=goal, name=name, value=times[0] / floor, limit=limit, ours=times[0] / 1000, ours_p99=times[1] / 1000,
            floor=floor / 1000)
    )  # fmt: skip


def show_time(goal: str, name: str, times: tuple[float, float], limit: float) -> None:
    """Publish a median against a limit in seconds."""
    seconds = times[0] / 1000
    publish(Row(goal=goal, name=name, value=seconds, unit="s", limit=limit, ours=seconds, ours_p99=times[1] / 1000))


def measure_windows(source: PreadSource) -> None:
    middle = source.size // LINE_BYTES // 2
    assert window(source, middle).startswith(f"{middle - 1:09d} ")
    steps = (65_536, 262_144, 1_048_576)
    skips = [partial(raw_skip, source, source.size // 2, step) for step in steps]
    *raw, ours = timed([*skips, partial(window, source, middle)], 7)
    show_ratio("16", "1 GB: middle 100 lines, unknown file / raw skip", ours, min(raw)[0], 1.3)
    index = LineIndex()
    window(source, middle, index)
    known, first, last = timed(
        [partial(window, source, middle + 1000, index), partial(window, source, 1), partial(window, source, -100)], 101
    )
    show_time("16", "1 GB: middle 100 lines, known file", known, 0.005)
    show_time("16", "1 GB: first 100 lines", first, 0.005)
    show_time("16", "1 GB: last 100 lines", last, 0.005)


def hash_and_decode(content: bytes) -> tuple[str, str]:
    return hashlib.sha256(content).hexdigest(), content.decode()


def measure_inspect() -> None:
    line = "    return self._source.read_at(begin, position - begin)\n"
    for label, text in (("ASCII LF", line), ("ASCII CRLF", line.replace("\n", "\r\n")), ("wide LF", "—" + line[3:])):
        for size in (1024, 65_536, 1_048_576):
            content = (text * (size // len(text) + 1)).encode()[: size - size % len(text.encode())]
            calls: list[Callable[[], object]] = [
                partial(hash_and_decode, content),
                partial(inspect, content, name="src/a.py"),
            ]
            floor, ours = timed(calls, max(41, 4_000_000 // size))
            show_ratio("-", f"inspect {size} B {label} / hash and decode", ours, floor[0])


def forget_peak() -> int | None:
    """Resident KiB now, from where the kernel counts a new peak; None where it cannot (Source: proc(5), clear_refs)."""
    if sys.platform != "linux":
        return None
    Path("/proc/self/clear_refs").write_text("5")
    return memory_kib("VmRSS")


def memory_kib(field: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(field)).split()[1])


def measure_memory(path: Path) -> None:
    source = PreadSource(path)
    idle = forget_peak()
    if idle is None:
        print("peak memory above idle: not measured on this system")
        return
    middle = source.size // LINE_BYTES // 2
    for offset in (1, -100, middle):
        window(source, offset)
    peak = (memory_kib("VmHWM") - idle) * 1024
    name = "1 GB: peak memory above idle for first, last and middle 100 lines"
    publish(Row(goal="16", name=name, value=peak, unit="bytes", limit=16 * 1024 * 1024))


def main() -> None:
    if sys.argv[1:2] == [MEMORY]:
        measure_memory(Path(sys.argv[2]))
        return
    print_heading()
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        path = Path(folder) / "large.txt"
        write_file(path)
        source = PreadSource(path)
        measure_windows(source)
        os.close(source.descriptor)
        # A process of its own: what this one has allocated and freed before would hide a peak.
        subprocess.run([sys.executable, "-m", "benchmarks.bench_windows", MEMORY, str(path)], check=True)
    measure_inspect()


if __name__ == "__main__":
    main()
