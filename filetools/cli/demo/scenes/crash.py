"""Another process is killed in the middle of writing; what it had committed is carried out by those who live."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from filetools.cli.demo.stage import Stage

ENOUGH_EDITS: Final = 12
NAMES: Final = ("carol", "dave", "erin")
"""As many processes are killed, at most, as there are names."""
START_SECONDS: Final = 20.0


class Crash:
    """SIGKILL: no handler runs, no buffer is written, no lock is given back by the process itself."""

    title = "A second process writes, and is killed in the middle of it"

    async def play(self, stage: Stage) -> None:
        """Start it, kill it, and see how it is settled; once more if it died with nothing unfinished."""
        for name in NAMES:
            unfinished = await _kill_in_the_middle(stage, name)
            if unfinished:
                break
        stage.ledger.unfinished_at_kill += unfinished
        await stage.narrator.say(f"killed by SIGKILL; committed and not finished by then: {unfinished}")

        async def is_settled() -> bool:
            return not (await stage.files.status())["pending"]

        if await stage.until(is_settled):
            await stage.narrator.say("all of that is settled")


async def _kill_in_the_middle(stage: Stage, name: str) -> int:
    """Let a process edit, kill it, and return how many of its changes were under way then."""
    command = (sys.executable, "-m", "filetools.cli.demo.victim", str(stage.root), str(stage.mirror), name)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    done = 0
    try:
        async with asyncio.timeout(START_SECONDS):
            while done < ENOUGH_EDITS and (line := await process.stdout.readline()):
                done += _note(stage, line)
    finally:
        process.kill()
        await process.wait()
    unfinished = int((await stage.files.status())["pending"])
    # What it said before it died counts, too: an edit that was acknowledged must be there.
    for line in (await process.stdout.read()).splitlines():
        _note(stage, line)
    return unfinished


def _note(stage: Stage, line: bytes) -> bool:
    """Put a line of the process into the books; whether it acknowledges an edit."""
    word, _, mark = line.decode("ascii").strip().partition(" ")
    if word == "begun":
        stage.ledger.made.add(mark)
    elif word == "done":
        stage.ledger.acknowledged.add(mark)
    return word == "done"
