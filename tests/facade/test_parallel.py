"""No update is lost without an error, and edits that do not overlap all succeed: in tasks, in processes, with several names of
one file.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import filetools
from tests.support.dose import dose
from tests.support.facade_worker import RELAXED, share
from tests.support.forked import forked
from tests.support.opened import outcome_of

WORKERS = 4
TURNS = min(dose(15), 100)
SPELLINGS = ("sub/shared.txt", "./sub//shared.txt", "sub\\shared.txt", "/sub/shared.txt")
"""Spellings of one path, which the workers use in turn."""


def plant(root: Path) -> None:
    """Make a shared file with adjacent lines of the workers."""
    (root / "sub").mkdir(parents=True)
    (root / "sub/shared.txt").write_text(expected("open"))


def expected(word: str) -> str:
    return "".join(f"w{worker}:{number} {word}\n" for number in range(TURNS) for worker in range(WORKERS))


async def check(root: Path) -> None:
    """Fail unless every edit is there, and was recorded once."""
    assert (root / "sub/shared.txt").read_text() == expected("done")
    async with filetools.open(root, settings=RELAXED) as files:
        records = (await files.changes(paths=["sub/shared.txt"])).records
        assert len(records) == TURNS * WORKERS


async def test_edits_appends_and_conditional_writes_of_several_processes_all_succeed(
    tmp_path: Path,
) -> None:
    plant(tmp_path)
    (tmp_path / "lines.txt").write_text("".join(f"w{worker}:start\n" for worker in range(WORKERS)))
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                forked(
                    "tests.support.facade_worker", "share", tmp_path,
                    SPELLINGS[worker % len(SPELLINGS)], f"w{worker}", str(TURNS),
                )
            )
            for worker in range(WORKERS)
        ]  # fmt: skip
        edited = [worker.hear() for worker in workers]
        assert [worker.wait() for worker in workers] == [0] * WORKERS
    assert edited == [{"done": TURNS}] * WORKERS
    await check(tmp_path)
    logged = (tmp_path / "log.txt").read_text().splitlines()
    assert sorted(logged) == sorted(f"w{worker}:{number}" for worker in range(WORKERS) for number in range(TURNS))
    lines = (tmp_path / "lines.txt").read_text().splitlines()
    assert lines == [f"w{worker}:{TURNS - 1}" for worker in range(WORKERS)]


async def test_edits_and_conditional_writes_of_several_tasks_all_succeed(tmp_path: Path) -> None:
    plant(tmp_path)
    (tmp_path / "lines.txt").write_text("".join(f"w{worker}:start\n" for worker in range(WORKERS)))
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        paths = [SPELLINGS[worker % len(SPELLINGS)] for worker in range(WORKERS)]
        edited = await asyncio.gather(
            *(share(files, path, f"w{worker}", TURNS) for worker, path in enumerate(paths)),
        )
    assert edited == [TURNS] * WORKERS
    await check(tmp_path)
    lines = (tmp_path / "lines.txt").read_text().splitlines()
    assert lines == [f"w{worker}:{TURNS - 1}" for worker in range(WORKERS)]


async def test_of_edits_that_overlap_one_is_done_and_the_others_are_refused(tmp_path: Path) -> None:
    plant(tmp_path)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        edits = [filetools.Edit(old="w0:0 open", new=f"w0:0 by {number}") for number in range(WORKERS)]
        outcomes = await asyncio.gather(*(outcome_of(files.edit_file("sub/shared.txt", [edit])) for edit in edits))
    assert sorted(outcomes) == ["EDIT_NOT_FOUND"] * (WORKERS - 1) + ["done"]


async def test_transactions_of_several_tasks_over_the_same_files_all_succeed(tmp_path: Path) -> None:
    paths = ("left.txt", "right.txt")
    for path in paths:
        (tmp_path / path).write_text("".join(f"w{worker}: 0\n--\n--\n" for worker in range(WORKERS)))
    async with filetools.open(tmp_path, settings=RELAXED) as files:

        async def work(worker: int) -> None:
            mine = files.for_actor(filetools.Actor(kind="agent", id=f"w{worker}"))
            for turn in range(TURNS):
                async with mine.transaction() as tx:
                    for path in paths:
                        edit = filetools.Edit(old=f"w{worker}: {turn}\n", new=f"w{worker}: {turn + 1}\n")
                        await tx.edit_file(path, [edit])
                assert len(tx.result.changes) == 2

        await asyncio.gather(*(work(worker) for worker in range(WORKERS)))
    wanted = "".join(f"w{worker}: {TURNS}\n--\n--\n" for worker in range(WORKERS))
    assert [(tmp_path / path).read_text() for path in paths] == [wanted, wanted]
