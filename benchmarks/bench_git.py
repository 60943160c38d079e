"""Git state and checkpoints, beside git on the same tree (goals 23, 25, 19).

The repository and our state are in the same root, and neither looks at the other. The smaller tree has files of 10 KB, the
larger one files of one line.

Usage: python -m benchmarks.bench_git [FILES [MOST_FILES]]    (10,000 and 100,000 by default)
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import filetools
from benchmarks.measure import Times, dose, interleaved, ratio, settle, stalls
from benchmarks.trees import tree
from filetools.tools.handlers.context import get_git_state

FILE_BYTES: Final = 10_240
ROUNDS: Final = 10
STATE_ROUNDS: Final = 30
SETTLED_SECONDS: Final = 0.05
"""Longer than a tick of the clock that stamps files: git reads a file again that is younger than its index."""
STATE: Final = (
    ("rev-parse", "--abbrev-ref", "HEAD"),
    ("status", "--porcelain"),
    ("log", "-5", "--format=%h|%s|%ar"),
    ("rev-list", "--left-right", "--count", "HEAD...@{upstream}"),
)


def git(root: Path, *arguments: str) -> bytes:
    command = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0", *arguments)
    return subprocess.run(command, cwd=root, check=True, capture_output=True).stdout


def grow(root: Path, files: int) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghij", k=chance.randint(2, 9))) for _ in range(2000)]
    for number in range(files):
        path = root / f"folder{number // 100:04d}" / f"file{number % 100:02d}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text((" ".join(chance.choices(words, k=2000)) + "\n" * FILE_BYTES)[:FILE_BYTES])
    os.sync()
    time.sleep(SETTLED_SECONDS)


async def checkpoints(root: Path, files: filetools.FileToolsFacade, case: str) -> None:
    """Goal 25, and goal 19 for a checkpoint of the larger tree."""
    git(root, "init", "-q")
    began = time.perf_counter()
    git(root, "add", "-A")
    added = time.perf_counter() - began
    git(root, "commit", "-qm", "first")
    tracked = git(root, "ls-files", "-z").count(b"\0")
    await settle()
    began = time.perf_counter()
    made = await files.checkpoint("first")
    taken = time.perf_counter() - began
    assert (made.files, made.by_hash_alone, made.unread) == (tracked, [], [])
    ratio(25, "first checkpoint / git add -A", 1.0, Times([[taken]]), Times([[added]]), case=case)
    await settle()
    if tracked > 50_000:
        await stalls(f"checkpoint of {case}", partial(files.checkpoint, "warm"), rounds=1)
    numbers = count()

    async def again() -> None:
        assert (await files.checkpoint(f"same{next(numbers)}")).files == tracked

    times = await interleaved({"ours": again, "git": partial(git, root, *STATE[1])}, rounds=ROUNDS, calls=1)
    ratio(25, "unchanged checkpoint / git status", 1.5, times["ours"], times["git"], case=case)


async def state(root: Path, files: filetools.FileToolsFacade) -> None:
    """Goal 23: a branch one commit ahead of its upstream, in a repository with a few commits."""
    for number in range(4):
        git(root, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
    git(root, "branch", "other", "HEAD~1")
    git(root, "branch", "-q", "--set-upstream-to", "other")
    await settle()

    def four_calls() -> list[bytes]:
        return [git(root, *call) for call in STATE]

    ours = partial(get_git_state, files, path=".")
    found, (branch, status, log, counts) = await ours(), four_calls()
    assert (found["branch"], found["dirty"], found["ahead"]) == (branch.decode().strip(), bool(status), 1)
    assert (len(found["commits"]), int(counts.split()[0])) == (len(log.splitlines()), 1)
    times = await interleaved({"ours": ours, "git": four_calls}, rounds=STATE_ROUNDS, calls=1)
    ratio(23, "git state / four git calls", 0.85, times["ours"], times["git"])


async def main(files: int, most: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-git-") as folder:
        root = Path(folder).resolve()
        grow(root, files)
        async with filetools.open(root) as opened:
            await checkpoints(root, opened, f"{files:,} files")
            await state(root, opened)
    with tree(most) as root:
        try:
            async with filetools.open(root) as opened:
                await checkpoints(root, opened, f"{most:,} files")
        finally:
            shutil.rmtree(root / ".git", ignore_errors=True)


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("git is not installed")
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    asyncio.run(main(dose(10_000), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000))
