"""A person's editor in a process of its own: agents here see what is typed there, and a kill loses nothing of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random

import filetools
from filetools import Actor
from filetools.events.buffers import BufferAbandoned
from filetools.events.types import Event
from filetools.facade.facade import FileToolsFacade
from tests.support.opened import lapse_leases, steps_until
from tests.support.peers import Peer, peer
from tests.support.schedules.tokens import Mint, tokens_in

SCHEDULES = 20
LINES = "one\ntwo\nthree\nfour\nfive\nsix\n"
SETTINGS = {"watch": False, "durability": "relaxed", "sync_after_seconds": 0.05}


async def ask(other: Peer, do: str, path: str, **what: object) -> None:
    """Have the editor do something, and wait until it was acknowledged there."""
    await other.ask(json.dumps({"do": do, "path": path, **what}))
    await other.hear()


async def until_seen(agent: FileToolsFacade, path: str, token: str) -> None:
    """Wait until an agent's read has a token; fails after a bounded time."""
    async with asyncio.timeout(60):
        while token not in (await agent.read_file(path)).content:
            await asyncio.sleep(0.001)


async def change(agent: FileToolsFacade, path: str, line: str, chance: Random) -> bool:
    """Put a line into a file in one of an agent's ways; False if it is refused."""
    text = (await agent.read_file(path)).content
    at = chance.randint(0, len(text.splitlines()))
    try:
        match chance.choice(("append", "insert", "write")):
            case "append":
                await agent.append_file(path, line)
            case "insert":
                await agent.insert_lines(path, at, line)
            case _:
                lines = text.splitlines(keepends=True)
                await agent.write_file(path, "".join([*lines[:at], line, *lines[at:]]))
    except filetools.FileToolsError as exc:
        if exc.code not in ("EDIT_CONFLICT", "INVALID_ARGUMENT"):
            raise
        return False
    return True


async def run(root: Path, agent: FileToolsFacade, other: Peer, seed: int) -> set[str]:
    """Let the person and an agent work on one file; returns the tokens of both, the last of them unsaved."""
    path, chance, mint = f"{seed}.txt", Random(seed), Mint()
    tokens: set[str] = set()
    for number in range(8):
        if number == 7 or chance.random() < 0.5:
            line = mint.line("P") + "\n"
            await ask(other, "type", path, line=chance.randint(0, 6), text=line)
            (token,) = tokens_in(line)
            await until_seen(agent, path, token)
            assert token not in (root / path).read_text(), "saved behind the person's back"
            tokens.add(token)
        elif chance.random() < 0.3:
            await ask(other, "save", path)
        else:
            line = mint.line("A") + "\n"
            if await change(agent, path, line, chance):
                tokens |= tokens_in(line)
        text = (await agent.read_file(path)).content
        assert tokens <= tokens_in(text), f"seed {seed}: {tokens - tokens_in(text)} lost of {text!r}"
    return tokens


async def kept_of(files: FileToolsFacade, path: str) -> set[str]:
    """Return the tokens of a file and all its versions."""
    found = set(tokens_in((await files.read_file(path, view="disk")).content))
    for entry in (await files.versions(path)).versions:
        found |= tokens_in((await files.read_file(path, version=entry.version)).content)
    return found


async def test_what_is_typed_in_another_process_is_seen_and_outlives_a_kill(tmp_path: Path) -> None:
    typed: dict[str, set[str]] = {}
    told: list[Event] = []
    async with filetools.open(tmp_path, settings=SETTINGS) as files:
        files.on("buffer:abandoned", told.append)
        agent = files.for_actor(Actor(kind="agent", id="alice", session="s"))
        async with peer(tmp_path, "ann", task="types") as other:
            for seed in range(SCHEDULES):
                path = f"{seed}.txt"
                await files.write_file(path, LINES)
                typed[path] = await run(tmp_path, agent, other, seed)
            other.process.kill()
            await other.end()
            path = f"{SCHEDULES - 1}.txt"
            assert typed[path] <= tokens_in((await agent.read_file(path)).content), "lost with the process"
        lapse_leases(files)
        await steps_until(lambda: len(told) >= SCHEDULES)
        assert {event.path for event in told if isinstance(event, BufferAbandoned)} == typed.keys()
        for path, tokens in typed.items():
            assert tokens <= await kept_of(files, path), path
        kept = {event.path: event.kept_version for event in told if isinstance(event, BufferAbandoned)}
        for path, version in kept.items():
            assert typed[path] <= tokens_in((await files.read_file(path, version=version)).content)
