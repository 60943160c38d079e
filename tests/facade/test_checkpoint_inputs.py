"""Checkpoints of trees with entries that they cannot hold, or that keep changing: these are named, the rest is restored."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import filetools
from tests.support.exact_trees import ALONE, run
from tests.support.opened import recorded, steps_until
from tests.support.storms.pictures import on_disk

TERABYTE = 1 << 40
RESTLESS = """
import itertools, sys
print("begun", flush=True)
for number in itertools.count():
    with open(sys.argv[1], "a") as file:
        file.write(f"{number}\\n")
    with open(sys.argv[2], "w") as file:
        file.write(str(number) * 500)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run(tmp_path, "mkdir src; echo one > src/a.py; echo two > src/b.py")
    return tmp_path


async def test_a_sparse_terabyte_is_named_unread_and_stays(root: Path) -> None:
    try:
        os.truncate(os.open(root / "disk.img", os.O_CREAT | os.O_WRONLY), TERABYTE)
    except OSError:
        pytest.skip("no file of a terabyte can be made here")
    async with asyncio.timeout(100), filetools.open(root, settings=ALONE) as files:
        made = await files.checkpoint("x")
        assert (made.unread, made.by_hash_alone, made.files) == (["disk.img"], [], 2)
        run(root, "sed -i s/one/ONE/ src/a.py; rm src/b.py; printf x >> disk.img")
        assert (await files.look()).unread == ["disk.img"]
        await files.restore("x")
        assert (root / "src/a.py").read_text() + (root / "src/b.py").read_text() == "one\ntwo\n"
        assert (root / "disk.img").stat().st_size == TERABYTE + 1
        assert [path for _, path, _ in await recorded(files) if path == "disk.img"] == []


async def test_with_a_watcher_a_sparse_terabyte_holds_up_no_news_of_others(root: Path) -> None:
    async with asyncio.timeout(100), filetools.open(root, settings={**ALONE, "watch": True}) as files:
        await files.look()
        told: list[str] = []
        files.on("file:*", lambda event: told.append(event.path))
        try:
            run(root, "truncate -s 1T disk.img; echo more >> src/a.py")
        except subprocess.CalledProcessError:
            pytest.skip("no file of a terabyte can be made here")
        await steps_until(lambda: "src/a.py" in told)


async def test_pipes_and_sockets_are_neither_read_nor_waited_for(root: Path) -> None:
    async with asyncio.timeout(100), filetools.open(root, settings=ALONE) as files:
        before = on_disk(root)
        os.mkfifo(root / "pipe")
        os.mknod(root / "socket", 0o140600)
        made = await files.checkpoint("x")
        assert (made.files, made.unread) == (2, [])
        run(root, "sed -i s/one/ONE/ src/a.py; mkfifo other")
        await files.restore("x")
        for name in ("other", "pipe", "socket"):
            os.unlink(root / name)  # an entry that is not a file is left alone
        assert on_disk(root) == before


async def test_of_files_that_keep_changing_a_state_they_had_is_kept_or_they_are_named(root: Path) -> None:
    command = [sys.executable, "-c", RESTLESS, str(root / "src/log"), str(root / "src/state")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()
            async with asyncio.timeout(100), filetools.open(root, settings=ALONE) as files:
                made = [await files.checkpoint(f"x{number}") for number in range(5)]
        finally:
            program.kill()
    assert all(set(each.unread) <= {"src/log", "src/state"} for each in made)
    log, steady = (root / "src/log").read_bytes(), [each.name for each in made if not each.unread]
    async with filetools.open(root, settings=ALONE) as files:
        for name in steady:
            await files.restore(name)
            assert log.startswith((root / "src/log").read_bytes())
            state = (root / "src/state").read_text()
            assert state == state[: len(state) // 500] * 500
        for each in made:
            await files.restore(each.name, "src/a.py")
            assert (root / "src/a.py").read_text() == "one\n"
