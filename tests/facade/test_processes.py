"""Several processes on one root: each soon sees the others' changes with their actors, and no live process is recovered."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import filetools
from filetools.errors import LockTimeoutError
from filetools.events.types import Event
from filetools.journal.storage.gate import Gate
from tests.support.facade_worker import RELAXED
from tests.support.opened import lapse_leases, steps_until, told
from tests.support.peers import Peer, peer


async def stop_outside_the_gate(other: Peer, root: Path) -> None:
    """Stop a process while it is not writing to the journal; otherwise it would block the others."""
    gate = Gate(root / ".filetools/state", timeout_seconds=0.0)
    async with asyncio.timeout(60):
        while True:
            other.process.send_signal(signal.SIGSTOP)
            try:
                with gate:
                    break
            except LockTimeoutError:
                other.process.send_signal(signal.SIGCONT)
                await asyncio.sleep(0.001)
    gate.close()


async def until_done(other: Peer) -> None:
    """Wait until a peer's write was acknowledged."""
    while "done" not in await other.hear():
        pass


async def test_two_processes_see_each_others_changes_with_the_right_actor(tmp_path: Path) -> None:
    heard: asyncio.Queue[Event] = asyncio.Queue()
    async with filetools.open(tmp_path, settings=RELAXED) as files, peer(tmp_path, "other") as other:
        files.on("file:*", heard.put_nowait)
        for number in range(3):
            await other.ask(f"{number}.txt")
            event = await asyncio.wait_for(heard.get(), 60)
            assert (event.name, event.path) == ("file:created", f"{number}.txt")  # type: ignore[attr-defined]
            assert event.actor == filetools.Actor(kind="agent", id="other")  # type: ignore[attr-defined]
            await until_done(other)
        mine = files.for_actor(filetools.Actor(kind="agent", id="mine"))
        for number in range(3):
            await mine.write_file(f"mine-{number}.txt", "1")
            said = await other.hear()
            assert said == {"event": "file:created", "path": f"mine-{number}.txt", "by": "mine", "kind": "agent"}


async def test_two_writers_see_the_changes_of_a_file_in_one_order(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, settings=RELAXED) as one,
        filetools.open(tmp_path, settings=RELAXED) as two,
    ):
        heard: list[list[Any]] = [told(files, "file:*") for files in (one, two)]
        await one.write_file("a.txt", "start\n")

        async def write(files: filetools.FileToolsFacade) -> None:
            for number in range(20):
                await files.append_file("a.txt", f"{number}\n")

        await asyncio.gather(write(one), write(two))
        await steps_until(lambda: all(len(events) >= 41 for events in heard))
        for events in heard:
            numbers = [event.seq for event in events]
            assert numbers == sorted(set(numbers))


async def test_a_stopped_writer_is_not_recovered_and_its_file_not_overwritten(tmp_path: Path) -> None:
    """A writer that holds its lock counts as alive, however long it sleeps; others wait, and then continue from its bytes."""
    async with filetools.open(tmp_path, settings=RELAXED) as files, peer(tmp_path, "sleeper") as sleeper:
        await sleeper.ask("a.txt")
        await until_done(sleeper)
        await stop_outside_the_gate(sleeper, tmp_path)
        await files.write_file("a.txt", "while it slept\n")
        async with filetools.open(tmp_path, settings=RELAXED) as third:
            assert (await third.read_file("a.txt")).content == "while it slept\n"
        sleeper.process.send_signal(signal.SIGCONT)
        await sleeper.ask("a.txt")
        await until_done(sleeper)
        # It writes the text that it knew again, so it changes nothing that others wrote meanwhile.
        assert (tmp_path / "a.txt").read_text() == "while it slept\n"
        told = [(record.actor.id, record.operation.value) for record in (await files.changes()).records]
        assert told == [("sleeper", "create"), (files.actor.id, "modify")]


async def test_a_second_leader_takes_over_when_the_first_is_killed(tmp_path: Path) -> None:
    async with peer(tmp_path, "first") as first, filetools.open(tmp_path, settings={"durability": "relaxed"}) as files:
        heard: asyncio.Queue[Event] = asyncio.Queue()
        files.on("file:*", heard.put_nowait)
        first.process.kill()
        await first.end()
        deadline = time.monotonic() + 60
        while True:
            (tmp_path / "foreign.txt").write_text(str(time.monotonic()))
            try:
                event = await asyncio.wait_for(heard.get(), 0.5)
            except TimeoutError:
                assert time.monotonic() < deadline
                continue
            assert (event.name, event.source) in (("file:created", "external"), ("file:modified", "external"))  # type: ignore[attr-defined]
            break


async def test_text_typed_in_another_process_is_visible_and_survives_its_kill(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files, peer(tmp_path, "ann", task="types") as other:
        abandoned: list[Any] = told(files, "buffer:abandoned")
        await files.write_file("a.txt", "one\n")
        await other.ask("a.txt")
        await until_done(other)
        async with asyncio.timeout(60):
            while (await files.read_file("a.txt")).content != "typed\none\n":
                await asyncio.sleep(0.001)
        other.process.kill()
        await other.end()
        assert (await files.read_file("a.txt")).content == "typed\none\n", "lost with the process"
        lapse_leases(files)
        await steps_until(lambda: bool(abandoned))
        kept = await files.read_file("a.txt", version=abandoned[0].kept_version)
        assert (kept.content, (tmp_path / "a.txt").read_text()) == ("typed\none\n", "one\n")
