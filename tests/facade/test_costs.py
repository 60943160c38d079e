"""Costs, measured by counting: reading, writing, typing, undoing, and edits of long texts."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sized
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

import filetools
from filetools import Actor, TextEdit
from filetools.facade.facade import FileToolsFacade
from filetools.journal.storage.database import Arguments, Database
from filetools.models.files import ReadResult
from filetools.models.history import UndoResult
from tests.facade.test_loop_stays_free import CALLS
from tests.support.crashing import QUIET
from tests.support.journals import watched
from tests.support.step_count import steps_in_all_threads, steps_of

ALICE: Final = Actor(kind="agent", id="alice", session="s", call="c")
ANN: Final = Actor(kind="editor", id="ann", session="window")
STRACE: Final = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("strace") is None, reason="strace counts the system calls"
)
READS: Final = 20
READ_CALLS: Final = ["openat2", "fstat", "preadv2", "fstat", "close"]
READ_STEPS: Final = 85
TRACED_WRITES: Final = 5
TRACED_ROUNDS: Final = 12
"""Tracing is slow: the shorter a round, the more likely it is undisturbed."""
WRITE_STEPS: Final = 1610
"""Calls in a write of 1 KB with a mirror, including C functions."""
WRITE_CALLS: Final = 150
"""System calls of the same, without waits of threads; a third of them write pages of the journal."""
PATH: Final = "one/two/a.txt"
READING: Final = f"""
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
WRITING: Final = f"""
import asyncio, os, sys, filetools
from pathlib import Path
from filetools.journal.storage import birth
birth.SURE_AFTER_NS = 0  # as two seconds after opening
async def main():
    root = Path(sys.argv[1])
    settings = {{"watch": False, "sync_after_seconds": 3600.0, "durability": "relaxed"}}
    async with filetools.open(root, mirror=root.parent / "mirror", settings=settings) as files:
        await files.write_file("{PATH}", "x" * 1024)
        for round in range({TRACED_ROUNDS}):
            await asyncio.sleep(0.2)
            os.write(1, b"begin")
            for number in range({TRACED_WRITES}):
                await files.write_file("{PATH}", f"{{round * {TRACED_WRITES} + number:1024}}")
            os.write(1, b"end")
asyncio.run(main())
"""


def trace_of(tmp_path: Path, program: str, *options: str) -> str:
    """Run a program on a root under strace; returns its output."""
    root, trace = tmp_path / "root", tmp_path / "trace"
    root.mkdir()
    (root / "a.txt").write_text("x" * 65536)
    command = ["strace", "-f", *options, "-o", str(trace), sys.executable, "-c", program, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    if "ptrace" in done.stderr.lower():
        pytest.skip("strace is not permitted here")
    assert done.returncode == 0, done.stderr
    return trace.read_text("utf-8", "replace")


@STRACE
def test_a_hot_read_is_five_system_calls(tmp_path: Path) -> None:
    calls = calls_of_the_loop(trace_of(tmp_path, READING, "-e", "trace=%file,%desc"))
    if "openat2" not in calls:
        pytest.skip("this system opens nothing from memory alone")
    # One of them may have coincided with another program's rename, and used a worker.
    assert calls.count("openat2") >= READS - 1
    assert len(calls) <= len(READ_CALLS) * (READS + 1)
    assert calls[: len(READ_CALLS)] == READ_CALLS


def calls_of_the_loop(trace: str) -> list[str]:
    """Return the system calls of the main thread between the two marks, except those about memory."""
    main = trace.split(maxsplit=1)[0]
    marked = trace[trace.index('"begin"') : trace.index('"end"')]
    names = re.findall(rf"^{main} +(?:<\.\.\. )?(\w+)\(", marked, re.MULTILINE)
    plain = ["fstat" if name == "newfstatat" else name for name in names]
    return [name for name in plain if name not in ("mmap", "munmap", "write")]


def read_at_once(files: FileToolsFacade, path: str) -> ReadResult:
    """Read without yielding to the loop."""
    for _ in range(5):  # a folder above may be renamed at this moment; then a read uses a worker
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
        assert min(steps_of(lambda: read_at_once(files, "a.txt")) for _ in range(3)) <= READ_STEPS


@pytest.mark.parametrize(("actor", "commits"), [(None, 1), (ALICE, 2)])
async def test_reading_writes_nothing_by_itself_and_syncs_nothing_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, actor: Actor | None, commits: int
) -> None:
    """Texts that only this process can use for merging stay in memory; rows and other texts are saved in the background."""
    for number in range(200):
        (tmp_path / f"{number}.txt").write_text(f"{number:063d}\n")
    monkeypatch.setattr("filetools.facade.background.background_tasks.SAVE_SEEN_SECONDS", 3600.0)
    async with filetools.open(tmp_path, settings=QUIET | {"durability": "commit"}) as files:
        reader = files if actor is None else files.for_actor(actor)
        synced: list[object] = []
        written: list[bool] = []
        write = Database.write

        def counted(database: Database, work: Callable[[Any], Any], *, durable: bool = True, **options: Any) -> Any:
            if threading.current_thread() is threading.main_thread():  # and not the leader
                written.append(durable)
            return write(database, work, durable=durable, **options)

        monkeypatch.setattr(os, "fsync", synced.append)
        monkeypatch.setattr(Database, "write", counted)
        for number in range(200):
            await reader.read_file(f"{number}.txt")
        assert (synced, written, kept(files)) == ([], [], 0)
        files._parts.tracker.save()
        assert (synced, written, kept(files)) == ([], [False] * commits, 0 if actor is None else 200)
        monkeypatch.undo()


