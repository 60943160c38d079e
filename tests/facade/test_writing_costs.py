"""What writing costs, in counts: hops, callbacks of the loop, transactions, queries, function calls and system calls."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.facade.worker_pool import WorkerPool
from filetools.journal.readers import Readers
from filetools.journal.writer import Writer
from tests.support.crashing import QUIET
from tests.support.step_count import steps_in_all_threads

WRITES: Final = 20
ROUNDS: Final = 3
"""The keeper of a busy machine may come between writes; of several rounds the least is what they cost."""
TRACED_WRITES: Final = 5
TRACED_ROUNDS: Final = 12
"""Tracing is slow: the shorter a round, the likelier one that nothing came between."""
PATH: Final = "one/two/a.txt"
FUNCTION_CALLS: Final = 1600
"""Of a write of 1 KB with a mirror, those of C included."""
SYSTEM_CALLS: Final = 120
"""The same, without waits of threads; a third of them write the pages of the journal."""
PROGRAM: Final = f"""
import asyncio, os, sys, filetools
from pathlib import Path
async def main():
    root = Path(sys.argv[1])
    settings = {{"watch": False, "sync_after_seconds": 3600.0, "durability": "relaxed"}}
    async with filetools.open(root, mirror=root.parent / "mirror", settings=settings) as files:
        await files.write_file("{PATH}", "x" * 1024)
        for round in range({TRACED_ROUNDS}):
            await asyncio.sleep(0.3)
            os.write(1, b"begin")
            for number in range({TRACED_WRITES}):
                await files.write_file("{PATH}", f"{{round * {TRACED_WRITES} + number:1024}}")
            os.write(1, b"end")
asyncio.run(main())
"""


class Counts:
    """Counts what is counted, between `clear` and the look at it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: Counter[str] = Counter()
        for kind, name in ((WorkerPool, "_put"), (Writer, "transact"), (Readers, "row"), (Readers, "rows")):
            monkeypatch.setattr(kind, name, self._counted(f"{kind.__name__}.{name}", getattr(kind, name)))
        monkeypatch.setattr(asyncio.events.Handle, "_run", self._counted("callbacks", asyncio.events.Handle._run))

    def _counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.found[name] += 1
            return method(*arguments, **options)

        return counted


async def write_often(files: FileToolsFacade, times: int = WRITES) -> None:
    for number in range(times):
        await files.write_file(PATH, f"{number} of {times}")


@pytest.mark.parametrize("mirrored", [False, True])
async def test_a_write_is_one_hop_and_one_transaction_and_asks_the_journal_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mirrored: bool
) -> None:
    (tmp_path / "root").mkdir()
    mirror = tmp_path / "mirror" if mirrored else None
    async with filetools.open(tmp_path / "root", mirror=mirror, settings=QUIET) as files:
        await write_often(files)
        await asyncio.sleep(0.3)  # the marks of these writes, and the keeper's first round, are none of their costs
        rounds = [await counted(files, monkeypatch) for _ in range(ROUNDS)]
    least = {name: min(found[name] for found, _ in rounds) for name in rounds[0][0]}
    assert least["WorkerPool._put"] == least["Writer.transact"] == WRITES
    assert least.get("Readers.row", 0) + least.get("Readers.rows", 0) == 0
    # Of each hop the waking of the loop, the end of the work, and the step of the task that waits for it.
    assert least["callbacks"] <= 3 * WRITES + 10
    # One for the marks of the last write.
    assert min(after["Writer.transact"] for _, after in rounds) <= 1
    assert min(after["WorkerPool._put"] for _, after in rounds) <= 2


async def counted(files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], Counter[str]]:
    """Return what some writes cost, and the silence after them."""
    with monkeypatch.context() as patch:
        counts = Counts(patch)
        await write_often(files)
        during = counts.found.copy()
        await asyncio.sleep(0.3)
        return during, counts.found - during


async def test_a_write_follows_the_journal_where_another_process_may_have_moved_on(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, settings=QUIET) as here,
        filetools.open(tmp_path, settings=QUIET) as there,
    ):
        await here.write_file(PATH, "one")
        before = await here.read_file(PATH)
        await there.write_file(PATH, "two")
        with pytest.raises(filetools.FileToolsError) as refused:
            await here.write_file(PATH, "three", expected_version=before.version)
        assert refused.value.code == "VERSION_MISMATCH"
        assert (await here.write_file(PATH, "two")).version == (await there.read_file(PATH)).version
        await there.delete_file(PATH)
        newcomer = here.for_actor(filetools.Actor(kind="agent", id="newcomer"))
        assert (await newcomer.write_file(PATH, "four")).created
        ann = there.for_actor(filetools.Actor(kind="editor", id="ann"))
        opened = await ann.buffers.open(PATH)
        await ann.buffers.change(opened.handle, buffer_version=1, text="typed")
        with pytest.raises(filetools.FileToolsError) as unsaved:
            await newcomer.write_file(PATH, "five")
        assert unsaved.value.code == "EDIT_CONFLICT"


def test_a_write_calls_few_functions(tmp_path: Path) -> None:
    def calls(times: int) -> int:
        async def write() -> None:
            root = tmp_path / str(times)
            async with filetools.open(root / "root", mirror=root / "mirror", settings=QUIET) as files:
                await write_often(files, times)

        (tmp_path / str(times) / "root").mkdir(parents=True)
        return steps_in_all_threads(write)

    calls(5)  # what is imported and compiled at first is none of their costs
    few, many = 20, 120
    assert (calls(many) - calls(few)) / (many - few) < FUNCTION_CALLS


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("strace") is None, reason="strace counts the system calls")
def test_a_write_makes_few_system_calls(tmp_path: Path) -> None:
    root, trace = tmp_path / "root", tmp_path / "trace"
    root.mkdir()
    command = ["strace", "-f", "-qq", "-o", str(trace), sys.executable, "-c", PROGRAM, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    if "ptrace" in done.stderr.lower():
        pytest.skip("strace is not permitted here")
    assert done.returncode == 0, done.stderr
    rounds = [
        Counter(re.findall(r"^\d+ +(\w+)\(", marked.partition('"end"')[0], re.MULTILINE))
        for marked in trace.read_text("utf-8", "replace").split('"begin"')[1:]
    ]
    assert len(rounds) == TRACED_ROUNDS
    assert min(calls.total() - calls["futex"] for calls in rounds) < SYSTEM_CALLS * TRACED_WRITES
    assert not any(calls["utimensat"] for calls in rounds), "nobody else listens, so nobody is signalled"
    assert not any(calls["fsync"] + calls["fdatasync"] for calls in rounds)
