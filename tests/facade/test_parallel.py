"""No update is lost without an error to its caller: tasks, processes, two spellings of one path."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import filetools
from tests.support.facade_worker import RELAXED, replace_line

PROCESSES = 4
SPELLINGS = ("sub/shared.txt", "./sub//shared.txt", "sub\\shared.txt", "/sub/shared.txt")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    return root


def run_workers(task: str, root: Path, count: int) -> Iterator[list[dict[str, object]]]:
    command = [sys.executable, "-m", "tests.support.facade_worker", task, str(root)]
    workers = [
        subprocess.Popen([*command, f"w{number}", str(count), SPELLINGS[number]], stdout=subprocess.PIPE, text=True)
        for number in range(PROCESSES)
    ]
    for worker in workers:
        output, _ = worker.communicate(timeout=100)
        assert worker.returncode == 0
        yield [json.loads(line) for line in output.splitlines()]


def test_appends_of_four_processes_under_four_spellings_are_all_there(root: Path) -> None:
    said = [line["line"] for output in run_workers("append", root, 120) for line in output]
    assert len(said) == 480
    assert sorted((root / "sub/shared.txt").read_text().splitlines()) == sorted(map(str, said))


def test_conditional_writes_of_four_processes_lose_no_line(root: Path) -> None:
    (root / "sub/shared.txt").write_text("".join(f"w{number}:start\n" for number in range(PROCESSES)))
    for _ in run_workers("change", root, 60):
        pass
    assert (root / "sub/shared.txt").read_text().splitlines() == [f"w{number}:59" for number in range(PROCESSES)]


async def test_240_parallel_conditional_writes_lose_nothing(root: Path) -> None:
    (root / "sub/shared.txt").write_text("".join(f"t{number}:start\n" for number in range(8)))
    async with filetools.open(root, settings=RELAXED) as files:

        async def work(number: int) -> None:
            for turn in range(30):
                await replace_line(files, SPELLINGS[number % 4], f"t{number}", turn)

        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(work(number))
        assert len([record for record in (await files.changes()).records if record.path == "sub/shared.txt"]) == 240
    assert (root / "sub/shared.txt").read_text().splitlines() == [f"t{number}:29" for number in range(8)]


async def test_a_stale_conditional_write_is_refused_and_changes_nothing(root: Path) -> None:
    async with filetools.open(root, settings=RELAXED) as files:
        first = await files.write_file("a.txt", "1")
        await files.write_file("a.txt", "2")
        with pytest.raises(filetools.FileToolsError) as caught:
            await files.write_file("a.txt", "3", expected_version=first.version)
        assert caught.value.code == "VERSION_MISMATCH"
        assert (await files.read_file("a.txt")).content == "2"
