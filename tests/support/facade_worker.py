"""Programs that tests run as processes of their own: each opens a root and works on it until told or killed.

Usage: python -m tests.support.facade_worker TASK ROOT [ARGUMENT …]
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import filetools
from filetools.content.editing.text_edits import TextEdit
from filetools.descriptors.descriptors import Descriptors
from filetools.events.types import ApprovalRequired
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.models.words import Preset
from tests.support.crashing import CrashingOpening
from tests.support.faulty import Plan
from tests.support.inside import is_told_of

RELAXED: dict[str, Any] = {"watch": False, "durability": "relaxed"}


def say(**facts: object) -> None:
    """Tell the test something, one JSON object a line."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def share_files(root: Path, path: str, name: str, count: str) -> None:
    """Work on files that all share; say how many edits changed one."""
    async with filetools.open(root, settings=RELAXED) as files:
        say(done=await share(files, path, name, int(count)))


async def share(files: FileToolsFacade, path: str, name: str, count: int) -> int:
    """Edit one's own lines of a file, append to a second one, and give one's line of a third a new number.

    Returns how many edits changed the file.
    """
    changes = 0
    for number in range(count):
        edit = filetools.Edit(old=f"{name}:{number} open\n", new=f"{name}:{number} done\n")
        changes += not (await files.edit_file(path, [edit])).unchanged
        await files.append_file("log.txt", f"{name}:{number}\n")
        while True:
            before = await files.read_file("lines.txt")
            lines = [f"{name}:{number}" if line.split(":")[0] == name else line for line in before.content.splitlines()]
            try:
                await files.write_file("lines.txt", "\n".join(lines) + "\n", expected_version=before.version)
            except filetools.FileToolsError as exc:
                if exc.code != "VERSION_MISMATCH":
                    raise
            else:
                break
    return changes


async def write_for_ever(root: Path, mirror: str, policy: str, name: str) -> None:
    """Change files in all ways until the input ends or it is killed; announce each change, and say what was acknowledged."""
    settings = {**RELAXED, "lock_timeout_seconds": 60.0, "mirror_wait_seconds": 60.0}
    async with filetools.open(root, mirror=mirror, mirror_policy=policy, settings=settings) as files:  # type: ignore[arg-type]
        say(ready=True)
        ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        async with asyncio.TaskGroup() as group:
            for task in range(3):
                group.create_task(_write_until(ended, files, f"{name}/{task}"))


async def _write_until(ended: asyncio.Future[str], files: FileToolsFacade, name: str) -> None:
    number = 0
    while not ended.done():
        number += 1
        path, other = f"{name}/{number % 5}.txt", f"{name}/moved.txt"
        line = f"{name} {number} of process {os.getpid()}"  # a name comes again in later rounds
        text = f"{number} " * (number % 7 * 400 + 1)

        async def done(states: dict[str, str | None], call: Awaitable[object]) -> None:
            say(begin=states)
            await call
            say(done=states)

        await done({path: text}, files.write_file(path, text))
        await done({path: text + "end"}, files.append_file(path, "end"))
        await files.append_file("shared.txt", f"{line}\n")
        say(line=line)
        if number % 2:
            await done({path: None, other: text + "end"}, files.move_file(path, other, overwrite=True))
        elif number % 3:
            await done({path: None}, files.delete_file(path))


async def tell_events(root: Path, name: str) -> None:
    """Print every event of the bus with its actor; write a file for each line of the input."""
    async with filetools.open(root, settings={"durability": "relaxed"}) as files:

        def hear(event: Any) -> None:
            say(event=event.name, path=event.path, by=event.actor.id, kind=event.source)

        files.on("file:*", hear)
        agent = files.for_actor(filetools.Actor(kind="agent", id=name))
        say(ready=True)
        async for line in lines_of_input():
            result = await agent.write_file(line, f"by {name}\n")
            say(done=line, number=result.number)


async def ask_people(root: Path, name: str, wait_seconds: str, permissions: Preset = "ask") -> None:
    """Write a file for each line of the input, where people are asked first; print what came of it."""
    settings = {**RELAXED, "approval_wait_seconds": float(wait_seconds)}
    async with filetools.open(root, permissions=permissions, settings=settings) as files:
        agent = files.for_actor(filetools.Actor(kind="agent", id=name))
        say(ready=True)
        async for line in lines_of_input():
            done = line
            try:
                await agent.write_file(line, f"by {name}\n")
            except filetools.FileToolsError as exc:
                done = exc.code
            say(done=done)


async def answer_agents(root: Path, answer: str) -> None:
    """Give every question of any process the same answer."""
    async with filetools.open(root, settings=RELAXED) as files:
        person = files.for_actor(Actor(kind="editor", id="ann"))

        async def asked(event: ApprovalRequired) -> None:
            say(asked=event.path)
            if answer != "nothing":
                await person.answer_approval(event.approval_id, answer)

        files.on("tool:approval_required", asked)
        attendance = files.attend_approvals()
        while not await files._parts.workers.run(lambda: is_told_of(files, listens=True)):
            await asyncio.sleep(0.002)
        say(ready=True)
        async for _ in lines_of_input():
            attendance.close()


async def type_texts(root: Path, name: str) -> None:
    """Be a person's editor: for each path in the input open a document and type at its beginning, and save nothing."""
    async with filetools.open(root, settings=RELAXED) as files:
        buffers = files.for_actor(filetools.Actor(kind="editor", id=name)).buffers
        say(ready=True)
        async for path in lines_of_input():
            opened = await buffers.open(path)
            await buffers.change(opened.handle, buffer_version=opened.buffer_version, edits=[TextEdit(0, 0, "typed\n")])
            say(done=path)


async def lines_of_input() -> AsyncIterator[str]:
    """Yield what the test says, line by line, until it ends."""
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        yield line


async def move_and_die(root: Path, source: str, destination: str) -> None:
    """Move a file and die between the commit and the renaming."""
    async with CrashingOpening(root, Plan.die_before("move")) as files:
        await files.move_file(source, destination, overwrite=True)


async def stay_at_work(root: Path, path: str, moment: str) -> None:
    """Say `ready` in the middle of a write, before or after its commit, and stop there until the test sends a line."""

    class Pausing(Plan):
        def run(self, store: str, method: str, at: str, action: Callable[[], Any], half: Any = None) -> Any:
            if method == "Journal.commit" and moment == "before":
                say(ready=True)
                sys.stdin.readline()
            result = action()
            if method == "Journal.commit" and moment == "after":
                say(ready=True)
                sys.stdin.readline()
            return result

    async with CrashingOpening(root, Pausing()) as files:
        await files.write_file(path, "theirs\n")
        say(done=True)


async def keep_texts(root: Path, name: str, count: str, size: str) -> None:
    """Keep long texts for one agent, each of which begins with its worker's name and a number."""
    async with filetools.open(root, settings=RELAXED) as files:
        kept = files.for_actor(Actor(kind="agent", id="alice")).descriptors()
        for number in range(int(count)):
            text = f"{name}:{number}\n" * int(size)
            frame = await kept.run(partial(Descriptors.create, text=text))
            say(fd=frame.attributes["fd"], first=f"{name}:{number}")


TASKS: dict[str, Callable[..., Awaitable[None]]] = {
    "share": share_files,
    "write": write_for_ever,
    "events": tell_events,
    "move and die": move_and_die,
    "asks": ask_people,
    "answers": answer_agents,
    "types": type_texts,
    "keeps": keep_texts,
    "stays": stay_at_work,
}

if __name__ == "__main__":
    asyncio.run(TASKS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:]))  # type: ignore[arg-type]