def kept(files: filetools.FileToolsFacade) -> int:
    """Return how many texts are kept only because they were read."""
    (count,) = files._parts.journal._database.row("SELECT count(*) FROM contents WHERE used < 0")
    return int(count)


def test_a_write_calls_few_functions(tmp_path: Path) -> None:
    def calls(times: int) -> int:
        async def write() -> None:
            root = tmp_path / str(times)
            async with filetools.open(root / "root", mirror=root / "mirror", settings=QUIET) as files:
                for number in range(times):
                    await files.write_file(PATH, f"{number} of {times}")

        (tmp_path / str(times) / "root").mkdir(parents=True)
        return steps_in_all_threads(write)

    calls(5)  # do not count imports and compilation
    few, many = 20, 120
    assert (calls(many) - calls(few)) / (many - few) < WRITE_STEPS


@STRACE
def test_a_write_makes_few_system_calls(tmp_path: Path) -> None:
    rounds = [
        Counter(re.findall(r"^\d+ +(\w+)\(", marked.partition('"end"')[0], re.MULTILINE))
        for marked in trace_of(tmp_path, WRITING, "-qq").split('"begin"')[1:]
    ]
    assert len(rounds) == TRACED_ROUNDS
    assert min(calls.total() - calls["futex"] for calls in rounds) < WRITE_CALLS * TRACED_WRITES
    assert not any(calls["utimensat"] for calls in rounds), "nobody else listens, so nobody is signalled"
    assert not any(calls["fsync"] + calls["fdatasync"] for calls in rounds)


def test_the_steps_of_a_write_do_not_depend_on_how_many_lines_it_has(tmp_path: Path) -> None:
    def steps_with(lines: int) -> int:
        async def write() -> None:
            async with filetools.open(tmp_path / str(lines), settings=QUIET) as files:
                await files.write_file("a.txt", "the rest of these lines stays as it was\n" * lines)
                await files.write_file("a.txt", "the rest of those lines stays as it was\n" * lines)

        (tmp_path / str(lines)).mkdir()
        return steps_in_all_threads(write)

    steps_with(10)  # do not count imports
    few = steps_with(20)
    assert steps_with(5000) < few + 2500


def test_missing_parents_cost_in_step_with_their_number(tmp_path: Path) -> None:
    async def write(levels: int) -> None:
        root = tmp_path / f"{levels}"
        root.mkdir()
        # Without periodic work: on a slow machine the leader would run in one of the two runs only.
        async with filetools.open(root, settings=QUIET) as files:
            await files.write_file("a/" * levels + "f", "x")

    steps_in_all_threads(partial(write, 1))  # imports and caches
    few, many = steps_in_all_threads(partial(write, 50)), steps_in_all_threads(partial(write, 200))
    assert many < 5 * few


FEW: Final = 2
MANY: Final = 60
LETTERS: Final = 10


async def type_letters(files: FileToolsFacade, handle: str, version: int) -> None:
    for number in range(version, version + LETTERS):
        await files.for_actor(ANN).buffers.change(handle, buffer_version=number, edits=[TextEdit(0, 0, "x")])


async def open_documents(files: FileToolsFacade, documents: int) -> str:
    """Open this many documents, type into the first one, and return its handle."""
    opened = [await files.for_actor(ANN).buffers.open(f"{number}.txt") for number in range(documents)]
    await type_letters(files, opened[0].handle, 1)
    return opened[0].handle


