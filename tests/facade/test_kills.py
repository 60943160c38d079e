"""SIGKILL at random moments, of a single writer or of one of three: acknowledged changes survive, nothing is torn or left over,
the others are not refused, and the mirror is equal.

FILETOOLS_KILL_ROUNDS sets the number of rounds; a failure prints its seed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.crashing import leftovers, recovered, snapshot
from tests.support.dose import SEED, kill_rounds
from tests.support.forked import Forked, forked
from tests.support.opened import steps_until

ROUNDS = kill_rounds(15)
LOTS = 3


@dataclass
class Oracle:
    """The possible contents of each path: the last acknowledged one, or one announced after it."""

    acknowledged: dict[str, str | None] = field(default_factory=dict)
    announced: dict[str, list[str | None]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    """Acknowledged lines of a file to which all append."""

    def take(self, facts: Iterable[dict[str, Any]]) -> None:
        """Update from a writer's output, in order."""
        for fact in facts:
            for path, content in fact.get("begin", {}).items():
                self.announced.setdefault(path, []).append(content)
            for path, content in fact.get("done", {}).items():
                self.acknowledged[path], self.announced[path] = content, []
            self.lines += [fact["line"]] if "line" in fact else []

    def faults(self, root: Path) -> list[str]:
        """Return what is lost or torn, then continue from the present contents."""
        found = []
        for path in {*self.acknowledged, *self.announced}:
            place = root / path
            standing = place.read_text() if place.exists() else None
            allowed = [self.acknowledged.get(path), *self.announced.get(path, [])]
            if standing not in allowed:
                found.append(
                    f"{path}: {(standing or 'nothing')[:60]!r} is none of {[str(one)[:40] for one in allowed]}"
                )
            self.acknowledged[path], self.announced[path] = standing, []
        shared = (root / "shared.txt").read_text().splitlines() if self.lines else []
        return found + [f"{line} is there {shared.count(line)} times" for line in self.lines if shared.count(line) != 1]


@pytest.mark.parametrize("lot", range(LOTS))
async def test_what_was_acknowledged_survives_a_kill_at_any_moment(lot: int, tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    chance, oracle = random.Random(f"{SEED} {lot}"), Oracle()
    for number in range(lot, ROUNDS, LOTS):
        about = f"seed {SEED}, round {number}"
        oracle.take(await killed_among(root, mirror, number, chance))
        async with recovered(root, mirror) as files:
            assert oracle.faults(root) == [], about
            assert snapshot(root) == snapshot(mirror), about
            assert leftovers(root) + leftovers(mirror) == [], about
            assert (await files.sync_all(preview=True, verify=True)).total_files == 0, about
    assert len(oracle.lines) >= ROUNDS // LOTS


async def killed_among(root: Path, mirror: Path, number: int, chance: random.Random) -> list[dict[str, Any]]:
    """Kill one writer some time after this many lines, to be independent of the machine's speed. Returns the output of all."""
    policy, names = ("eventual", "strict")[number % 2], range(3 if number % 3 == 0 else 1)
    said: list[list[dict[str, Any]]] = [[] for _ in names]
    with ExitStack() as stack:
        writers = [stack.enter_context(a_writer(root, mirror, policy, f"{number % 5}-{name}")) for name in names]
        # Unread output would block them, and a blocked writer blocks the others.
        readers = [
            asyncio.create_task(asyncio.to_thread(follow, writer, heard))
            for writer, heard in zip(writers, said, strict=True)
        ]
        await until_said(said, [chance.randint(20, 60) for _ in said])
        await asyncio.sleep(chance.uniform(0, 0.005))
        writers[0].kill()
        await until_said(said[1:], [len(heard) + 30 for heard in said[1:]])
        for writer in writers[1:]:
            writer.stdin.close()
        await asyncio.gather(*readers)
        assert [writer.wait() for writer in writers[1:]] == [0] * (len(writers) - 1), "refused for the death of another"
    return [fact for heard in said for fact in heard]


def follow(writer: Forked, heard: list[dict[str, Any]]) -> None:
    heard.extend(writer.rest())


async def until_said(said: list[list[dict[str, Any]]], counts: list[int]) -> None:
    await steps_until(lambda: all(len(heard) >= count for heard, count in zip(said, counts, strict=True)))


def a_writer(root: Path, mirror: Path, policy: str, name: str) -> Forked:
    return forked("tests.support.facade_worker", "write", root, mirror, policy, name)


def test_a_file_older_than_its_acknowledged_content_is_detected(tmp_path: Path) -> None:
    oracle = Oracle()
    oracle.take(
        [{"begin": {"a": "1"}}, {"done": {"a": "1"}}, {"begin": {"a": "2"}}, {"done": {"a": "2"}}, {"line": "x"}]
    )
    (tmp_path / "a").write_text("1")
    (tmp_path / "shared.txt").write_text("y\n")
    assert [fault.split()[0] for fault in oracle.faults(tmp_path)] == ["a:", "x"]
