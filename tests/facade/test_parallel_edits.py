"""Parallel edits of one file that do not overlap: all succeed, none is lost; by tasks, by processes, under several names."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import filetools
from tests.support.dose import DOSE
from tests.support.facade_worker import RELAXED, edit_own_lines

WORKERS = 8
PLACES = {
    "one spelling": ("sub/shared.txt",),
    "two spellings": ("sub/shared.txt", "./sub//shared.txt"),
    "a hard link": ("sub/shared.txt", "linked.txt"),
}
"""By kind of place the paths that the workers use in turn."""
CASES = [
    *((place, 480) for place in ("one spelling", "two spellings", "a hard link")),
    *((place, 240) for place in PLACES),
]
"""Of processes; by default two of the smaller ones."""


def plant(root: Path, count: int) -> None:
    """Make a shared file in which the workers' lines lie side by side, and a second name of it."""
    (root / "sub").mkdir(parents=True)
    (root / "sub/shared.txt").write_text(expected("open", count))


def expected(word: str, count: int) -> str:
    return "".join(f"w{worker}:{number} {word}\n" for number in range(count // WORKERS) for worker in range(WORKERS))


def linked(root: Path, place: str) -> int:
    """Give the shared file its second name, where a test is about that; returns how many names it has."""
    if place == "a hard link":
        os.link(root / "sub/shared.txt", root / "linked.txt")
        return 2
    return 1


async def check(root: Path, count: int, names: int) -> None:
    assert (root / "sub/shared.txt").read_text() == expected("done", count)
    stat = (root / "sub/shared.txt").stat()
    assert stat.st_nlink == names
    if names > 1:
        assert (root / "linked.txt").stat().st_ino == stat.st_ino
    async with filetools.open(root, settings=RELAXED) as files:
        page = await files.changes(limit=1000)
        records = [*page.records, *(await files.changes(page.position, limit=1000)).records]
        assert len([record for record in records if record.path == "sub/shared.txt"]) == count
        assert len(records) == count * names


async def test_of_edits_that_overlap_one_is_done_and_the_others_are_refused(tmp_path: Path) -> None:
    plant(tmp_path, 8)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        edits = [filetools.Edit(old="w0:0 open", new=f"w0:0 by {number}") for number in range(WORKERS)]
        ends = await asyncio.gather(
            *(files.edit_file("sub/shared.txt", [edit]) for edit in edits), return_exceptions=True
        )
    refused = [end for end in ends if isinstance(end, filetools.FileToolsError)]
    assert [error.code for error in refused] == ["EDIT_NOT_FOUND"] * (WORKERS - 1)


@pytest.mark.parametrize("count", [240, 480])
@pytest.mark.parametrize("place", PLACES)
async def test_edits_of_eight_tasks_all_succeed(tmp_path: Path, place: str, count: int) -> None:
    plant(tmp_path, count)
    names = linked(tmp_path, place)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        paths = [PLACES[place][worker % len(PLACES[place])] for worker in range(WORKERS)]
        edited = await asyncio.gather(
            *(edit_own_lines(files, path, f"w{worker}", count // WORKERS) for worker, path in enumerate(paths))
        )
    assert sum(edited) == count
    await check(tmp_path, count, names)


async def test_transactions_of_eight_tasks_over_the_same_files_all_succeed(tmp_path: Path) -> None:
    turns = 15
    paths = ("left.txt", "right.txt")
    for path in paths:
        (tmp_path / path).write_text("".join(f"w{worker}: 0\n--\n--\n" for worker in range(WORKERS)))
    async with filetools.open(tmp_path, settings=RELAXED) as files:

        async def work(worker: int) -> None:
            mine = files.for_actor(filetools.Actor(kind="agent", id=f"w{worker}"))
            for turn in range(turns):
                async with mine.transaction() as tx:
                    for path in paths:
                        edit = filetools.Edit(old=f"w{worker}: {turn}\n", new=f"w{worker}: {turn + 1}\n")
                        await tx.edit_file(path, [edit])
                assert len(tx.result.changes) == 2

        await asyncio.gather(*(work(worker) for worker in range(WORKERS)))
    wanted = "".join(f"w{worker}: {turns}\n--\n--\n" for worker in range(WORKERS))
    assert [(tmp_path / path).read_text() for path in paths] == [wanted, wanted]


class Workers:
    """Eight processes that edit what they are told to, all at once."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.support.facade_worker", "edit", "."]
        self.processes = [
            subprocess.Popen([*command, f"w{worker}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for worker in range(WORKERS)
        ]
        assert [self.hear(process) for process in self.processes] == [{"ready": True}] * WORKERS

    def hear(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        said: dict[str, Any] = json.loads(process.stdout.readline())
        return said

    def edit(self, root: Path, paths: Sequence[str], count: int) -> int:
        """Let each edit its lines; returns how many changes were made in all."""
        for worker, process in enumerate(self.processes):
            job = {"root": str(root), "path": paths[worker % len(paths)], "count": count // WORKERS}
            assert process.stdin is not None
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
        return sum(int(self.hear(process)["done"]) for process in self.processes)

    def end(self) -> None:
        for process in self.processes:
            process.communicate(timeout=60)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    workers = Workers()
    try:
        yield workers
        workers.end()
    finally:
        for process in workers.processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize(("place", "count"), CASES if DOSE > 1 else CASES[4:6])
async def test_edits_of_eight_processes_all_succeed(tmp_path: Path, workers: Workers, place: str, count: int) -> None:
    plant(tmp_path, count)
    names = linked(tmp_path, place)
    assert workers.edit(tmp_path, PLACES[place], count) == count
    await check(tmp_path, count, names)
