"""What the README says of filetools where it compares: parallel edits lost, and files torn by a kill.

The shape of the work is that of the peers' measurement: 30 rounds of 8 parallel edits of lines of their own in one file of
2,000 lines; 50 kills of a process that rewrites 5 MB. Counts, not times: run it as `python benchmarks/compare_safety.py`.
"""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import filetools

ROUNDS, EDITORS, LINES = 30, 8, 2000
KILLS, SIZE_BYTES = 50, 5_000_000
SEED = 20261120

REWRITE = """
import asyncio, sys
import filetools

async def main():
    async with filetools.open(sys.argv[1]) as files:
        print("ready", flush=True)
        for number in range(1_000_000):
            await files.write_file("big.txt", chr(97 + number % 26) * int(sys.argv[2]))

asyncio.run(main())
"""


async def lost_edits(root: Path) -> tuple[int, int]:
    """Return how many edits were reported as done, and how many of them are missing."""
    (root / "shared.txt").write_text("".join(f"line {number}: start\n" for number in range(LINES)))
    done: set[str] = set()
    async with filetools.open(root) as files:

        async def edit(turn: int, editor: int) -> None:
            line = turn * EDITORS + editor
            new = f"line {line}: editor {editor} in round {turn}\n"
            await files.edit_file("shared.txt", [filetools.Edit(old=f"line {line}: start\n", new=new)])
            done.add(new)

        for turn in range(ROUNDS):
            async with asyncio.TaskGroup() as group:
                for editor in range(EDITORS):
                    group.create_task(edit(turn, editor))
    return len(done), len(done - set((root / "shared.txt").read_text().splitlines(keepends=True)))


def torn_files(root: Path) -> int:
    """Return after how many kills the file is neither as it was before nor as it was to be."""
    chance, torn = random.Random(SEED), 0
    for _ in range(KILLS):
        command = [sys.executable, "-c", REWRITE, str(root), str(SIZE_BYTES)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.05, 0.4))
            writer.send_signal(signal.SIGKILL)
        content = (root / "big.txt").read_bytes() if (root / "big.txt").exists() else b""
        is_whole = not content or (len(content) == SIZE_BYTES and len(set(content)) == 1)
        torn += not is_whole
    return torn


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        done, lost = asyncio.run(lost_edits(Path(folder)))
    print(f"parallel edits reported as done: {done}, lost: {lost}")
    with tempfile.TemporaryDirectory() as folder:
        print(f"kills: {KILLS}, files torn: {torn_files(Path(folder))}")


if __name__ == "__main__":
    main()
