"""Checkpoints beside git on one tree: the first, one of nothing new, one of a hundred changed files, and going back (goal 25).

Git's repository and our state lie in the same root, each outside the other's sight, so that both look at the same files in
the same page cache. The smaller tree has files of 10 KB, the larger one of a line. Processor time is that of all threads and
children: on a busy machine it says more than the clock.

Usage: python -m benchmarks.bench_checkpoints [FILES [MOST_FILES]]    (10,000 and 100,000 by default)
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks.measure import Row, Times, compared, dose, print_heading, publish, settle
from benchmarks.stalls import publish_worst
from benchmarks.trees import tree

FILES_A_FOLDER: Final = 100
FILE_BYTES: Final = 10_240
CHANGED: Final = 100
ROUNDS: Final = 5
SETTLED_SECONDS: Final = 0.05
"""Longer than a tick of the clock that stamps files: what is younger is read again, here as in git."""
GIT: Final = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0")


@dataclass
class Taken:
    """What one side took, round by round."""

    wall: list[tuple[float, ...]] = field(default_factory=list)
    cpu: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, wall: float, cpu: float) -> None:
        """Add a round."""
        self.wall.append((wall,))
        self.cpu.append((cpu,))


class Bench:
    """One tree, with a repository and our state in it."""

    def __init__(self, root: Path, files: int) -> None:
        self.root = root
        self.names = [f"folder{at // FILES_A_FOLDER:04d}/file{at % FILES_A_FOLDER:02d}.txt" for at in range(files)]
        self.git_side: dict[str, Taken] = {}
        self.our_side: dict[str, Taken] = {}
        self._random = random.Random(1)
        self._words = ["".join(self._random.choices("abcdefghij", k=self._random.randint(2, 9))) for _ in range(2000)]
        self._numbers = count()

    def grow(self) -> None:
        """Write files of its own."""
        for name in self.names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text())

    def text(self) -> str:
        """Return words by chance, as many bytes as a file has."""
        return (" ".join(self._random.choices(self._words, k=2000)) + "\n" * FILE_BYTES)[:FILE_BYTES]

    def change(self, names: Sequence[str] = ()) -> Sequence[str]:
        """Change some files, spread over all folders; returns their names, once their stamps are old enough."""
        names = names or self.names[next(self._numbers) % FILES_A_FOLDER :: len(self.names) // CHANGED][:CHANGED]
        for name in names:
            (self.root / name).write_text(self.text())
        time.sleep(SETTLED_SECONDS)
        return names

    def tracked(self) -> int:
        """Return how many files git knows: rules leave some out, here as there."""
        command = [*GIT, "ls-files", "-z"]
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True).stdout.count(b"\0")

    def git(self, what: str, *commands: tuple[str, ...]) -> None:
        """Run git and keep what it took under a name; "" keeps nothing."""
        before, began = _cpu(resource.RUSAGE_CHILDREN), time.perf_counter()
        for command in commands:
            subprocess.run([*GIT, *command], cwd=self.root, check=True, capture_output=True)
        wall, cpu = time.perf_counter() - began, _cpu(resource.RUSAGE_CHILDREN) - before
        if what:
            self.git_side.setdefault(what, Taken()).add(wall, cpu)

    async def ours(self, what: str, call: Callable[[], Awaitable[Any]]) -> Any:
        """Await a call of ours and keep what it took."""
        before, began = _cpu(resource.RUSAGE_SELF), time.perf_counter()
        result = await call()
        wall, cpu = time.perf_counter() - began, _cpu(resource.RUSAGE_SELF) - before
        self.our_side.setdefault(what, Taken()).add(wall, cpu)
        return result

    def report(self, what: str, limit: float | None, floor: str) -> None:
        """Publish both ratios of what was measured under a name."""
        ours, theirs = self.our_side[what], self.git_side[what]
        for kind, mine, git in (("processor time", ours.cpu, theirs.cpu), ("time", ours.wall, theirs.wall)):
            is_judged = kind == "time" and limit is not None
            publish(
                compared("25" if is_judged else "-", f"{what}, {len(self.names):,} files: {kind} / {floor}",
                         Times(tuple(mine)), Times(tuple(git)), limit=limit if is_judged else None, floor_name=floor)
            )  # fmt: skip

    async def first(self, files: filetools.FileToolsFacade) -> None:
        """The first checkpoint, and all files added to a new repository."""
        self.git("", ("init", "-q"))
        self.git("first checkpoint", ("add", "-A"))
        self.git("", ("commit", "-qm", "first"))
        await settle()
        made = await self.ours("first checkpoint", lambda: files.checkpoint("first"))
        assert (made.files, made.by_hash_alone, made.unread) == (self.tracked(), [], [])

    async def nothing(self, files: filetools.FileToolsFacade) -> None:
        """A checkpoint although nothing has changed."""
        for number in range(2 * ROUNDS):
            self.git("nothing changed", ("status", "--porcelain"))
            made = await self.ours("nothing changed", partial(files.checkpoint, f"same{number}"))
            assert made.files == self.tracked()

    async def changed(self, files: filetools.FileToolsFacade) -> None:
        """A checkpoint after some files have changed."""
        for number in range(ROUNDS):
            names = self.change()
            await settle()
            self.git("100 files changed", ("status", "--porcelain"), ("add", "--", *names))
            await self.ours("100 files changed", partial(files.checkpoint, f"changed{number}"))
        self.git("", ("commit", "-qm", "changed"))

    async def restored(self, files: filetools.FileToolsFacade) -> None:
        """Some files brought back to what they were."""
        for number in range(ROUNDS):
            await files.checkpoint("before", replace=True)
            names = self.change()
            self.git("restore of 100 files", ("checkout", "-q", "HEAD", "--", *names))
            before = {name: (self.root / name).read_bytes() for name in names}
            self.change(names)
            # A restore looks at the whole tree and keeps what it replaces; a checkout of names does neither.
            keeping = ("status", "--porcelain"), ("add", "--", *names), ("checkout", "-q", "HEAD", "--", *names)
            self.git("the same, keeping what is replaced", *keeping)
            self.change(names)
            result = await self.ours("restore of 100 files", lambda: files.restore("before"))
            self.our_side["the same, keeping what is replaced"] = self.our_side["restore of 100 files"]
            assert len(result.files) == CHANGED, number
            assert before == {name: (self.root / name).read_bytes() for name in names}

    def stored(self) -> None:
        """Compare what both keep on the disk, at rest, after the first checkpoint alone."""
        ours = _bytes_in(self.root / ".filetools", without="reserve")
        theirs = _bytes_in(self.root / ".git" / "objects")
        publish(
            Row(goal="-", name=f"stored after the first, {len(self.names):,} files / git's objects",
                value=ours / theirs, floor_name="git's objects")
        )  # fmt: skip
        publish(Row(goal="-", name=f"stored after the first, {len(self.names):,} files", value=ours, unit="bytes"))


async def measure_all(root: Path, files: int) -> None:
    """Measure everything in a tree of its own."""
    bench = Bench(root, files)
    bench.grow()
    os.sync()
    time.sleep(SETTLED_SECONDS)
    async with filetools.open(root) as opened:
        await bench.first(opened)
    bench.stored()
    async with filetools.open(root) as opened:
        await opened.checkpoint("warm")
        for part in (bench.nothing, bench.changed, bench.restored):
            await settle()
            await part(opened)
    bench.report("first checkpoint", 1.0, "git add -A")
    bench.report("nothing changed", 1.5, "git status")
    bench.report("100 files changed", None, "git status, git add of them")
    bench.report("restore of 100 files", None, "git checkout of them")
    bench.report("the same, keeping what is replaced", None, "git status, add, checkout")


async def measure_many(files: int) -> None:
    """Measure what has a goal in the tree that other benchmarks share, and how long the loop stands still meanwhile."""
    with tree(files) as root:
        bench = Bench(root, files)
        try:
            async with filetools.open(root) as opened:
                await bench.first(opened)
                await settle()
                await publish_worst(f"checkpoint of {files:,} files", lambda: opened.checkpoint("warm"), rounds=1)
                await bench.nothing(opened)
        finally:
            shutil.rmtree(root / ".git", ignore_errors=True)
        bench.report("first checkpoint", 1.0, "git add -A")
        bench.report("nothing changed", 1.5, "git status")


async def main(files: int, most: int) -> None:
    """Measure everything."""
    print_heading()
    with tempfile.TemporaryDirectory(prefix="bench-checkpoints-") as folder:
        await measure_all(Path(folder), files)
    await measure_many(most)


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _bytes_in(folder: Path, without: str = "") -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != without)


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("git is not installed")
    asyncio.run(main(dose(10_000), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000))
