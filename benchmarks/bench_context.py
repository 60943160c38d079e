"""What agents are told about projects: the instruction files of a path ten folders deep, and the prompt of 20 projects.

The floor of the first looks for the same names and reads and hashes the same files, with nothing but system calls.

Usage: python -m benchmarks.bench_context [ROUNDS]
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Row, as_act, dose, interleaved, print_heading, publish, text_of
from filetools.project.folder import opened_folder
from filetools.project.git import git_state
from filetools.project.instructions import NAMES, instructions
from filetools.project.prompt import format_context, gather
from filetools.project.readme import readme

DEPTH: Final = 10
SIZE: Final = 1500
LIMIT_SECONDS: Final = 0.002
PROJECTS: Final = 20
FILES: Final = 50
PROMPT_SECONDS: Final = 0.3
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


async def prompt_of_projects(rounds: int) -> None:
    """Publish the row of the prompt of many repositories."""
    with tempfile.TemporaryDirectory(prefix="bench-context-") as folder:
        place = Path(os.path.realpath(folder))
        projects = [repository(place / f"project{number}") for number in range(PROJECTS)]

        def prompt() -> str:
            return format_context(gather(projects, [], git_state=git_state, readme=beginning))

        assert (prompt().count("- Branch: "), prompt().count("- README")) == (PROJECTS, PROJECTS)
        taken = (await interleaved({"prompt": as_act(prompt)}, rounds=rounds, calls=3))["prompt"]
    publish(
        Row(
            goal="-", name=f"prompt of {PROJECTS} projects, git and README of each", unit="s", limit=PROMPT_SECONDS,
            value=taken.median, ours=taken.median, ours_p99=taken.p99,
        )
    )  # fmt: skip


def repository(place: Path) -> dict[str, Any]:
    """Make a repository with some files and commits, and return it as a project."""
    place.mkdir()
    for number in range(FILES):
        (place / f"file{number}.txt").write_text("text\n")
    (place / "README.md").write_text(text_of(2 * SIZE, 0), encoding="utf-8")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    for number in range(5):
        git(place, "commit", "-q", "--allow-empty", "-m", f"Change {number}")
    return {"id": place.name, "name": place.name, "path": str(place)}


def git(place: Path, *arguments: str) -> None:
    """Run git without anybody's configuration."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0", *arguments)
    subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True)


def beginning(path: str) -> dict[str, Any]:
    """Return the beginning of the README of a folder."""
    with opened_folder(path) as folder:
        return readme(folder)


if __name__ == "__main__":
    print_heading()
    asyncio.run(measure(dose(20)))
    asyncio.run(prompt_of_projects(dose(5)))
