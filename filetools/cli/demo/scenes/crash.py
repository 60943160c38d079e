"""Another process is killed in the middle of writing; what it had committed is carried out by those who live."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from typing import Final

from filetools.cli.demo.marks import line_with, marks_in
from filetools.cli.demo.scenes.scene import Scene
from filetools.cli.demo.stage import Stage, read_tree

NAME: Final = "carol"
SHOWN: Final = "README.md"
"""One of the files that it edits."""
ENOUGH_EDITS: Final = 12
START_SECONDS: Final = 20.0
LOOKS: Final = 100
"""How often at most it is looked whether the process is in the middle of something."""
LOOK_SECONDS: Final = 5.0
RUN_SECONDS: Final = 0.003
"""How long it goes on between two looks."""


class Crash(Scene):
    """SIGKILL: no handler runs, no buffer is written, no lock is given back by the process itself."""

    title = "A second process writes, and is killed in the middle of it"

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def prepare(self, stage: Stage) -> None:
        """Start the process, which waits for a word."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "filetools.cli.demo.victim", str(stage.root), str(stage.mirror), NAME,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        stage.children.append(self._process)

    async def play(self, stage: Stage) -> None:
        """Let it edit, kill it, and see how it is settled."""
        assert self._process is not None
        before = stage.ledger.acknowledged.copy()
        unfinished = await _kill_in_the_middle(stage, self._process)
        stage.ledger.unfinished_at_kill += unfinished
        done = stage.ledger.acknowledged - before
        stage.narrator.say(
            f"killed after {len(done)} edits; {unfinished} more committed to the journal, not carried out"
        )

        async def is_settled() -> bool:
            return not (await stage.files.status())["pending"]

        if await stage.until(is_settled):
            stage.narrator.say("those who live have carried that out; what carol did is there, such as")
            text = read_tree(stage.root)[SHOWN]
            newest = max(done & marks_in(text), default="")
            if newest:
                stage.narrator.show("+ " + line_with(newest, SHOWN))


async def _kill_in_the_middle(stage: Stage, process: asyncio.subprocess.Process) -> int:
    """Let a process edit, kill it, and return how many of its changes were under way then."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"go\n")
    done = 0
    try:
        async with asyncio.timeout(START_SECONDS):
            while done < ENOUGH_EDITS and (line := await process.stdout.readline()):
                done += _note(stage, line)
        await _until_in_the_middle(stage, process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    unfinished = int((await stage.files.status())["pending"])
    # What it said before it died counts, too: an edit that was acknowledged must be there.
    for line in (await process.stdout.read()).splitlines():
        _note(stage, line)
    return unfinished


async def _until_in_the_middle(stage: Stage, process: asyncio.subprocess.Process) -> None:
    """Stop the process where something is committed and not carried out; where it cannot be stopped, return at once."""
    if not hasattr(signal, "SIGSTOP"):
        return
    for _ in range(LOOKS):
        process.send_signal(signal.SIGSTOP)
        with suppress(TimeoutError):  # stopped with a lock that a look waits for: that is the middle of something, too
            async with asyncio.timeout(LOOK_SECONDS):
                if not (await stage.files.status())["pending"]:
                    process.send_signal(signal.SIGCONT)
                    await asyncio.sleep(RUN_SECONDS)
                    continue
        return


def _note(stage: Stage, line: bytes) -> bool:
    """Put a line of the process into the books; whether it acknowledges an edit."""
    word, _, mark = line.decode("ascii").strip().partition(" ")
    if word == "begun":
        stage.ledger.made.add(mark)
    elif word == "done":
        stage.ledger.acknowledged.add(mark)
    return word == "done"
