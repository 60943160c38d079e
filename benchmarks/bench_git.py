"""The git state of a repository through the facade, beside four git calls, one after the other, that tell the same (goal 23).

Usage: python -m benchmarks.bench_git [FILES]
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

import filetools
from benchmarks.measure import Act, as_act, compared, dose, interleaved, print_heading, publish, settle
from filetools.tools.context import get_git_state

FILES_A_FOLDER: Final = 100
ROUNDS: Final = 30
COMMITS: Final = 5
SETTLED_SECONDS: Final = 0.05
"""Longer than a tick of the clock that stamps files: git reads what is younger than its index again."""
CALLS: Final = (
    ("rev-parse", "--abbrev-ref", "HEAD"),
    ("status", "--porcelain"),
    ("log", "-5", "--format=%h|%s|%ar"),
    ("rev-list", "--left-right", "--count", "HEAD...@{upstream}"),
)


def git(root: Path, *arguments: str) -> bytes:
    """Run git as most programs do, and return what it prints."""
    command = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0", *arguments)
    return subprocess.run(command, cwd=root, check=True, capture_output=True).stdout


def grow(root: Path, files: int) -> None:
    """Make a repository with commits and an upstream that is one behind."""
    for number in range(files):
        path = root / f"folder{number // FILES_A_FOLDER:04d}" / f"file{number % FILES_A_FOLDER:02d}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}\n")
    time.sleep(SETTLED_SECONDS)
    git(root, "init", "-q")
    git(root, "add", "-A")
    for number in range(COMMITS):
        git(root, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
    git(root, "branch", "other", "HEAD~1")
    git(root, "branch", "-q", "--set-upstream-to", "other")


def four_calls(root: Path) -> list[bytes]:
    """Ask git one thing after the other."""
    return [git(root, *call) for call in CALLS]


async def main(files: int) -> None:
    """Measure everything."""
    print_heading()
    with tempfile.TemporaryDirectory(prefix="bench-git-") as folder:
        root = Path(folder).resolve()
        grow(root, files)
        async with filetools.open(root) as opened:
            await settle()

            ours = partial(get_git_state, opened, path=".")
            state, (branch, status, log, counts) = (await ours()), four_calls(root)
            assert state["branch"] == branch.decode().strip()
            assert state["dirty"] is bool(status)
            assert state["ahead"] == int(counts.split()[0]) == 1
            told = [f"{one['hash']}|{one['msg']}|" for one in state["commits"]]
            assert all(line.startswith(text) for line, text in zip(log.decode().splitlines(), told, strict=True))
            contenders: dict[str, Act] = {
                "ours": ours,
                "four": as_act(lambda: four_calls(root)),
                "status": as_act(lambda: git(root, *CALLS[1])),
            }
            times = await interleaved(contenders, rounds=ROUNDS, calls=1)
    for floor, limit, name in (("four", 0.85, "four git calls"), ("status", None, "git status alone")):
        publish(
            compared(
                "23", f"git state, {files:,} files / {name}", times["ours"], times[floor], limit=limit, floor_name=name
            )
        )


if __name__ == "__main__":
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    asyncio.run(main(dose(10_000)))
