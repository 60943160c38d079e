"""Two agents and a shell at work on the same files at the same time."""

from __future__ import annotations

import asyncio
from typing import Final

from filetools.cli.demo.edits import append, insert
from filetools.cli.demo.marks import line_with, marks_in
from filetools.cli.demo.scenes.scene import Scene
from filetools.cli.demo.stage import EditKind, Stage
from filetools.cli.demo.strangers import REWRITTEN, rewrite_in_place, save_by_rename, shell_append

_SHARED: Final = ("README.md", "data/config.json", "CHANGELOG.md")
_OWN: Final = {
    "alice": ("src/tally/counter.py", "docs/install-windows.txt"),
    "bob": ("src/tally/report.py", "data/sample.json"),
}
ROUNDS: Final = 3
PAUSE_SECONDS: Final = 0.02


class Together(Scene):
    """Parallel edits: agents expect the version they read, others know nothing of versions."""

    title = "Two agents and a shell change the same files at once"

    async def play(self, stage: Stage) -> None:
        """Let all of them work."""
        async with asyncio.TaskGroup() as group:
            for actor in _OWN:
                group.create_task(_agent(stage, actor))
            group.create_task(_shell(stage))
            group.create_task(_editors(stage))
        shared = _SHARED[0]
        marks = marks_in((stage.root / shared).read_bytes())
        stage.narrator.say(f"{shared} has the lines of all three that wrote into it, such as")
        for actor in ("alice", "bob", "shell"):
            newest = max((mark for mark in marks if mark.startswith(f"{actor}-")), default=None)
            if newest is not None:
                stage.narrator.show("+ " + line_with(newest, shared))
        stage.narrator.say(f"{stage.ledger.retries} writes came too late: refused, and repeated on the newer text")


async def _agent(stage: Stage, actor: str) -> None:
    kinds: tuple[EditKind, ...] = (insert, insert, append)
    for _ in range(ROUNDS):
        for path, how in zip(_SHARED, kinds, strict=True):
            await stage.edit(actor, path, how)
        for path in _OWN[actor]:
            await stage.edit(actor, path, insert)
        await asyncio.sleep(PAUSE_SECONDS)


async def _shell(stage: Stage) -> None:
    for path in ("README.md", "CHANGELOG.md", "Makefile") * 2:
        await stage.stranger("shell", path, shell_append)
        await asyncio.sleep(PAUSE_SECONDS)


async def _editors(stage: Stage) -> None:
    # Files of their own: a program that reads, waits and writes back would itself undo what others wrote meanwhile.
    await stage.stranger("script", REWRITTEN, rewrite_in_place)
    await stage.stranger("script", "docs/guide.md", save_by_rename)
