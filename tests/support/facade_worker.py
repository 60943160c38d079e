"""Programs that tests run as processes of their own: each opens a root and works on it until told or killed.

Usage: python -m tests.support.facade_worker TASK ROOT [ARGUMENT …]
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import filetools
from filetools.facade import FileToolsFacade

RELAXED: dict[str, Any] = {"watch": False, "durability": "relaxed"}


def say(**facts: object) -> None:
    """Tell the test something, one JSON object a line."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def append_lines(root: Path, name: str, count: str, spelling: str) -> None:
    """Append numbered lines to one file, one call each."""
    async with filetools.open(root, settings=RELAXED) as files:
        for number in range(int(count)):
            await files.append_file(spelling, f"{name}:{number}\n")
            say(line=f"{name}:{number}")


async def change_lines(root: Path, name: str, count: str, spelling: str) -> None:
    """Read, change one's own line, and write with the version read; again until it is accepted."""
    async with filetools.open(root, settings=RELAXED) as files:
        for number in range(int(count)):
            await replace_line(files, spelling, name, number)
            say(line=f"{name}:{number}")


async def replace_line(files: FileToolsFacade, path: str, name: str, number: int) -> int:
    """Give line `name` a new number; returns how many tries it took."""
    for tries in range(1, 1000):
        before = await files.read_file(path)
        lines = [f"{name}:{number}" if line.split(":")[0] == name else line for line in before.content.splitlines()]
        try:
            await files.write_file(path, "\n".join(lines) + "\n", expected_version=before.version)
        except filetools.FileToolsError as exc:
            if exc.code != "VERSION_MISMATCH":
                raise
        else:
            return tries
    raise AssertionError("never accepted")


async def write_for_ever(root: Path, mirror: str, seed: str) -> None:
    """Change files in all ways, announcing each change before it begins and after it is acknowledged."""
    settings = {"watch": False, "durability": "relaxed"}
    async with filetools.open(root, mirror=mirror or None, settings=settings) as files:
        say(ready=True)
        async with asyncio.TaskGroup() as group:
            for worker in range(4):
                group.create_task(change_for_ever(files, f"{seed}-{worker}"))


async def change_for_ever(files: FileToolsFacade, name: str) -> None:
    """One file's life, over and over: created, replaced, appended to, moved, deleted."""
    number = 0
    while True:
        number += 1
        path = f"{name}/{number % 5}.txt"
        content = f"{number} " * (number % 7 * 400 + 1)
        for operation, call in (
            ("write", files.write_file(path, content)),
            ("append", files.append_file(path, "end")),
        ):
            say(begin=operation, path=path, content=content + ("end" if operation == "append" else ""))
            await call
            say(done=operation, path=path, content=content + ("end" if operation == "append" else ""))
        if number % 3 == 0:
            say(begin="delete", path=path, content=None)
            await files.delete_file(path)
            say(done="delete", path=path, content=None)


async def rewrite(root: Path, size: str) -> None:
    """Rewrite one large file for ever, each time with another letter."""
    async with filetools.open(root, settings=RELAXED) as files:
        say(ready=True)
        number = 0
        while True:
            number += 1
            letter = "abcdefghijklmnopqrstuvwxyz"[number % 26]
            await files.write_file("big.txt", letter * int(size))
            say(done=number)


async def tell_events(root: Path, name: str) -> None:
    """Print every event of the bus with its time and actor; write a file for each line of the input."""
    async with filetools.open(root, settings={"durability": "relaxed"}) as files:

        def hear(event: Any) -> None:
            say(event=event.name, path=event.path, by=event.actor.id, kind=event.source, at=time.perf_counter())

        files.on("file:*", hear)
        agent = files.for_actor(filetools.Actor(kind="agent", id=name))
        say(ready=True)
        loop = asyncio.get_running_loop()
        while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            result = await agent.write_file(line, f"by {name}\n")
            say(done=line, number=result.number, at=time.perf_counter())


TASKS: dict[str, Callable[..., Awaitable[None]]] = {
    "append": append_lines,
    "change": change_lines,
    "write": write_for_ever,
    "rewrite": rewrite,
    "events": tell_events,
}

if __name__ == "__main__":
    asyncio.run(TASKS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:]))  # type: ignore[arg-type]
