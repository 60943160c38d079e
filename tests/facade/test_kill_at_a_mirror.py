"""Three processes write at one root with one mirror, and one of them is killed: no write of the others is refused for that."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

import pytest

import filetools
from tests.facade.test_kill import reopen
from tests.support.crashing import leftovers, snapshot

ROUNDS = int(os.environ.get("FILETOOLS_KILL_ROUNDS", "1"))
SEED = int(os.environ.get("FILETOOLS_SEED", "20261122"))
WRITERS = 3


class Writer:
    """One process, and what it has said."""

    def __init__(self, root: Path, mirror: Path, policy: str, name: str) -> None:
        command = [sys.executable, "-m", "tests.support.facade_worker", "write beside others"]
        self.process = subprocess.Popen(
            [*command, str(root), str(mirror), policy, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.said: list[dict[str, Any]] = []
        self.heard = threading.Condition()
        assert self.process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,))
        self._reader.start()

    def rounds(self) -> int:
        return sum("done" in fact for fact in self.said)

    def wait_for(self, rounds: int) -> None:
        """Wait until it has made so many rounds; a slow machine has done as much by then as a quick one."""
        with self.heard:
            assert self.heard.wait_for(lambda: self.rounds() >= rounds, timeout=100), self.said[-3:]

    def kill(self) -> None:
        self.process.kill()
        self._end()

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._end()
        assert self.process.returncode == 0

    def _end(self) -> None:
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            with self.heard:
                if line.endswith("\n"):
                    self.said.append(json.loads(line))
                self.heard.notify_all()


@pytest.mark.parametrize("policy", ["eventual", "strict"])
async def test_a_kill_at_one_mirror_refuses_nobodys_write_and_leaves_it_equal(tmp_path: Path, policy: Any) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    await reopen(root, mirror)
    chance = random.Random(SEED)
    for number in range(ROUNDS):
        told = f"seed {SEED}, round {number}, {policy}"
        writers = [Writer(root, mirror, policy, f"w{index}") for index in range(WRITERS)]
        try:
            for writer in writers:
                writer.wait_for(chance.randint(1, 6))
            victim = writers.pop(chance.randrange(WRITERS))
            victim.kill()
            for writer in writers:
                writer.wait_for(writer.rounds() + 3)
            for writer in writers:
                writer.stop()
        finally:
            for writer in writers:
                writer.process.kill()
        refused = [fact for writer in (*writers, victim) for fact in writer.said if "refused" in fact]
        assert refused == [], told
        await reopen(root, mirror)
        assert snapshot(mirror) == snapshot(root), told
        assert leftovers(root) + leftovers(mirror) == [], told
        async with filetools.open(root, mirror=mirror, settings={"watch": False}) as files:
            assert (await files.sync_all(preview=True, verify=True)).total_files == 0, told
