"""Processes with a writer of their own: `python -m tests.support.core_worker increment ROOT TIMES`, `hold ROOT`."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

from filetools.writer.operations import Decided, Put, Seen, Want
from tests.support.core import Core, at, opened_core

COUNTER = at("counter")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def incremented(seen: Seen) -> Decided:
    found = seen.at(COUNTER)
    number = int(found.content or b"0") + 1
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


if __name__ == "__main__":
    _, act, place, *rest = sys.argv
    asyncio.run(increment_often(Path(place), int(rest[0])) if act == "increment" else hold(Path(place)))
