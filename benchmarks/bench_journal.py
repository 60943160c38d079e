"""The journal alone: what a look and a commit cost, beside a raw appended line of the same run.

A call is what a write asks of the journal: view, commit, note that it is applied. Its floor is the same bytes appended to
one file and, for "commit", made durable with fdatasync; 16 threads append to the same file. The syncs are counted by
strace in a run of their own, where it is installed: the sync of the commit, and two for each content that is a file.

How it grows measures `bench_growth.py`.

Usage: python -m benchmarks.bench_journal [CALLS_A_ROUND]
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from benchmarks.measure import Row, percentile, print_heading, publish
from filetools.journal.changes import Change
from filetools.journal.sqlite import SqliteJournal
from filetools.models.records import Actor, Operation
from filetools.models.words import Durability

_ROUNDS: Final = 7
_SIZES: Final = {"1 KB": 1024, "64 KB": 65536, "1 MB": 1024 * 1024}
_DURABILITIES: Final[tuple[Durability, ...]] = ("relaxed", "commit")
_ACTOR: Final = Actor(kind="agent", id="bench")
_PATHS: Final = 200
_SYNCS: Final = "--syncs"
_numbers = itertools.count()

Act = Callable[[int], object]


def main() -> None:
    if _SYNCS in sys.argv:
        _run_for_strace(*sys.argv[2:])
        return
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print_heading()
    for durability in _DURABILITIES:
        for label, size in _SIZES.items():
            for threads in (1, 16):
                _compare(durability, label, size, threads, max(8, calls * 2048 // (2048 + size // 16)))


def _compare(durability: Durability, label: str, size: int, threads: int, calls: int) -> None:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        journal = _open(Path(folder), durability)
        raw = os.open(Path(folder) / "raw", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        base = os.urandom(size)
        ours: list[list[float]] = []
        floor: list[list[float]] = []
        for number in range(_ROUNDS + 1):
            contenders = [
                (ours, lambda thread: _call(journal, f"f{thread}-{next(_numbers) % _PATHS}", _content(base))),
                (floor, lambda _: _append(raw, _content(base), durability)),
            ]
            for times, act in contenders if number % 2 else reversed(contenders):
                found = _timed(act, threads, calls)
                if number:
                    times.append(found)
            journal.checkpoint()
        os.close(raw)
        journal.close()
    ratio = statistics.median(
        statistics.median(one) / statistics.median(two) for one, two in zip(ours, floor, strict=True)
    )
    name = f"journal: {durability}, {label}, {threads} thread{'s' if threads > 1 else ''}"
    taken, raw_taken = ([one for found in rounds for one in found] for rounds in (ours, floor))
    publish(
        Row(goal="-", name=f"{name} / append and sync", value=ratio, ours=statistics.median(taken),
            ours_p99=percentile(taken, 0.99), floor=statistics.median(raw_taken), floor_name="an appended line")
    )  # fmt: skip
    syncs = _syncs_a_call(durability, size, threads, calls)
    if syncs is not None:
        publish(Row(goal="-", name=f"{name}: syncs a call", value=syncs, unit="count"))


def _open(folder: Path, durability: Durability) -> SqliteJournal:
    state = folder / "state"
    state.mkdir()
    return SqliteJournal(state, durability=durability)


def _content(base: bytes) -> bytes:
    return b"%d" % next(_numbers) + base[20:]


def _call(journal: SqliteJournal, key: str, content: bytes) -> None:
    view = journal.view(key)
    change = Change(
        operation=Operation.MODIFY,
        path=key,
        key=key,
        before=None if view.head is None else view.head.version,
        after="sha256:" + hashlib.sha256(content).hexdigest(),
        content=content,
        size=len(content),
        mode=0o644,
        view=view,
    )
    (record,) = journal.commit([change], _ACTOR)
    journal.marks.applied([record.number])


def _append(descriptor: int, content: bytes, durability: Durability) -> None:
    hashlib.sha256(content).hexdigest()
    os.write(descriptor, content + b"\n")
    if durability == "commit":
        os.fdatasync(descriptor)


def _timed(act: Act, threads: int, calls: int) -> list[float]:
    """Return the seconds of each call, all threads' together."""

    def work(thread: int) -> list[float]:
        barrier.wait()
        times = []
        for _ in range(max(1, calls // threads)):
            began = time.perf_counter()
            act(thread)
            times.append(time.perf_counter() - began)
        return times

    barrier = threading.Barrier(threads)
    with ThreadPoolExecutor(threads) as pool:
        return [taken for found in pool.map(work, range(threads)) for taken in found]


def _syncs_a_call(durability: str, size: int, threads: int, calls: int) -> float | None:
    if shutil.which("strace") is None:
        return None
    with tempfile.NamedTemporaryFile() as trace:
        command = [
            "strace",
            "-f",
            "-qq",
            "-o",
            trace.name,
            "-e",
            "trace=fsync,fdatasync,write",
            sys.executable,
            "-m",
            "benchmarks.bench_journal",
        ]
        subprocess.run([*command, _SYNCS, durability, str(size), str(threads), str(calls)], check=True, text=True)
        text = Path(trace.name).read_text(encoding="utf-8")
    part = text[text.index('"begin') : text.rindex('"end')]
    return (part.count("fsync(") + part.count("fdatasync(")) / (max(1, calls // threads) * threads)


def _run_for_strace(durability: str, size: str, threads: str, calls: str) -> None:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        journal = _open(Path(folder), "commit" if durability == "commit" else "relaxed")
        base = os.urandom(int(size))
        _call(journal, "warm", base)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.write(sink, b"begin")
        _timed(lambda thread: _call(journal, f"f{thread}", _content(base)), int(threads), int(calls))
        os.write(sink, b"end")
        journal.close()


if __name__ == "__main__":
    main()
