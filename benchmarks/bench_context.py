"""What agents are told about a project: the instruction files of a path ten folders deep.

The floor looks for the same names and reads and hashes the same files, with nothing but system calls.

Usage: python -m benchmarks.bench_context [ROUNDS]
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measure import Row, as_act, dose, interleaved, print_heading, publish, text_of
from filetools.project.folder import opened_folder
from filetools.project.instructions import NAMES, instructions

DEPTH: Final = 10
SIZE: Final = 1500
LIMIT_SECONDS: Final = 0.002
_LOOKED_FOR: Final = (*NAMES, ".claude/rules", ".claude/skills", ".agents/skills")


def grow(root: Path) -> str:
    """Make a file of instructions in each folder, and return the path of the deepest."""
    deep = "/".join(f"folder{number}" for number in range(DEPTH))
    (root / deep).mkdir(parents=True)
    for number, folder in enumerate((root / deep, *(root / deep).parents[:DEPTH])):
        (folder / "AGENTS.md").write_text(text_of(SIZE, number), encoding="utf-8")
    return deep


def ours(root: str, deep: str) -> None:
    """Ask as a call does, opening the folder included."""
    with opened_folder(root) as folder:
        assert len(instructions(folder, deep)["files"]) == DEPTH + 1


def floor(root: str, deep: str) -> None:
    """Look for every name in every folder; read and hash what is there."""
    place = root
    for name in ("", *deep.split("/")):
        place = os.path.join(place, name)
        for each in _LOOKED_FOR:
            try:
                os.stat(os.path.join(place, each), follow_symlinks=False)
            except OSError:
                continue
            with open(os.path.join(place, each), "rb", buffering=0) as file:
                content = file.read()
            hashlib.sha256(content).hexdigest()
            content.decode()


async def measure(rounds: int) -> None:
    """Publish the row."""
    with tempfile.TemporaryDirectory(prefix="bench-context-") as folder:
        root = os.path.realpath(folder)
        deep = grow(Path(root))
        contenders = {"ours": as_act(partial(ours, root, deep)), "floor": as_act(partial(floor, root, deep))}
        taken = await interleaved(contenders, rounds=rounds, calls=50)
    publish(
        Row(
            goal="-", name=f"instructions of a path {DEPTH} folders deep, warm", unit="s", limit=LIMIT_SECONDS,
            value=taken["ours"].median, ours=taken["ours"].median, ours_p99=taken["ours"].p99,
            floor=taken["floor"].median, floor_name="the same looks and reads",
        )
    )  # fmt: skip


if __name__ == "__main__":
    print_heading()
    asyncio.run(measure(dose(20)))
