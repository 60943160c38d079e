"""The process that the demo kills: edits as fast as it can and says what it has begun and what is acknowledged."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from filetools.app.opening import open_workspace
from filetools.cli.demo.edits import insert
from filetools.cli.demo.marks import mark_of
from filetools.cli.demo.stage import SETTINGS
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor

PATHS: Final = ("README.md", "src/tally/test_counter.py", "pyproject.toml", "data/sample.json")


async def main(root: str, mirror: str, name: str) -> None:
    """Wait for a line of input, then edit until killed."""
    if not await asyncio.to_thread(sys.stdin.readline):
        return
    async with open_workspace(root, mirror=mirror, settings=SETTINGS) as opened:
        files = opened.for_actor(Actor(kind="agent", id=name, session="demo"))
        async with asyncio.TaskGroup() as group:
            for lane, path in enumerate(PATHS):
                group.create_task(_edit_for_ever(files, path, 1000 * lane))
                group.create_task(_edit_for_ever(files, path, 1000 * (lane + len(PATHS))))


async def _edit_for_ever(files: FileToolsFacade, path: str, number: int) -> None:
    while True:
        number += 1
        mark = mark_of(files.actor.id, number)
        _say(f"begun {mark}")
        await insert(files, path, mark)
        _say(f"done {mark}")


def _say(line: str) -> None:
    # One system call a line: what is said when the process dies has been said, and nothing is said by half.
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
