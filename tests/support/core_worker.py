"""Processes with a writer of their own.

`python -m tests.support.core_worker increment ROOT TIMES`, or `hold ROOT`, or `churn ROOT NAME`.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

from filetools.changes.overlay import content_in
from filetools.writer.operations import Decided, MakeFolder, Move, Put, Seen, TreeOperation, Want
from tests.support.core import Core, at, opened_core

COUNTER = at("counter")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def incremented(seen: Seen) -> Decided:
    found = seen.at(COUNTER)
    number = int(content_in(seen, found) or b"0") + 1
    return Decided(operations=[Put(path=COUNTER, content=b"%d" % number)], answer=number)


async def increment(core: Core) -> object:
    return (await core.decide(incremented, Want(path=COUNTER, content=True))).answer


async def increment_often(root: Path, times: int) -> None:
    async with opened_core(root) as core:
        say("ready")
        await asyncio.to_thread(sys.stdin.readline)
        for _ in range(times):
            await increment(core)
    say("done")


async def hold(root: Path) -> None:
    """Stay in a turn until a line comes, and increment then."""
    async with opened_core(root) as core:
        was_told = threading.Event()

        def stay() -> None:
            say("in turn")
            sys.stdin.readline()
            was_told.set()

        core.writer.submit(stay)
        await asyncio.to_thread(was_told.wait)
        await increment(core)
    say("done")


def churned(name: str, number: int) -> list[TreeOperation]:
    """Return the operations of one call of `churn`; all are done, or none."""
    text = b"%d" % number
    if number == 0:
        folders = [MakeFolder(path=at(path)) for path in (name, f"{name}/d")]
        return [*folders, *(Put(path=at(f"{name}/{each}"), content=text) for each in ("a", "b", "c", "d/x"))]
    if number % 3 == 1:
        return [Put(path=at(f"{name}/a"), content=text)]
    if number % 3 == 2:
        return [Put(path=at(f"{name}/{each}"), content=text) for each in "bc"]
    source, target = (f"{name}/d", f"{name}/e")[:: 1 if number % 2 else -1]
    return [Move(path=at(source), to=at(target)), Put(path=at(f"{target}/x"), content=text)]


def churned_tree(name: str, number: int) -> dict[str, bytes]:
    """Return the files that `churn` has after a call."""
    tree: dict[str, bytes] = {}
    for each in range(number + 1):
        for operation in churned(name, each):
            if isinstance(operation, Move):
                tree[f"{operation.to}/x"] = tree.pop(f"{operation.path}/x")
            elif isinstance(operation, Put):
                tree[operation.path] = operation.content
    return tree


async def churn(root: Path, name: str) -> None:
    """Change files and folders until killed, and say the number of each call that was acknowledged."""
    async with opened_core(root) as core:
        for number in range(1_000_000):
            await core.do(*churned(name, number))
            say(f"{number}")


if __name__ == "__main__":
    _, act, place, *rest = sys.argv
    acts = {
        "increment": lambda: increment_often(Path(place), int(rest[0])),
        "churn": lambda: churn(Path(place), rest[0]),
    }
    asyncio.run(acts[act]() if act in acts else hold(Path(place)))
