"""Processes that are killed at any moment of their calls: each call is done or not, and the next process goes on."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from filetools.writer.settle import settle_at_opening
from tests.support.core_crashes import disk_tree, leftovers, locked, look, tidy
from tests.support.core_worker import churned_tree
from tests.support.dose import SEED, kill_rounds

NAMES = ("one", "two")


def worker(root: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.core_worker", "churn", str(root), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed(root: Path, chance: random.Random) -> dict[str, int]:
    """Let two processes work, kill both at some moment, and return the last number that each said."""
    workers = {name: worker(root, name) for name in NAMES}
    said = {}
    try:
        for process in workers.values():
            assert process.stdout is not None
            assert process.stdout.readline() == "0\n"
        time.sleep(chance.random() * 0.1)  # any moment will do
    finally:
        for process in workers.values():
            process.kill()
    for name, process in workers.items():
        lines = process.communicate()[0].split("\n")[:-1]
        said[name] = int(lines[-1]) if lines else 0
    return said


def faults(root: Path, said: dict[str, int]) -> list[str]:
    """Return what is not as promised."""
    with locked(root) as state:
        settle_at_opening(state)
        found = [f"not settled: {record}" for record in look(state)]
        found += [f"a stranger's: {record}" for record in state.log.after(0, 1_000_000) if record.origin != "call"]
        tidy(state)
        found += [f"left behind: {each}" for each in leftovers(root)]
    tree = {path: entry for path, entry in disk_tree(root).items() if entry is not None}
    for name, number in said.items():
        own = {path: entry for path, entry in tree.items() if path.startswith(f"{name}/")}
        if own not in (churned_tree(name, number), churned_tree(name, number + 1)):
            found.append(f"{name} said {number}: {own}")
    return found


@pytest.mark.parametrize("seed", range(kill_rounds(3)))
def test_after_a_kill_each_call_is_done_or_not(tmp_path: Path, seed: int) -> None:
    said = killed(tmp_path, random.Random(f"{SEED} {seed}"))
    assert faults(tmp_path, said) == []


def test_a_call_that_is_taken_for_done_is_found_out(tmp_path: Path) -> None:
    said = killed(tmp_path, random.Random(SEED))
    assert faults(tmp_path, said | {"one": said["one"] + 3}) != []
