"""SIGKILL at random moments: what was acknowledged is there, nothing is torn, nothing is left over, the mirror is equal."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import filetools
from tests.support.crashing import leftovers, snapshot
from tests.support.kill_oracle import Oracle

ROUNDS = int(os.environ.get("FILETOOLS_KILL_ROUNDS", "5"))
SEED = int(os.environ.get("FILETOOLS_SEED", "20261120"))


def test_what_was_acknowledged_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    chance, oracle = random.Random(SEED), Oracle()
    for number in range(ROUNDS):
        said = kill_a_writer(root, mirror, str(number % 3), chance.randint(50, 800), chance.uniform(0, 0.005))
        oracle.take(said)
        asyncio.run(reopen(root, mirror))
        assert oracle.faults(root) == [], f"seed {SEED}, round {number}"
        assert leftovers(root) + leftovers(mirror) == [], f"seed {SEED}, round {number}"
        assert snapshot(root) == snapshot(mirror), f"seed {SEED}, round {number}"
        oracle.accept(root)
    assert oracle.count > 10 * ROUNDS


def kill_a_writer(root: Path, mirror: Path, seed: str, lines: int, seconds: float) -> list[dict[str, Any]]:
    """Kill it some time after so many lines: a slow machine has done as much by then as a quick one."""
    command = [sys.executable, "-m", "tests.support.facade_worker", "write", str(root), str(mirror), seed]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert json.loads(writer.stdout.readline()) == {"ready": True}
        said = [writer.stdout.readline() for _ in range(lines)]
        killer = threading.Timer(seconds, writer.kill)
        killer.start()
        said += writer.stdout.read().splitlines(keepends=True)
        killer.join()
    whole = [line for line in said if line.endswith("\n")]
    return [json.loads(line) for line in whole]


async def reopen(root: Path, mirror: Path) -> None:
    """Open again and wait, bounded, for the keeper's first rounds and for the mirror."""
    settings = {"watch": False, "durability": "relaxed", "sync_after_seconds": 0.01, "mirror_probe_seconds": 0.1}
    async with filetools.open(root, mirror=mirror, settings=settings) as files:
        for _ in range(6000):
            status = await files.status()
            mirrored = status["mirrors"]["mirror"]
            is_quiet = (status["pending"], mirrored["behind"], mirrored["state"]) == (0, 0, "ready")
            if is_quiet and not leftovers(root) + leftovers(mirror):
                return
            await asyncio.sleep(0.01)
    raise AssertionError(f"not settled: {status} {leftovers(root)} {leftovers(mirror)}")
