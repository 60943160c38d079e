"""A process that takes locks on command: `python -m tests.support.lock_worker COMMAND DIRECTORY ARGUMENT...`.

It prints one line when it is ready and one when it is done, and waits for a line on its standard input in between.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path

from filetools.locks import LockTable

_ROOT = Path(__file__).parents[2]


@contextmanager
def lock_worker(command: str, *arguments: str | Path | int) -> Iterator[subprocess.Popen[str]]:
    """Start a worker, wait until it is ready, and end it with the block."""
    line = [sys.executable, "-m", "tests.support.lock_worker", command, *map(str, arguments)]
    with subprocess.Popen(line, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert said(process) == "ready"
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[str]) -> None:
    """Let a worker go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def said(process: subprocess.Popen[str]) -> str:
    """Wait for a worker's next line."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def _hold(directory: Path, key: str) -> None:
    table = LockTable(directory)
    async with table.hold([key], path=key, owner="worker"):
        _say("ready")
        sys.stdin.readline()
    await table.aclose()
    _say("done")
    sys.stdin.readline()


async def _hold_and_fork(directory: Path, key: str) -> None:
    table = LockTable(directory)
    async with table.hold([key], path=key, owner="worker"):
        child = os.fork()
        if not child:
            signal.pause()
        _say("ready")
        _say(str(child))
        sys.stdin.readline()


async def _count(directory: Path, counter_path: str, rounds: str) -> None:
    """Count up, each number read and written in separate steps, by two tasks on two spellings of the folder."""
    spellings = directory, Path(os.path.relpath(directory))
    tables = [LockTable(spelling) for spelling in spellings]
    counter = Path(counter_path)
    _say("ready")
    sys.stdin.readline()

    async def task(table: LockTable) -> None:
        for _ in range(int(rounds)):
            async with table.hold(["counter"], path="counter", owner="worker"):
                value = int(counter.read_text())
                await asyncio.sleep(0)
                counter.write_text(str(value + 1))

    await asyncio.gather(*(task(table) for table in tables))
    _say("done")


async def _mix(directory: Path, rounds: str, seed: str) -> None:
    """Hold random sets of keys from two tasks, and count under each key in a file of its own."""
    table = LockTable(directory, stripes=8)
    choice = random.Random(int(seed))
    _say("ready")
    sys.stdin.readline()

    async def task() -> None:
        for _ in range(int(rounds)):
            keys = choice.sample("abcdef", choice.randint(1, 4))
            async with table.hold(keys, path="mix", owner="worker"):
                for key in keys:
                    counter = directory.parent / f"count-{key}"
                    counter.write_text(str(int(counter.read_text()) + 1))
                    await asyncio.sleep(0)
            totals.append(len(keys))

    totals: list[int] = []
    await asyncio.gather(task(), task())
    _say(str(sum(totals)))


async def _hog(directory: Path, key: str) -> None:
    """Take the same lock again and again, without a pause, until told to stop by a file beside the folder."""
    table = LockTable(directory)
    _say("ready")
    stop = directory.parent / "stop"
    while not stop.exists():
        async with table.hold([key], path=key, owner="worker"):
            until = time.perf_counter() + 0.0005
            while time.perf_counter() < until:
                pass
    _say("done")


_COMMANDS: dict[str, Callable[..., Coroutine[None, None, None]]] = {
    "hold": _hold,
    "fork": _hold_and_fork,
    "count": _count,
    "mix": _mix,
    "hog": _hog,
}

if __name__ == "__main__":
    asyncio.run(_COMMANDS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:]))
