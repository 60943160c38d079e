"""A watcher whose hints and resyncs are kept, and waiting for what it tells without sleeping blindly."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filetools.watch.hints import Hint
from filetools.watch.watcher import ForeignWatcher, Method


def excludes_nothing(path: str, is_directory: bool) -> bool:
    return False


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Let the loop run until a condition holds; fails after a bounded time."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.002)


def run_child(program: str, *arguments: str | Path) -> None:
    """Run a Python program to its end in another process."""
    subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=True, timeout=60)


def make_deep_tree(root: Path, depth: int) -> None:
    """Make folders "d" in each other and a file "f" in the last, in a child because only its directory may change."""
    program = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(int(sys.argv[2])):
    os.mkdir("d")
    os.chdir("d")
open("f", "w").close()
"""
    run_child(program, root, str(depth))


def remove_deep_tree(root: Path) -> None:
    """Remove a tree that is too deep for `shutil`."""
    subprocess.run(["rm", "-rf", str(root)], check=True, timeout=60)


@dataclass
class Watched:
    """What one watcher told so far."""

    portions: list[list[Hint]] = field(default_factory=list)
    resyncs: list[str] = field(default_factory=list)
    paths: set[str] = field(default_factory=set, compare=False)

    def take(self, hints: list[Hint]) -> None:
        self.portions.append(hints)
        self.paths.update(hint.path for hint in hints)

    @property
    def hints(self) -> list[Hint]:
        return [hint for portion in self.portions for hint in portion]

    async def quiet_after(self, path: Path) -> list[Hint]:
        """Return all hints before that of a marker file, made last; tells that nothing else is to come."""
        path.write_bytes(b"")
        await until(lambda: path.name in self.paths)
        return [hint for hint in self.hints if hint.path != path.name]


@asynccontextmanager
async def watching(
    root: Path, *, excluded: Callable[[str, bool], bool] = excludes_nothing, method: Method = "auto"
) -> AsyncIterator[tuple[ForeignWatcher, Watched]]:
    """Watch a tree from the moment it is ready."""
    told = Watched()
    watcher = ForeignWatcher(root, excluded=excluded, on_hints=told.take, on_resync=told.resyncs.append, method=method)
    await watcher.start()
    try:
        async with asyncio.timeout(60):
            await watcher.ready()
        yield watcher, told
    finally:
        await watcher.aclose()
