"""What reading costs, in counts: system calls, hops, function calls, and what it writes."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import filetools
from filetools import Actor
from filetools.facade.facade import FileToolsFacade
from filetools.facade.worker_pool import WorkerPool
from filetools.journal.database import Database
from filetools.models.files import ReadResult
from tests.support.crashing import QUIET
from tests.support.step_count import steps_of

ALICE: Final = Actor(kind="agent", id="alice", session="s")
READS: Final = 20
CALLS: Final = ["openat2", "fstat", "preadv2", "fstat", "close"]
STEPS: Final = 85
PROGRAM: Final = f"""
import asyncio, os, sys, filetools
async def main():
    async with filetools.open(sys.argv[1], settings={{"watch": False}}) as files:
        await files.read_file("a.txt")
        os.write(1, b"begin")
        for _ in range({READS}):
            await files.read_file("a.txt")
        os.write(1, b"end")
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("strace") is None, reason="strace counts the system calls")
@pytest.mark.parametrize("size", [1, 1024, 65536])
def test_a_hot_read_is_five_system_calls(tmp_path: Path, size: int) -> None:
    root, trace = tmp_path / "root", tmp_path / "trace"
    root.mkdir()
    (root / "a.txt").write_text("x" * size)
    command = ["strace", "-f", "-e", "trace=%file,%desc", "-o", str(trace), sys.executable, "-c", PROGRAM, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "ptrace" in done.stderr.lower():
        pytest.skip("strace is not permitted here")
    assert done.returncode == 0, done.stderr
    calls = calls_of_the_loop(trace.read_text("utf-8"))
    if "openat2" not in calls:
        pytest.skip("this system opens nothing from memory alone")
    # One of them may have met another program's renaming, and have gone to a worker.
    assert calls.count("openat2") >= READS - 1
    assert len(calls) <= len(CALLS) * (READS + 1)
    assert calls[: len(CALLS)] == CALLS


def calls_of_the_loop(trace: str) -> list[str]:
    """Return what the main thread called between the two marks, but for what is about memory."""
    main = trace.split(maxsplit=1)[0]
    marked = trace[trace.index('"begin"') : trace.index('"end"')]
    names = re.findall(rf"^{main} +(?:<\.\.\. )?(\w+)\(", marked, re.MULTILINE)
    plain = ["fstat" if name == "newfstatat" else name for name in names]
    return [name for name in plain if name not in ("mmap", "munmap", "write")]


def read_at_once(files: FileToolsFacade, path: str) -> ReadResult:
    """Read without giving the loop away."""
    for _ in range(5):  # names on the way may be renamed by others at this moment; then a read takes a hop
        reading = files.read_file(path)
        try:
            reading.send(None)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        reading.close()
    pytest.skip("this system opens nothing from memory alone")


async def test_a_hot_read_calls_few_functions(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 1024)
    os.utime(tmp_path / "a.txt", (1, 1))
    async with filetools.open(tmp_path, settings=QUIET) as files:
        read_at_once(files, "a.txt")
        assert min(steps_of(lambda: read_at_once(files, "a.txt")) for _ in range(3)) <= STEPS


@pytest.mark.parametrize(("size", "hops"), [(0, 0), (1024, 0), (255 * 1024, 0), (1024 * 1024, 1)])
async def test_what_is_in_memory_and_small_is_read_without_a_hop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, hops: int
) -> None:
    (tmp_path / "a.txt").write_text("x" * size)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        read_at_once(files, "a.txt") if not hops else await files.read_file("a.txt")
        counted = 0
        reader = asyncio.current_task()
        start = WorkerPool.start

        def count(pool: WorkerPool, work: Callable[[], Any]) -> Any:
            nonlocal counted
            counted += asyncio.current_task() is reader
            return start(pool, work)

        monkeypatch.setattr(WorkerPool, "start", count)
        for _ in range(READS):
            await files.read_file("a.txt")
        # One of them may have met another program's renaming.
        assert counted in (READS * hops, READS * hops + 1)


@pytest.mark.parametrize(("actor", "commits"), [(None, 1), (ALICE, 2)])
async def test_reading_writes_nothing_by_itself_and_syncs_nothing_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, actor: Actor | None, commits: int
) -> None:
    """Texts that only this process can merge on stay in its memory; rows, and the other texts, follow in the background."""
    for number in range(500):
        (tmp_path / f"{number}.txt").write_text(f"{number:063d}\n")
    monkeypatch.setattr("filetools.facade.clerk.SAVE_SEEN_SECONDS", 3600.0)
    async with filetools.open(tmp_path, settings=QUIET | {"durability": "commit"}) as files:
        reader = files if actor is None else files.for_actor(actor)
        synced: list[object] = []
        written: list[bool] = []
        write = Database.write

        def counted(database: Database, work: Callable[[Any], Any], *, durable: bool = True, **options: Any) -> Any:
            if threading.current_thread() is threading.main_thread():  # and not the keeper
                written.append(durable)
            return write(database, work, durable=durable, **options)

        monkeypatch.setattr(os, "fsync", synced.append)
        monkeypatch.setattr(Database, "write", counted)
        for number in range(500):
            await reader.read_file(f"{number}.txt")
        assert (synced, written, kept(files)) == ([], [], 0)
        files._parts.tracker.save()
        assert (synced, written, kept(files)) == ([], [False] * commits, 0 if actor is None else 500)
        monkeypatch.undo()


def kept(files: filetools.FileToolsFacade) -> int:
    """Return how many texts are kept for having been read."""
    (count,) = files._parts.journal._database.row("SELECT count(*) FROM contents WHERE used < 0")  # type: ignore[attr-defined]
    return int(count)