async def read_rows_and_steps(root: Path, documents: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return the rows read from the journal while typing some letters, and the steps of SQLite, in tens."""
    root.mkdir()
    rows = 0
    read = Database.rows

    def counted(database: Database, query: str, arguments: Arguments = ()) -> list[Any]:
        nonlocal rows
        found = read(database, query, arguments)
        rows += len(found)
        return found

    async with filetools.open(root, settings=QUIET) as files:
        handle = await open_documents(files, documents)
        await asyncio.sleep(0.2)
        journal = files._parts.journal
        with monkeypatch.context() as patch, watched(journal) as (_, steps):
            patch.setattr(Database, "rows", counted)
            await type_letters(files, handle, 1 + LETTERS)
            return rows, steps[0]


async def test_typing_a_letter_reads_only_its_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = await read_rows_and_steps(tmp_path / "few", FEW, monkeypatch)
    many = await read_rows_and_steps(tmp_path / "many", MANY, monkeypatch)
    assert many[0] <= few[0] + LETTERS, (few, many)
    assert many[1] <= few[1] * 1.3 + 20, (few, many)


SLACK: Final = 1.5
OTHERS: Final = 12
"""Statements of the background."""
Cost = tuple[int, int]
"""Number of statements, and of their steps."""


async def cost(files: FileToolsFacade, act: Callable[[], Awaitable[UndoResult]]) -> Cost:
    """Return the cost of an action, without background writes."""
    journal = files._parts.journal
    counts = []
    for _ in range(3):
        with watched(journal) as (statements, steps):
            result = await act()
        assert result.changes
        counts.append((len([one for one in statements if "stamps" not in one]), steps[0]))
        if not result.dry_run:
            break
    return min(counts)  # background work may run meanwhile


async def test_the_newest_change_costs_the_same_whatever_came_before_it(tmp_path: Path) -> None:
    costs = []
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for upto in (50, 250):
            for number in range(upto - 50, upto):
                agent = files.for_actor(Actor(kind="agent", id="alice", session="s", call=f"c{number}"))
                await agent.write_file(f"{number}.txt", "x\n")
            costs.append(await cost(files, partial(agent.undo, dry_run=True)))
            await agent.undo()
            costs.append(await cost(files, partial(agent.redo, dry_run=True)))
            await agent.redo()
    undo, redo, later_undo, later_redo = costs
    for later, first in ((later_undo, undo), (later_redo, redo)):
        assert later[0] <= first[0] + OTHERS
        assert later[1] <= SLACK * first[1]


@pytest.mark.parametrize("make", ["in folders of their own", "moved"])
async def test_the_cost_of_an_undo_is_proportional_to_the_changes(tmp_path: Path, make: str) -> None:
    costs = []
    for count in (12, 48):
        (root := tmp_path / f"{count}").mkdir()
        async with filetools.open(root, settings=QUIET) as files:
            alice = files.for_actor(ALICE)
            await _change(alice, make, count)
            costs.append(await cost(files, partial(alice.undo, call="c", dry_run=True)))
            costs.append(await cost(files, partial(alice.undo, call="c")))
            costs.append(await cost(files, partial(alice.redo, dry_run=True)))
            costs.append(await cost(files, alice.redo))
    for few, many in zip(costs[0:4:2], costs[4::2], strict=True):
        assert many[1] <= 2 * SLACK * 4 * few[1]


async def _change(files: FileToolsFacade, make: str, count: int) -> None:
    other = files.for_actor(Actor(kind="editor", id="ann"))
    if make == "moved":
        async with other.transaction() as tx:
            for number in range(count):
                await tx.write_file(f"d/{number}.txt", f"{number}\n")
        for number in range(count):
            await files.move_file(f"d/{number}.txt", f"e/{number}.txt")
        return
    async with files.transaction() as tx:
        for number in range(count):
            await tx.write_file(f"d{number}/{number}.txt", f"{number}\n")


LINES: Final = 1_000
COMPARING: Final = tuple(f"filetools.content.{name}" for name in ("alignment", "diff", "merging", "myers"))


@contextmanager
def comparisons() -> Iterator[set[str]]:
    """Collect the functions that compare whole texts, in this thread and in those started meanwhile."""
    found: set[str] = set()

    def hook(frame: FrameType, event: str, _what: Any) -> None:
        name = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"
        if event == "call" and name.startswith(COMPARING):
            lists = [
                one for one in frame.f_locals.values() if isinstance(one, Sized) and not isinstance(one, str | bytes)
            ]
            if any(len(one) >= LINES for one in lists):
                found.add(name)

    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.parametrize(
    ("call", "is_open"), [("edit", True), ("edit, tried", False), ("insertion", True), ("addition", False)]
)
async def test_an_edit_compares_no_text_as_a_whole(tmp_path: Path, call: str, is_open: bool) -> None:
    (tmp_path / "f").write_text("".join(f"line {number}\n" for number in range(LINES)) + "END\n")
    with comparisons() as compared:
        async with filetools.open(tmp_path, settings=QUIET) as files:
            agent, ann = files.for_actor(ALICE), files.for_actor(ANN)
            opened = await ann.buffers.open("f") if is_open else None
            await CALLS[call](agent)
            if opened is not None:
                shown = await ann.buffers.read(opened.handle)
                assert shown.text == (await agent.read_file("f")).content
    assert compared == set()


async def test_comparisons_of_whole_texts_are_detected(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("line\n" * LINES)
    with comparisons() as compared:
        async with filetools.open(tmp_path, settings=QUIET) as files:
            await files.for_actor(ANN).buffers.open("f")
            await files.for_actor(ALICE).write_file("f", "line\n" * LINES + "more\n")
    assert "filetools.content.differences.alignment.differences" in compared
