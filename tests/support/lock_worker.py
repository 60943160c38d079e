"""Processes that take locks on command.

A worker says when it is ready and when it is done, and waits to be told to go on in between.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from filetools.locks.table import LockTable


class Worker:
    """A worker process, from outside."""

    def __init__(self, command: str, arguments: tuple[str, ...]) -> None:
        self._pipe, theirs = _SERVER.Pipe()
        self._process = _SERVER.Process(target=_run, args=(theirs, command, *arguments))
        self._process.start()
        theirs.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def tell(self) -> None:
        """Let it go on."""
        self._pipe.send("")

    def said(self) -> str:
        """Wait for its next line; "" if it has ended."""
        try:
            return str(self._pipe.recv())
        except (EOFError, ConnectionResetError):
            return ""

    def send_signal(self, number: int) -> None:
        """Signal it."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self._process.kill()
        self._process.join()


@contextmanager
def lock_worker(command: str, *arguments: str | Path | int) -> Iterator[Worker]:
    """Start a worker, wait until it is ready, and end it with the block."""
    worker = Worker(command, tuple(map(str, arguments)))
    try:
        assert worker.said() == "ready"
        yield worker
    finally:
        worker.kill()


# Each worker is forked from one process that has imported everything: importing takes longer than most tests.
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload([__name__])
_to_test: Connection | None = None


def _run(pipe: Connection, command: str, directory: str, *arguments: str) -> None:
    global _to_test  # a worker has one command and one other end
    _to_test = pipe
    asyncio.run(_COMMANDS[command](Path(directory), *arguments))


def _say(text: str) -> None:
    assert _to_test is not None
    _to_test.send(text)


def _wait() -> None:
    assert _to_test is not None
    _to_test.recv()


async def _hold(directory: Path, key: str) -> None:
    table = LockTable(directory)
    async with table.hold([key], path=key, owner="worker"):
        _say("ready")
        _wait()
    await table.aclose()
    _say("done")
    _wait()


async def _hold_and_fork(directory: Path, key: str) -> None:
    table = LockTable(directory)
    async with table.hold([key], path=key, owner="worker"):
        child = os.fork()
        if not child:
            signal.pause()
        _say("ready")
        _say(str(child))
        _wait()


async def _count(directory: Path, counter_path: str, rounds: str) -> None:
    """Count up, each number read and written in separate steps, by two tasks on two spellings of the folder."""
    spellings = directory, Path(os.path.relpath(directory))
    tables = [LockTable(spelling) for spelling in spellings]
    counter = Path(counter_path)
    _say("ready")
    _wait()

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
    _wait()

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
