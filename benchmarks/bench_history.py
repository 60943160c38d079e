"""Reading the logs of coding agents: the feedback of 100 MiB, its memory, and what listing 1,000 log sessions reads.

The floor of the first parses the same lines, one after the other, and keeps nothing. Memory and bytes are counted in processes
of their own, on Linux, after a first call on a small log: what is imported then does not count.

Usage: python -m benchmarks.bench_history [ROUNDS]
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from pydantic_core import from_json

from benchmarks.measure import Row, as_act, compared, dose, interleaved, print_heading, publish
from filetools.sessions.feedback import collect_feedback
from filetools.sessions.log_folders import encode_project_path
from filetools.sessions.log_sessions import list_sessions
from tests.support.agent_logs import PROJECT, LogWriter, write_bulk

MIB: Final = 1024 * 1024
KIB: Final = 1024
TOTAL_BYTES: Final = 100 * MIB
RATIO: Final = 3
MEMORY_BYTES: Final = 64 * MIB
LOGS: Final = 1000
READ_BYTES: Final = 128 * KIB
LATE_READ_BYTES: Final = MIB + 64 * KIB
LOG_BYTES: Final = 256 * KIB
LATE_LOG_BYTES: Final = 2 * MIB
LATE_LOGS: Final = 50
_LINE: Final = b'{"type":"system","content":"' + b"x" * 1000 + b'"}\n'


def ours(logs: Path) -> None:
    """Collect the feedback of all sessions, and hold it."""
    assert list(collect_feedback(PROJECT, logs=logs))


def floor(logs: Path) -> None:
    """Parse every line, and keep nothing."""
    for path in sorted((logs / encode_project_path(PROJECT)).iterdir()):
        with path.open("rb") as file:
            for line in file:
                try:
                    from_json(line)
                except ValueError:
                    continue


async def collected(logs: Path, rounds: int) -> None:
    """Publish the rows of time and memory."""
    written = write_bulk(logs / encode_project_path(PROJECT), TOTAL_BYTES)
    name = f"feedback of {written // MIB} MiB of logs"
    acts = {"ours": as_act(partial(ours, logs)), "floor": as_act(partial(floor, logs))}
    taken = await interleaved(acts, rounds=rounds, calls=1)
    publish(
        compared(
            "22",
            f"{name} / each line parsed",
            taken["ours"],
            taken["floor"],
            limit=RATIO,
            floor_name="each line parsed",
        )
    )
    if sys.platform == "linux":
        peak = in_child("memory", logs)
        publish(Row(goal="22", name=f"{name}, memory above idle", unit="bytes", value=peak, limit=MEMORY_BYTES))


def listed(logs: Path, name: str, count: int, limit: int) -> None:
    """Publish the row of a listing: KiB read of each log."""
    if sys.platform == "linux":
        read = in_child("listing", logs) / count
        publish(Row(goal="-", name=f"{name}, KiB read of each", unit="count", value=read / KIB, limit=limit / KIB))


def write_logs(logs: Path, count: int, size: int, *, late: bool) -> None:
    """Write logs of one size whose first prompt is their first or their last line."""
    writer = LogWriter(logs / encode_project_path(PROJECT))
    filling = _LINE * (size // len(_LINE))
    for _ in range(count):
        log = writer.session()
        if late:
            log.line(filling, end=b"").user("A prompt behind everything else")
        else:
            log.user("A prompt before everything else").line(filling, end=b"")


def in_child(what: str, logs: Path) -> int:
    """Return what a process of its own counts."""
    command = [sys.executable, "-m", "benchmarks.bench_history", what, str(logs)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def memory_of(act: Callable[[], object]) -> int:
    """Return the bytes by which the memory of this process grows at the most during an act."""
    # Writing 5 sets the peak back to what is there now.
    Path("/proc/self/clear_refs").write_text("5")
    before = _of_process("status", "VmRSS:")
    act()
    return (_of_process("status", "VmHWM:") - before) * KIB


def read_by(act: Callable[[], object]) -> int:
    """Return how many bytes this process reads during an act."""
    # The counter's own file counts, too.
    began = _of_process("io", "rchar:")
    between = _of_process("io", "rchar:")
    act()
    return (_of_process("io", "rchar:") - between) - (between - began)


def _of_process(file: str, name: str) -> int:
    return int(
        next(line for line in Path("/proc/self", file).read_text().splitlines() if line.startswith(name)).split()[1]
    )


def child(what: str, logs: Path) -> int:
    """Warm up on one small log, then count what the call takes."""
    with tempfile.TemporaryDirectory(prefix="bench-history-") as folder:
        write_logs(Path(folder), 1, KIB, late=False)
        call = ours if what == "memory" else (lambda place: list_sessions(PROJECT, logs=place))
        call(Path(folder))
        count = memory_of if what == "memory" else read_by
        return count(partial(call, logs))


def main(rounds: int) -> None:
    """Publish all rows."""
    with tempfile.TemporaryDirectory(prefix="bench-history-") as folder:
        root = Path(os.path.realpath(folder))
        asyncio.run(collected(root / "bulk", rounds))
        write_logs(root / "early", LOGS, LOG_BYTES, late=False)
        listed(root / "early", f"listing {LOGS:,} log sessions", LOGS, READ_BYTES)
        write_logs(root / "late", LATE_LOGS, LATE_LOG_BYTES, late=True)
        listed(root / "late", "first prompt behind 1 MiB", LATE_LOGS, LATE_READ_BYTES)


if __name__ == "__main__":
    logging.getLogger("filetools").setLevel(logging.ERROR)  # each hostile line costs a warning
    if len(sys.argv) > 2:
        print(child(sys.argv[1], Path(sys.argv[2])))
    else:
        print_heading()
        main(dose(3))
